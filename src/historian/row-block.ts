/**
 * A block of rows of one series, stored as columns (docs/formats/history.md), because reading rows one at a time costs SQLite far more.
 * Each column is an array of the narrowest type that holds its numbers exactly.
 */
import type { RawRow } from './observations.ts';

/** A row as it goes into a block. */
export interface BlockRow extends RawRow {
  readonly eventMs: number;
}

const formatVersion = 1;
/** Version, kinds of the columns, count. */
const headerBytes = 16;
const countOffset = 8;
const [eventColumn, ingestedColumn, valueColumn, qualityColumn, observationsColumn, sinceColumn] = [0, 1, 2, 3, 4, 5];
const columnCount = 6;
const alignment = 8;

/** Array types by column kind. A column of kind 0 is a single number, the same for all rows. */
const arrays = [Float64Array, Int8Array, Int16Array, Int32Array, Float32Array, Float64Array] as const;
const sameNumber = 0;
const integers = [1, 2, 3] as const;
const [shortFloats, floats] = [4, 5];

type Column =
  | Float64Array<ArrayBuffer>
  | Int8Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>;

/** Rows in order of time, those with one event time in the order of their append; none at or before `afterMs`. */
export function packRows(rows: readonly BlockRow[], afterMs: number): Uint8Array {
  const columns = Array.from({ length: columnCount }, () => new Float64Array(rows.length));
  let beforeMs = afterMs;
  for (let place = 0; place < rows.length; place++) {
    const { eventMs, ingestedMs, value, quality, observations } = rows[place] as BlockRow;
    const numbers = [
      eventMs - beforeMs,
      ingestedMs - eventMs,
      value ?? Number.NaN,
      quality,
      observations?.count ?? 1,
      eventMs - (observations?.sinceMs ?? Number.NaN),
    ];
    for (let column = 0; column < numbers.length; column++)
      (columns[column] as Float64Array)[place] = numbers[column] as number;
    beforeMs = eventMs;
  }
  const packed = columns.map(narrowest);
  const bytes = new Uint8Array(packed.reduce((sum, { data }) => sum + padded(data.byteLength), headerBytes));
  bytes[0] = formatVersion;
  new DataView(bytes.buffer).setUint32(countOffset, rows.length, true);
  let offset = headerBytes;
  for (const [index, { kind, data }] of packed.entries()) {
    bytes[1 + index] = kind;
    bytes.set(new Uint8Array(data.buffer), offset);
    offset += padded(data.byteLength);
  }
  return bytes;
}

