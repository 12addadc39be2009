/**
 * The values of a series as columns [rules §10.2]. A backtest reads millions of rows and needs three fields of each; an object for
 * each row would cost as much as reading it.
 */
import type { Span } from './cells.ts';
import type { Readings, ReadingsRequest } from './historian.ts';
import type { RowBlock } from './row-block.ts';
import { placesIn, rowParts } from './row-parts.ts';
import {
  readingsPortion,
  rowColumns,
  seriesAsked,
  severalFlag,
  unpackReading,
  type WindowSource,
} from './window-queries.ts';

const allKnown = Number.MAX_SAFE_INTEGER;
const ingestedColumn = rowColumns.indexOf('ingested_ms');
const valueColumn = rowColumns.indexOf('value');
const qualityColumn = rowColumns.indexOf('quality');

/** By event time; of several rows at one event time the newest. */
export async function* readReadings(
  source: WindowSource,
  { series, fromMs, toMs }: ReadingsRequest,
): AsyncIterableIterator<Readings> {
  const asked = seriesAsked(series);
  // Both ends are inclusive.
  for await (const { span, block } of rowParts(source, asked, { afterMs: fromMs - 1, throughMs: toMs })) {
    if (block === null) yield* rowReadings(source, asked, span);
    else yield* blockReadings(block, span);
  }
}

/** Those of a block that lie in a span. */
function* blockReadings(block: RowBlock, span: Span): Iterable<Readings> {
  const [from, to] = placesIn(block, span);
  if (from === to) return;
  const [eventMs, values, quality] = [block.eventMs, block.values(), block.quality()];
  const newest = newestPlaces(block, from, to);
  yield newest === null
    ? {
        eventMs: eventMs.subarray(from, to),
        values: values.subarray(from, to),
        quality: quality.subarray(from, to),
      }
    : {
        eventMs: Float64Array.from(newest, (place) => eventMs[place] ?? Number.NaN),
        values: Float64Array.from(newest, (place) => values[place] ?? Number.NaN),
        quality: Uint8Array.from(newest, (place) => quality[place] ?? 0),
      };
}

/** The place of the newest row of each instant; null where each instant has one row. */
function newestPlaces(block: RowBlock, from: number, to: number): readonly number[] | null {
  const { eventMs } = block;
  let isSeveral = false;
  for (let place = from + 1; place < to && !isSeveral; place++) isSeveral = eventMs[place] === eventMs[place - 1];
  if (!isSeveral) return null;
  const ingestedMs = block.ingestedMs();
  const newest: number[] = [];
  for (let place = from; place < to; place++) {
    const last = newest.at(-1);
    if (last === undefined || eventMs[last] !== eventMs[place]) newest.push(place);
    else if ((ingestedMs[place] ?? 0) >= (ingestedMs[last] ?? 0)) newest[newest.length - 1] = place;
  }
  return newest;
}

/** Reads rows one by one. */
async function* rowReadings(
  source: WindowSource,
  asked: ReturnType<typeof seriesAsked>,
  { afterMs, throughMs }: Span,
): AsyncIterableIterator<Readings> {
  for (let since = afterMs + 1; ; ) {
    const rows = await source.ask(source.queries.readings, { ...asked, since, through: throughMs });
    const goesOn = rows.length === readingsPortion;
    const columns = new Columns(rows.length);
    for (const [packed, value] of rows) {
      const { eventMs, code } = unpackReading(Number(packed));
      columns.add(eventMs, numberOf(value), code);
    }
    // The next portion may hold more rows of the last instant, so it starts there; an instant alone is read whole below.
    if (goesOn) since = columns.count > 1 ? columns.drop() : (columns.eventMs[0] ?? since) + 1;
    for (const place of columns.several) {
      const at = columns.eventMs[place] ?? Number.NaN;
      const [value, code] = await newestOf(source, { ...asked, after: at, through: at });
      columns.put(place, numberOf(value), Number(code));
    }
    if (columns.count > 0) yield columns.read();
    if (!goesOn) return;
  }
}

/** Value and quality of the row of an instant that was ingested last. */
async function newestOf(
  source: WindowSource,
  asked: ReturnType<typeof seriesAsked> & { readonly after: number; readonly through: number },
): Promise<readonly [value: unknown, code: unknown]> {
  let newest: readonly unknown[] | undefined;
  for (let ordinal = -1; ; ) {
    const rows = await source.ask(source.queries.rows, { ...asked, ordinal, known: allKnown });
    for (const row of rows)
      if (newest === undefined || Number(row[ingestedColumn]) >= Number(newest[ingestedColumn])) newest = row;
    const last = rows.at(-1);
    if (last === undefined || rows.length < source.queries.portion) break;
    ordinal = Number(last[rowColumns.length]);
  }
  return [newest?.[valueColumn], newest?.[qualityColumn]];
}

class Columns {
  readonly eventMs: Float64Array<ArrayBuffer>;
  readonly #values: Float64Array<ArrayBuffer>;
  readonly #quality: Uint8Array<ArrayBuffer>;
  /** Places of instants with more than one row. */
  several: number[] = [];
  count = 0;

  constructor(most: number) {
    this.eventMs = new Float64Array(most);
    this.#values = new Float64Array(most);
    this.#quality = new Uint8Array(most);
  }

  add(eventMs: number, value: number, code: number): void {
    const isFurther = code >= severalFlag;
    if (isFurther && this.eventMs[this.count - 1] === eventMs) {
      if (this.several.at(-1) !== this.count - 1) this.several.push(this.count - 1);
      return;
    }
    this.eventMs[this.count] = eventMs;
    this.put(this.count, value, code % severalFlag);
    this.count++;
  }

  put(place: number, value: number, code: number): void {
    this.#values[place] = value;
    this.#quality[place] = code;
  }

  /** Removes the last event time and returns it. */
  drop(): number {
    this.count--;
    this.several = this.several.filter((place) => place < this.count);
    return this.eventMs[this.count] ?? Number.NaN;
  }

  read(): Readings {
    return {
      eventMs: this.eventMs.subarray(0, this.count),
      values: this.#values.subarray(0, this.count),
      quality: this.#quality.subarray(0, this.count),
    };
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}
