/**
 * A journal of rows that wait to be stored together, so that a crash loses none
 * of them: frames of compressed JSON lines, appended as they arrive. A file is removed once all its rows are stored and synced, so
 * that a power loss cannot take both. A server stores rows immediately and needs no journal (`noJournal`).
 *
 * Frame: its length and the CRC-32 of the rest (each 32 bits, big-endian), then the compressed lines. A torn frame is
 * skipped. Calls block this thread on the disk: it is a storing thread, not that of the ticks.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { newId } from '../base/id.ts';

export interface RowJournal<T> {
  /** Rows that the previous process or thread left behind, and perhaps did not store. */
  left(): readonly T[];
  /** Those are stored. */
  forget(): void;
  /** The newest of the rows has this number. True: they are journaled. Throws if the disk rejects them. */
  append(rows: readonly T[], last: number): boolean;
  /** Starts a new file, so that this one can be removed when its rows are stored. */
  turnOver(): void;
  /** All rows up to this number are stored. Files stay until a later call if the store cannot be synced. */
  stored(upTo: number): void;
}

export const noJournal: RowJournal<never> = {
  left: () => [],
  forget: () => undefined,
  append: () => false,
  turnOver: () => undefined,
  stored: () => undefined,
};

export interface JournalParts<T> {
  readonly folder: string;
  /** Type guard for a stored row; rejects rows of another version. */
  readonly isRow: (value: unknown) => value is T;
  /** Flushes stored rows to the disk; throws on failure. */
  readonly sync: () => void;
}

interface File {
  readonly path: string;
  bytes: number;
  last: number;
}

const headBytes = 8;
const suffix = '.rows';
/** Suffix of an older version, which journaled runs only. */
const earlierSuffix = '.runs';
/** At this size a new file is started. */
const fileBytes = 1_048_576;

/** Of a data dir. */
const folders = { runs: 'journal', history: 'journal-history' } as const;

export function journalFolder(dataFolder: string, of: keyof typeof folders): string {
  return join(dataFolder, folders[of]);
}

function isJournalFile(name: string): boolean {
  return name.endsWith(suffix) || name.endsWith(earlierSuffix);
}

/** Files with rows that may not be stored yet; none if all are stored. */
export function journalFiles(folder: string): string[] {
  return namesIn(folder).map((name) => join(folder, name));
}

export function openJournal<T>({ folder, isRow, sync }: JournalParts<T>): RowJournal<T> {
  const found = journalFiles(folder);
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
    left: () => found.flatMap((path) => rowsIn(readFileSync(path)).filter(isRow)),
    forget() {
      if (found.length === 0 || !isSynced(sync)) return;
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
    turnOver() {
      const file = files.at(-1);
      if (file !== undefined) file.bytes = fileBytes;
    },
    stored(upTo) {
      const hasStored = (): boolean => files[0] !== undefined && files[0].last <= upTo;
      if (!hasStored() || !isSynced(sync)) return;
      while (hasStored()) rmSync(files.shift()?.path ?? '', { force: true });
    },
  };
}

/** A failing disk is reported elsewhere; here it only means that the files are still needed. */
function isSynced(sync: () => void): boolean {
  try {
    sync();
    return true;
  } catch {
    return false;
  }
}

function frameOf(rows: readonly unknown[]): Buffer {
  const packed = deflateRawSync(rows.map((row) => JSON.stringify(row)).join('\n'));
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(packed.length, 0);
  head.writeUInt32BE(crc32(packed), 4);
  return Buffer.concat([head, packed]);
}

/** Up to the first incomplete frame. */
function rowsIn(bytes: Buffer): unknown[] {
  const rows: unknown[] = [];
  for (let at = 0; at + headBytes <= bytes.length; ) {
    const end = at + headBytes + bytes.readUInt32BE(at);
    const packed = bytes.subarray(at + headBytes, end);
    if (end > bytes.length || crc32(packed) !== bytes.readUInt32BE(at + 4)) break;
    for (const line of inflateRawSync(packed).toString('utf8').split('\n')) rows.push(JSON.parse(line));
    at = end;
  }
  return rows;
}

/** Names sort by time. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(isJournalFile).toSorted();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
