/** The recorded runs of one rule in a time range, for comparison: read in pages, newest first. */
import { firstIdAt } from '../base/id.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { RunReader } from './store/run-store.ts';

/** Executions per page. */
const runsPerPage = 500;

/** Runs that started in [fromMs, endMs), one page at a time. */
export async function* runsBetween(
  runs: RunReader,
  ruleId: number,
  fromMs: number,
  endMs: number,
): AsyncGenerator<readonly ExecutionRecord[]> {
  // Execution ids contain the start time.
  const first = firstIdAt(fromMs);
  for (let before: string | undefined = firstIdAt(endMs); before !== undefined; ) {
    const texts: readonly string[] = await runs.page(ruleId, before, runsPerPage);
    // The engine wrote them.
    const page = texts.map((text) => JSON.parse(text) as ExecutionRecord);
    const inside = page.filter(({ execution_id: id }) => id >= first);
    if (inside.length > 0) yield inside;
    before = inside.length === runsPerPage ? inside.at(-1)?.execution_id : undefined;
  }
}
