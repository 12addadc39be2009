/** A page of a rule's executions [rules §2.6]: newest first, before an execution or in a span of time. */
import { Fault } from '../base/fault.ts';
import { firstIdAt } from '../base/id.ts';
import { isObject } from '../base/json.ts';
import { queryTime } from '../base/timestamp.ts';
import { parsedOrNull } from './rule-view.ts';
import type { HistoryReader } from './store/history-store.ts';

const defaultLimit = 20;

interface HistoryPage {
  readonly list: readonly unknown[];
  readonly next_before: string | null;
}

/** `from` and `to` are RFC 3339 times, both within the span; throws `invalid-input` when they are none. */
export async function historyPage(
  history: HistoryReader,
  ruleId: number,
  query: Readonly<Record<string, string | undefined>>,
): Promise<HistoryPage> {
  const limit = Number(query['limit'] ?? defaultLimit);
  const { from, to, before } = query;
  const fromMs = from === undefined ? Number.NEGATIVE_INFINITY : queryTime('from', from);
  const toMs = to === undefined ? Number.POSITIVE_INFINITY : queryTime('to', to);
  if (fromMs > toMs) throw new Fault('invalid-input', 'query /from: must not be after to');
  // An execution is named by the time at which it started: a span of time is one of names.
  const first = from === undefined ? '' : firstIdAt(fromMs);
  const end = to === undefined ? before : firstIdAt(toMs + 1);
  const cursor = before !== undefined && end !== undefined && before < end ? before : end;
  // One more than asked for tells whether a further page exists.
  const found = (await history.page(ruleId, cursor, limit + 1)).map((text) => recordOf(parsedOrNull(text)));
  const inSpan = found.filter(({ id }) => id === null || id >= first);
  const shown = inSpan.slice(0, limit);
  return {
    list: shown.map(({ record }) => record),
    next_before: inSpan.length > limit ? (shown.at(-1)?.id ?? null) : null,
  };
}

function recordOf(record: unknown): { readonly record: unknown; readonly id: string | null } {
  const id: unknown = isObject(record) ? record['execution_id'] : null;
  return { record, id: typeof id === 'string' ? id : null };
}
