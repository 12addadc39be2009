/**
 * Runs that are waiting to be stored together, kept in files meanwhile, so that an end of the process without warning loses none
 * of them [rules §7.5]: frames of compressed JSON lines, appended as they come. A file is removed once all its runs are stored.
 * A server stores each run immediately and needs no journal (`noJournal`).
 *
 * Frame: its length and the CRC-32 of the rest (each 32 bits, big-endian), then the compressed lines. A torn frame is left
 * out. Calls block this thread for as long as the disk takes: it is the record thread's, not that of the ticks.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { newId } from '../base/id.ts';
import { isRunRow } from './record-spool.ts';
import type { RunRow } from './run-blocks.ts';

export interface RunJournal {
  /** Runs that were left behind by the process or thread before, and were perhaps not stored. */
  left(): readonly RunRow[];
  /** Those are stored. */
  forget(): void;
  /** The newest of the rows has this number. True: they are kept. Throws when the disk does not take them. */
  append(rows: readonly RunRow[], last: number): boolean;
  /** All runs up to this number are stored. */
  stored(upTo: number): void;
}

export const noJournal: RunJournal = {
  left: () => [],
  forget: () => undefined,
  append: () => false,
  stored: () => undefined,
};

interface File {
  readonly path: string;
  bytes: number;
  last: number;
}

const headBytes = 8;
const suffix = '.runs';
/** A file that has grown to this is followed by another one. */
const fileBytes = 1_048_576;

/** No process has left runs in it. */
export function isJournalEmpty(folder: string): boolean {
  return namesIn(folder).length === 0;
}

export function openRunJournal(folder: string): RunJournal {
  const found = namesIn(folder).map((name) => join(folder, name));
  const files: File[] = [];
  const current = (): File => {
    const last = files.at(-1);
    if (last !== undefined && last.bytes < fileBytes) return last;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const next = { path: join(folder, `${newId()}${suffix}`), bytes: 0, last: 0 };
    files.push(next);
    return next;
  };
  return {
    left: () => found.flatMap((path) => rowsIn(readFileSync(path))),
    forget() {
      for (const path of found.splice(0)) rmSync(path, { force: true });
    },
    append(rows, last) {
      if (rows.length === 0) return true;
      const file = current();
      const frame = frameOf(rows);
      try {
        appendFileSync(file.path, frame, { mode: 0o600 });
      } catch (error) {
        // A partly written frame would hide all frames after it.
        file.bytes = fileBytes;
        throw error;
      }
      file.bytes += frame.length;
      file.last = last;
      return true;
    },
    stored(upTo) {
      while (files[0] !== undefined && files[0].last <= upTo) rmSync(files.shift()?.path ?? '', { force: true });
    },
  };
}

function frameOf(rows: readonly RunRow[]): Buffer {
  const packed = deflateRawSync(rows.map((row) => JSON.stringify(row)).join('\n'));
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(packed.length, 0);
  head.writeUInt32BE(crc32(packed), 4);
  return Buffer.concat([head, packed]);
}

/** Up to the first frame that is not whole. */
function rowsIn(bytes: Buffer): RunRow[] {
  const rows: RunRow[] = [];
  for (let at = 0; at + headBytes <= bytes.length; ) {
    const end = at + headBytes + bytes.readUInt32BE(at);
    const packed = bytes.subarray(at + headBytes, end);
    if (end > bytes.length || crc32(packed) !== bytes.readUInt32BE(at + 4)) break;
    for (const line of inflateRawSync(packed).toString('utf8').split('\n')) {
      const row: unknown = JSON.parse(line);
      if (isRunRow(row)) rows.push(row);
    }
    at = end;
  }
  return rows;
}

/** Names sort by time. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(suffix))
      .toSorted();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