function padded(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

function narrowest(numbers: Float64Array<ArrayBuffer>): { readonly kind: number; readonly data: Column } {
  const first = numbers[0] ?? 0;
  if (numbers.every((number) => Object.is(number, first))) return { kind: sameNumber, data: Float64Array.of(first) };
  for (const kind of integers) {
    const data = new arrays[kind](numbers);
    // A minus zero is no integer here.
    if (numbers.every((number, index) => Object.is(number, data[index]))) return { kind, data };
  }
  if (numbers.every((number) => Object.is(number, Math.fround(number))))
    return { kind: shortFloats, data: new Float32Array(numbers) };
  return { kind: floats, data: numbers };
}

/** Reads a block. Each column is unpacked on first use. */
export class RowBlock {
  readonly count: number;
  /** In order of time; rows with one event time in the order of their append. */
  readonly eventMs: Float64Array<ArrayBuffer>;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #offsets: readonly number[];
  #values: Float64Array<ArrayBuffer> | undefined;
  #quality: Uint8Array<ArrayBuffer> | undefined;
  #ingestedMs: Float64Array<ArrayBuffer> | undefined;
  #sinceMs: Float64Array<ArrayBuffer> | undefined;

  /** `bytes` as `packRows` gave them for that `afterMs`. */
  constructor(bytes: Uint8Array, afterMs: number) {
    if (bytes[0] !== formatVersion) throw new Error(`a block of rows has format ${bytes[0]}`);
    // Columns are aligned to the beginning of a buffer of their own.
    this.#bytes = bytes.byteOffset % alignment === 0 ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
    this.count = new DataView(this.#bytes.buffer, this.#bytes.byteOffset).getUint32(countOffset, true);
    let offset = headerBytes;
    this.#offsets = Array.from({ length: columnCount }, (_, index) => {
      const begin = offset;
      const kind = this.#kind(index);
      offset += padded(kind === sameNumber ? alignment : this.count * arrays[kind].BYTES_PER_ELEMENT);
      return begin;
    });
    this.eventMs = this.#times(afterMs);
  }

  /** NaN where a row has no value. */
  values(): Float64Array {
    if (this.#values === undefined) {
      const values = this.#column(valueColumn);
      const isWhole = values instanceof Float64Array && values.length === this.count;
      this.#values = isWhole ? values : this.#whole(valueColumn);
    }
    return this.#values;
  }

  quality(): Uint8Array {
    this.#quality ??= this.#codes();
    return this.#quality;
  }

  /** The delay from observation to ingestion, if it is the same for all rows; otherwise null. */
  get sameDelayMs(): number | null {
    return this.#same(ingestedColumn);
  }

  ingestedMs(): Float64Array {
    this.#ingestedMs ??= this.#beside(ingestedColumn, 1);
    return this.#ingestedMs;
  }

  /** NaN for a row with one observation, at its event time; null if all rows are like that. */
  sinceMs(): Float64Array | null {
    if (Number.isNaN(this.#same(sinceColumn))) return null;
    this.#sinceMs ??= this.#beside(sinceColumn, -1);
    return this.#sinceMs;
  }

  /**
   * Frees the memory of its columns at once; the block cannot be used afterwards. A read of a month unpacks megabytes outside of V8's
   * heap, and V8 would soon collect the whole heap because of them, which takes longer than the read.
   */
  release(): void {
    const arrays = [this.#bytes, this.eventMs, this.#values, this.#quality, this.#ingestedMs, this.#sinceMs];
    const buffers = new Set(arrays.flatMap((array) => array?.buffer ?? []));
    // Bytes in a larger buffer are not alone in it.
    if (this.#bytes.byteLength < this.#bytes.buffer.byteLength) buffers.delete(this.#bytes.buffer);
    for (const buffer of buffers) buffer.transfer(0);
  }

  row(place: number): BlockRow {
    const value = this.values()[place] ?? Number.NaN;
    const sinceMs = this.sinceMs()?.[place] ?? Number.NaN;
    const count = this.#same(observationsColumn) ?? this.#column(observationsColumn)[place] ?? Number.NaN;
    return {
      eventMs: this.eventMs[place] ?? Number.NaN,
      ingestedMs: this.ingestedMs()[place] ?? Number.NaN,
      value: Number.isNaN(value) ? null : value,
      quality: this.quality()[place] ?? Number.NaN,
      ...(!Number.isNaN(sinceMs) && { observations: { count, sinceMs } }),
    };
  }

  #kind(column: number): 0 | 1 | 2 | 3 | 4 | 5 {
    const kind = this.#bytes[1 + column];
    if (kind === undefined || kind >= arrays.length) throw new Error(`a block of rows has a column of kind ${kind}`);
    return kind as 0 | 1 | 2 | 3 | 4 | 5;
  }

  /** The number that all rows have in a column; null if they differ. */
  #same(column: number): number | null {
    return this.#kind(column) === sameNumber ? (this.#column(column)[0] ?? Number.NaN) : null;
  }

  #column(column: number): Column {
    const kind = this.#kind(column);
    const length = kind === sameNumber ? 1 : this.count;
    return new arrays[kind](this.#bytes.buffer, this.#bytes.byteOffset + (this.#offsets[column] ?? 0), length);
  }

  #whole(column: number): Float64Array<ArrayBuffer> {
    const same = this.#same(column);
    return same === null ? new Float64Array(this.#column(column)) : new Float64Array(this.count).fill(same);
  }

  /** Codes are small: a column of bytes is used as it is. */
  #codes(): Uint8Array<ArrayBuffer> {
    const same = this.#same(qualityColumn);
    if (same !== null) return new Uint8Array(this.count).fill(same);
    const codes = this.#column(qualityColumn);
    return codes instanceof Int8Array
      ? new Uint8Array(codes.buffer, codes.byteOffset, codes.length)
      : Uint8Array.from(codes);
  }

  /** Event times, from the steps between them. */
  #times(afterMs: number): Float64Array<ArrayBuffer> {
    const times = this.#whole(eventColumn);
    let atMs = afterMs;
    for (let place = 0; place < times.length; place++) {
      atMs += times[place] as number;
      times[place] = atMs;
    }
    return times;
  }

  /** A column of differences from the event times. */
  #beside(column: number, sign: 1 | -1): Float64Array<ArrayBuffer> {
    const { eventMs } = this;
    const moments = this.#whole(column);
    for (let place = 0; place < moments.length; place++)
      moments[place] = (eventMs[place] as number) + sign * (moments[place] as number);
    return moments;
  }
}
