/** A page of a rule's executions [rules §2.6]: newest first, before an execution, by time range or outcome, or only changes of decision. */
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { firstIdAt } from '../base/id.ts';
import { isObject } from '../base/json.ts';
import { queryTime } from '../base/timestamp.ts';
import { createPace } from '../base/turns.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { parsedOrNull } from './rule-view.ts';
import type { RunReader } from './store/run-store.ts';

const defaultLimit = 20;
/** Executions that one filtered page scans. */
export const scannedRunsMax = 1000;

interface RunPage {
  readonly list: readonly unknown[];
  readonly next_before: string | null;
}

/** `from` and `to` are RFC 3339 times, both inclusive; throws `invalid-input` if they are invalid. */
export async function runPage(
  runs: RunReader,
  ruleId: number,
  query: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<RunPage> {
  const limit = Number(query['limit'] ?? defaultLimit);
  const { from, to, before, changes, outcome } = query;
  const fromMs = from === undefined ? Number.NEGATIVE_INFINITY : queryTime('from', from);
  const toMs = to === undefined ? Number.POSITIVE_INFINITY : queryTime('to', to);
  if (fromMs > toMs) throw new Fault('invalid-input', 'query /from: must not be after to');
  // Execution ids contain the start time: a time range is a range of ids.
  const first = from === undefined ? '' : firstIdAt(fromMs);
  const end = to === undefined ? before : firstIdAt(toMs + 1);
  const cursor = before !== undefined && end !== undefined && before < end ? before : end;
  const isFiltered = changes === 'true' || outcome !== undefined;
  const scanned = isFiltered ? scannedRunsMax : limit;
  // One more than requested shows whether a further page exists, and which run precedes the oldest one.
  const found: FoundRun[] = [];
  const pace = createPace(clock);
  for (const text of await runs.page(ruleId, cursor, scanned + 1)) {
    found.push(foundRun(parsedOrNull(text)));
    await pace();
  }
  const inSpan = found.filter(({ id }) => id === null || id >= first);
  const seen = inSpan.slice(0, scanned);
  const fitting = seen.filter(
    (run, at) =>
      (changes !== 'true' || run.decision !== found[at + 1]?.decision) &&
      (outcome === undefined || run.outcome === outcome),
  );
  const shown = fitting.slice(0, limit);
  const last = fitting.length > limit ? shown.at(-1) : seen.at(-1);
  const hasMore = fitting.length > limit || inSpan.length > scanned;
  return { list: shown.map(({ record }) => record), next_before: hasMore ? (last?.id ?? null) : null };
}

interface FoundRun {
  readonly record: unknown;
  readonly id: string | null;
  /** Equal texts are equal decisions. */
  readonly decision: string | null;
  readonly outcome: unknown;
}

function foundRun(record: unknown): FoundRun {
  if (!isObject(record) || typeof record['execution_id'] !== 'string')
    return { record, id: null, decision: null, outcome: null };
  return { record, id: record['execution_id'], decision: decisionOf(record), outcome: record['outcome'] };
}

/** The decision of a run, without the numbers: its outcome, the path through the flow, and the results of its writes. */
function decisionOf({ outcome, error, execution_path: path, actions_executed: actions }: Partial<ExecutionRecord>) {
  const writes = actions?.map(({ node_id: node, success, reason }) => [node, success, reason]);
  return JSON.stringify([outcome, error?.code, path, writes]);
}
