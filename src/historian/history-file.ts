/**
 * History as text [points §6.2]: CSV with the header `time,value` or `time,value,quality`, read line by
 * line with bounded memory, every line checked before anything is stored; written as the same CSV, or as JSON Lines that
 * also name the ingestion time.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { formatTimestamp, parseTimestamp } from '../base/timestamp.ts';
import { type RecordedQuality, recordedQuality } from '../site/quality.ts';
import type { HistoryRow, SeriesId } from './historian.ts';

/** Of a line. */
export const lineBytesMax = 8192;
/** Points of one file. */
export const columnsMax = 200;
/** Maximum number of faults in one report. */
export const faultsMax = 20;

export interface FileRow {
  /** Null in a file of one point, which does not name it. */
  readonly series: SeriesId | null;
  readonly eventMs: number;
  readonly value: number | null;
  readonly quality: RecordedQuality;
}

/** Every fault as `file:line: reason`. */
export class HistoryFileError extends Error {
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'HistoryFileError';
  }
}

const number = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
const wireIdMax = 4_294_967_295;

/** `2:1`: instance and point. */
export function parseSeries(text: string): SeriesId | null {
  const match = /^(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,9})$/.exec(text);
  const series = { instance: Number(match?.[1]), point: Number(match?.[2]) };
  return series.instance <= wireIdMax && series.point <= wireIdMax ? series : null;
}

function isQualityWord(word: string): word is keyof typeof recordedQuality {
  return Object.hasOwn(recordedQuality, word);
}

/** Spreadsheets use semicolons in countries with decimal commas. */
type Separator = ',' | ';';

/** The meaning of the columns after the time. */
type Columns = { readonly separator: Separator } & (
  | { readonly kind: 'one'; readonly fields: 2 | 3 }
  | { readonly kind: 'several'; readonly series: readonly SeriesId[] }
);

/** A string describes the error in the header. */
function readHeader(line: string): Columns | string {
  const separator = line.startsWith('time;') ? ';' : ',';
  const [time, ...names] = line.split(separator);
  if (time === 'time' && ['value', `value${separator}quality`].includes(names.join(separator)))
    return { separator, kind: 'one', fields: names.length === 1 ? 2 : 3 };
  const series = names.map(parseSeries);
  const known = series.filter((each) => each !== null);
  if (time !== 'time' || known.length === 0 || known.length < series.length)
    return 'the header must be time,value or time,value,quality, or time and a column for each point, such as time,2:1,6:2';
  if (known.length > columnsMax) return `has ${known.length} points; at most ${columnsMax}`;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? { separator, kind: 'several', series: known } : `names the point ${twice} twice`;
}

/** The rows of one line; a string describes its error. */
function readLine(line: string, columns: Columns, nowMs: number): readonly FileRow[] | string {
  const fields = line.split(columns.separator);
  const wanted = columns.kind === 'one' ? columns.fields : columns.series.length + 1;
  if (fields.length !== wanted) return `has ${fields.length} fields; the header has ${wanted}`;
  const [time = '', ...values] = fields;
  const eventMs = parseTimestamp(time);
  if (eventMs === null) return 'the time must be RFC 3339 UTC, such as 2026-07-11T10:45:00Z';
  if (eventMs > nowMs) return 'the time lies in the future';
  if (columns.kind === 'one') {
    const [text = '', word] = values;
    const reading = readValue(withPoint(text, columns), word);
    return typeof reading === 'string' ? reading : [{ series: null, eventMs, ...reading }];
  }
  const rows: FileRow[] = [];
  for (const [index, series] of columns.series.entries()) {
    const reading = readValue(withPoint(values[index] ?? '', columns), undefined);
    if (typeof reading === 'string') return `${series.instance}:${series.point}: ${reading}`;
    rows.push({ series, eventMs, ...reading });
  }
  return rows;
}

/** With semicolons, a comma can only be a decimal comma. */
function withPoint(text: string, { separator }: Columns): string {
  return separator === ';' ? text.replace(',', '.') : text;
}

function readValue(text: string, word = text === '' ? 'missing' : 'good'): Pick<FileRow, 'value' | 'quality'> | string {
  if (text !== '' && (!number.test(text) || !Number.isFinite(Number(text))))
    return 'the value must be a finite number or empty';
  if (!isQualityWord(word)) return `the quality must be one of ${Object.keys(recordedQuality).join(', ')}`;
  const numeric = word === 'good' || word === 'uncertain';
  if (numeric !== (text !== '')) return numeric ? `a ${word} row needs a value` : `a ${word} row has no value`;
  return { value: numeric ? Number(text) : null, quality: recordedQuality[word] };
}

