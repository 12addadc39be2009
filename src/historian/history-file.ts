/**
 * History as text [points §6.2]: CSV with the header `time,value` or `time,value,quality`, read line by
 * line with bounded memory, every line checked before anything is stored; written as the same CSV, or as JSON Lines that
 * also name the ingestion time.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { formatTimestamp, parseTimestamp } from '../base/timestamp.ts';
import { type RecordedQuality, recordedQuality } from '../site/quality.ts';
import type { HistoryRow } from './historian.ts';

/** A longer line is no line of such a file. */
export const lineBytesMax = 256;
/** Faults that are told at a time. */
export const faultsMax = 20;

export interface FileRow {
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

function isQualityWord(word: string): word is keyof typeof recordedQuality {
  return Object.hasOwn(recordedQuality, word);
}

/** One line of a file with `columns` columns; a string says what is wrong with it. */
function readLine(line: string, columns: 2 | 3, nowMs: number): FileRow | string {
  const fields = line.split(',');
  if (fields.length !== columns) return `has ${fields.length} fields; the header has ${columns}`;
  const [time = '', text = '', word = text === '' ? 'missing' : 'good'] = fields;
  const eventMs = parseTimestamp(time);
  if (eventMs === null) return 'the time must be RFC 3339 UTC, such as 2026-07-11T10:45:00Z';
  if (eventMs > nowMs) return 'the time lies in the future';
  if (text !== '' && (!number.test(text) || !Number.isFinite(Number(text))))
    return 'the value must be a finite number, or empty where there is none';
  if (!isQualityWord(word)) return `the quality must be one of ${Object.keys(recordedQuality).join(', ')}`;
  const numeric = word === 'good' || word === 'uncertain';
  if (numeric !== (text !== '')) return numeric ? `a ${word} row needs a value` : `a ${word} row has no value`;
  return { eventMs, value: numeric ? Number(text) : null, quality: recordedQuality[word] };
}

export interface HistoryFile {
  /** Reads from the start; throws a HistoryFileError that lists what is wrong. */
  rows(): IterableIterator<FileRow>;
  close(): void;
}

export function openHistoryFile(path: string, fileName: string, nowMs: number): HistoryFile {
  const descriptor = openSync(path, 'r');
  if (!fstatSync(descriptor).isFile()) {
    closeSync(descriptor);
    throw new HistoryFileError([`${fileName}: is not a file`]);
  }
  return {
    rows: () => readRows(descriptor, fileName, nowMs),
    close: () => closeSync(descriptor),
  };
}

function* readRows(descriptor: number, fileName: string, nowMs: number): IterableIterator<FileRow> {
  const faults: string[] = [];
  let columns: 2 | 3 | undefined;
  let lineNumber = 0;
  for (const line of lines(descriptor)) {
    lineNumber++;
    if (line === null)
      throw new HistoryFileError([...faults, `${fileName}:${lineNumber}: is longer than ${lineBytesMax} bytes`]);
    if (columns === undefined) {
      columns = line === 'time,value' ? 2 : line === 'time,value,quality' ? 3 : undefined;
      if (columns === undefined)
        throw new HistoryFileError([`${fileName}:1: the header must be time,value or time,value,quality`]);
      continue;
    }
    const row = readLine(line, columns, nowMs);
    if (typeof row === 'string') {
      faults.push(`${fileName}:${lineNumber}: ${row}`);
      if (faults.length >= faultsMax) throw new HistoryFileError([...faults, `${fileName}: and perhaps more`]);
    } else if (faults.length === 0) yield row;
  }
  if (columns === undefined) faults.push(`${fileName}:1: the header must be time,value or time,value,quality`);
  if (faults.length > 0) throw new HistoryFileError(faults);
}

const chunkBytes = 65_536;

/** The lines of a file without their ends (LF or CRLF); null for one that is too long. */
function* lines(descriptor: number): IterableIterator<string | null> {
  const chunk = Buffer.alloc(chunkBytes);
  let rest = '';
  for (let position = 0; ; ) {
    const bytes = readSync(descriptor, chunk, 0, chunkBytes, position);
    if (bytes === 0) break;
    position += bytes;
    // Everything that is allowed is ASCII; other bytes become characters that no field may have.
    const parts = (rest + chunk.toString('latin1', 0, bytes)).split('\n');
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
