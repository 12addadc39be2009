/**
 * How long a request may be at work, by what the configuration lets it wait for: after that, what another process accepted in
 * the audit was left open by its end ([platform §3], docs/guides/several-machines.md).
 */

/** A request that waits for nothing that is configured. */
const otherwiseMs = 120_000;
/** Reading the request, and writing what the wait was for: to a database that is slow, by clocks that differ. */
const marginMs = 30_000;

/** Of one request, one after the other: enabling or changing a rule reloads it, then asks for the other writers of its points. */
const engineCalls = 2;

/** The waits of a request, one at a time. */
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