export interface HistoryFile {
  /** The points that its header names; null in a file of one point. Throws as `rows` does. */
  readonly series: readonly SeriesId[] | null;
  /** Reads from the start; throws a HistoryFileError with the list of errors. */
  rows(): IterableIterator<FileRow>;
  close(): void;
}

export function openHistoryFile(path: string, fileName: string, nowMs: number): HistoryFile {
  const descriptor = openSync(path, 'r');
  try {
    if (!fstatSync(descriptor).isFile()) throw new HistoryFileError([`${fileName}: is not a file`]);
    const columns = columnsOf(descriptor, fileName);
    return {
      series: columns.kind === 'several' ? columns.series : null,
      rows: () => readRows(descriptor, columns, fileName, nowMs),
      close: () => closeSync(descriptor),
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function columnsOf(descriptor: number, fileName: string): Columns {
  const [first = ''] = lines(descriptor);
  const columns = first === null ? `is longer than ${lineBytesMax} bytes` : readHeader(first);
  if (typeof columns === 'string') throw new HistoryFileError([`${fileName}:1: ${columns}`]);
  return columns;
}

function* readRows(descriptor: number, columns: Columns, fileName: string, nowMs: number): IterableIterator<FileRow> {
  const faults: string[] = [];
  let lineNumber = 0;
  /** Blank lines may end a file. */
  let blankSince: number | null = null;
  const fault = (at: number, what: string): void => {
    faults.push(`${fileName}:${at}: ${what}`);
    if (faults.length >= faultsMax) throw new HistoryFileError([...faults, `${fileName}: and perhaps more`]);
  };
  for (const line of lines(descriptor)) {
    lineNumber++;
    if (line === null)
      throw new HistoryFileError([...faults, `${fileName}:${lineNumber}: is longer than ${lineBytesMax} bytes`]);
    if (lineNumber === 1) continue;
    if (line === '') {
      blankSince ??= lineNumber;
      continue;
    }
    if (blankSince !== null) fault(blankSince, 'is empty; only the end of a file may have empty lines');
    blankSince = null;
    const rows = readLine(line, columns, nowMs);
    if (typeof rows === 'string') fault(lineNumber, rows);
    else if (faults.length === 0) yield* rows;
  }
  if (faults.length > 0) throw new HistoryFileError(faults);
}

const chunkBytes = 65_536;

/** The byte order mark of UTF-8, read byte by byte. */
const byteOrderMark = '\u00ef\u00bb\u00bf';

/** The lines of a file without their ends (LF or CRLF) and without a byte order mark; null for one that is too long. */
function* lines(descriptor: number): IterableIterator<string | null> {
  const chunk = Buffer.alloc(chunkBytes);
  let rest = '';
  for (let position = 0; ; ) {
    const bytes = readSync(descriptor, chunk, 0, chunkBytes, position);
    if (bytes === 0) break;
    position += bytes;
    // Everything allowed is ASCII; other bytes become characters that no field may contain.
    const text = chunk.toString('latin1', 0, bytes);
    const isMarked = position === bytes && text.startsWith(byteOrderMark);
    const parts = (rest + (isMarked ? text.slice(byteOrderMark.length) : text)).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield bounded(part);
    if (rest.length > lineBytesMax) {
      yield null;
      return;
    }
  }
  if (rest !== '') yield bounded(rest);
}

function bounded(line: string): string | null {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.length > lineBytesMax ? null : text;
}

const qualityWords = Object.fromEntries(Object.entries(recordedQuality).map(([word, code]) => [code, word]));

export const csvHeader = 'time,value,quality\n';

export function csvLine(row: HistoryRow): string {
  return `${formatTimestamp(row.eventMs)},${row.value ?? ''},${qualityWords[row.quality]}\n`;
}

export function jsonLine(row: HistoryRow): string {
  return `${JSON.stringify({
    time: formatTimestamp(row.eventMs),
    value: row.value,
    quality: qualityWords[row.quality],
    ingested_at: formatTimestamp(row.ingestedMs),
  })}\n`;
}
