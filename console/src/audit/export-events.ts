/** The events of a search as a file of JSON lines, oldest last; what the log's own export adds (hashes, details) is not in it. */
import { auditOperations } from '../../../src/api/audit.ts';
import type { AuditSearch } from '../addresses.ts';
import { saveText } from '../parts/file-save.ts';
import { call } from '../server/calls.ts';
import { wireQuery } from './audit-queries.ts';

const pageSize = '100';
/** One file holds at most so many; the command line exports the whole log. */
const exportedEventsMax = 10_000;

export async function exportEvents(
  search: AuditSearch,
): Promise<{ readonly count: number; readonly isWhole: boolean }> {
  const lines: string[] = [];
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = {
      ...wireQuery(search),
      limit: pageSize,
      ...(cursor === null ? {} : { cursor }),
    };
    const { items, nextCursor } = (await call(auditOperations.search, { query })).data;
    lines.push(...items.map((item) => JSON.stringify(item)));
    cursor = nextCursor;
  } while (cursor !== null && lines.length < exportedEventsMax);
  saveText('audit-events.jsonl', `${lines.join('\n')}\n`, 'application/x-ndjson');
  return { count: lines.length, isWhole: cursor === null };
}
