/**
 * Runs packed into blocks: consecutive, similar runs of one rule as compressed lines of `<execution id> <record>`.
 * The blocks of one rule and one kind (`unchanged` or not) are disjoint in their ids, which sort by time.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

export interface RunRow {
  readonly execution_id: string;
  readonly rule_id: number;
  /** A `no_action` or `skipped` run whose predecessor ended the same way. */
  readonly unchanged: boolean;
  /** The execution record as JSON text. */
  readonly record: string;
}

export interface RunBlock {
  readonly rule_id: number;
  readonly unchanged: number;
  readonly first_id: string;
  readonly last_id: string;
  readonly runs: number;
  readonly packing: number;
  readonly records: Uint8Array;
}

/** How `records` are packed: as plain text by the upgrade of older databases, compressed since. */
const packings = { plain: 0, deflated: 1 };
/** Maximum number of runs per block: a history page reads up to one block in excess, and retention rewrites one. */
export const blockRunsMaximum = 256;

/** Blocks of rows of one rule and kind, sorted, without duplicates. */
export function blocksOf(rows: readonly RunRow[]): RunBlock[] {
  const blocks: RunBlock[] = [];
  for (let from = 0; from < rows.length; from += blockRunsMaximum)
    blocks.push(blockOf(rows.slice(from, from + blockRunsMaximum)));
  return blocks;
}

/** One block of all rows of one rule and kind, sorted, without duplicates. */
export function blockOf(rows: readonly RunRow[]): RunBlock {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) throw new Error('a block holds at least one run');
  return {
    rule_id: first.rule_id,
    unchanged: first.unchanged ? 1 : 0,
    first_id: first.execution_id,
    last_id: last.execution_id,
    runs: rows.length,
    packing: packings.deflated,
    records: deflateRawSync(rows.map(({ execution_id, record }) => `${execution_id} ${record}`).join('\n')),
  };
}

/** The rows of a block, the oldest first. */
export function rowsOf({ rule_id, unchanged, packing, records }: Omit<RunBlock, 'runs'>): RunRow[] {
  const bytes = packing === packings.deflated ? inflateRawSync(records) : Buffer.from(records);
  const lines = bytes.toString('utf8').split('\n');
  return lines.map((line) => {
    const end = line.indexOf(' ');
    return { execution_id: line.slice(0, end), rule_id, unchanged: unchanged === 1, record: line.slice(end + 1) };
  });
}

/** Sorted, without duplicates: the first of those with the same id. */
export function distinct(rows: readonly RunRow[]): RunRow[] {
  const sorted = rows.toSorted((a, b) => (a.execution_id < b.execution_id ? -1 : 1));
  return sorted.filter((row, index) => row.execution_id !== sorted[index - 1]?.execution_id);
}
