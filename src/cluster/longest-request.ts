/**
 * Maximum time of a request, from its configured deadlines: after that, a record that another process accepted in
 * the audit was left open by its end ([platform §3], docs/guides/several-machines.md).
 */

/** A request without configured deadlines. */
const otherwiseMs = 120_000;
/** Reading the request, and storing its result: in a slow database, with clocks that differ. */
const marginMs = 30_000;

/** One after the other in one request: enabling or changing a rule reloads it, then finds the other writers of its points. */
const engineCalls = 2;

/** The waits of a request, in sequence. */
export interface RequestWaits {
  readonly engineCallMs: number;
  /** Of data processing. */
  readonly routes: readonly { readonly deadline_ms: number; readonly audit_finalization_timeout_ms: number }[];
}

export function longestRequestMs({ engineCallMs, routes }: RequestWaits): number {
  const routesMs = routes.map((route) => route.deadline_ms + route.audit_finalization_timeout_ms);
  const waitsMs = [engineCalls * engineCallMs, ...routesMs];
  return Math.max(otherwiseMs, ...waitsMs.map((waitMs) => waitMs + marginMs));
}
