/** Splits a span of a series into blocks and the rows between them, which are read one by one. */
import type { Span } from './cells.ts';
import { RowBlock } from './row-block.ts';
import { blocksPortion, type SeriesName, type WindowSource } from './window-queries.ts';

export interface RowPart {
  readonly span: Span;
  /** Null for rows outside blocks. A block may also contain rows outside the span. */
  readonly block: RowBlock | null;
}

/** In order of time; together they are the span. */
export async function* rowParts(
  { queries, ask }: WindowSource,
  series: Readonly<Record<SeriesName, number>>,
  { afterMs, throughMs }: Span,
): AsyncIterableIterator<RowPart> {
  let doneMs = afterMs;
  while (queries.blocks !== null && doneMs < throughMs) {
    const blocks = await ask(queries.blocks, { ...series, after: doneMs, through: throughMs });
    for (const [after, end, rows] of blocks) {
      if (!(rows instanceof Uint8Array)) throw new Error('a block without rows');
      const beginMs = Math.max(Number(after), afterMs);
      if (beginMs > doneMs) yield { span: { afterMs: doneMs, throughMs: beginMs }, block: null };
      const span = { afterMs: beginMs, throughMs: Math.min(Number(end), throughMs) };
      yield { span, block: new RowBlock(rows, Number(after)) };
      doneMs = span.throughMs;
    }
    if (blocks.length < blocksPortion) break;
  }
  if (doneMs < throughMs) yield { span: { afterMs: doneMs, throughMs }, block: null };
}

/** The places of a block's rows that lie in a span: the first one, and the one after the last. */
export function placesIn({ eventMs }: RowBlock, { afterMs, throughMs }: Span): readonly [from: number, to: number] {
  return [firstAfter(eventMs, afterMs), firstAfter(eventMs, throughMs)];
}

function firstAfter(sorted: Float64Array, limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
