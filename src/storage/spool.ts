/**
 * Rows that a database did not accept, kept in files of the data dir until it does (docs/guides/several-machines.md): JSON Lines,
 * some thousand rows per file. Both directions handle a bounded number of rows at a time (`spoolLimits`), so that the event loop stays
 * responsive. A file gets its name when it is complete and synced; until then it is a draft.
 */
import { readdirSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import { type SpoolLimits, spoolLimits } from './limits.ts';

export interface Spool<T> {
  /** Writes one file of the rows from `from` on, up to its maximum; returns the total number of spooled rows. */
  keep(rows: readonly T[], from?: number): Promise<number>;
  /**
   * Stores the spooled files, oldest first, and removes each complete one; returns the number of rows. A row may be stored
   * again, after a crash in between. Ends with the Fault of an unavailable database; throws if a file is damaged or unreadable,
   * or contains a row that is rejected for good (`invalid-input`), after all others were stored.
   */
  store(take: (rows: readonly T[]) => Promise<unknown>): Promise<number>;
  /** Completes the existing drafts, whose writers must have ended; truncated rows at their end are dropped. */
  recover(): Promise<void>;
}

export interface SpoolParts<T> {
  readonly folder: string;
  /** The rows' name, in the plural. */
  readonly what: string;
  /** Type guard for a stored row; rejects damaged rows and rows of another version. */
  readonly isRow: (value: unknown) => value is T;
  readonly limits?: SpoolLimits;
}

const suffix = '.jsonl';
const draftSuffix = `${suffix}.draft`;
const newline = 10;

export function openSpool<T>({ folder, what, isRow, limits = spoolLimits }: SpoolParts<T>): Spool<T> {
  const storeFile = async (name: string, take: (rows: readonly T[]) => Promise<unknown>): Promise<number> => {
    const file = join(folder, name);
    const found = await withFile(file, 'r', (handle) => storeRows(handle, { what, isRow, take, limits }));
    if (found.firstBad === null) {
      await rm(file, { force: true });
      return found.rows;
    }
    // Set aside for inspection.
    await rename(file, `${file}.damaged`);
    const { holds, line } = found.firstBad;
    throw new Error(
      `${name} in ${basename(folder)} holds ${holds}, first in line ${line}; the other lines are stored, and the file is now ${name}.damaged`,
    );
  };
  return {
    async keep(rows, from = 0) {
      if (from >= rows.length) return rows.length;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${newId()}${suffix}`);
      const kept = await withFile(`${file}.draft`, 'wx', (handle) => writeRows(handle, rows, from, limits));
      await rename(`${file}.draft`, file);
      await withFile(folder, 'r', (handle) => handle.sync());
      return kept;
    },
    async store(take) {
      const trouble: string[] = [];
      let stored = 0;
      for (const name of namesIn(folder, suffix)) {
        try {
          stored += await storeFile(name, take);
        } catch (error) {
          if (error instanceof Fault && error.code === 'storage-unavailable') throw error;
          // Another process has stored it since.
          if (isMissing(error)) continue;
          trouble.push(error instanceof Error ? error.message : String(error));
        }
      }
      if (trouble.length > 0) throw new Error(trouble.join('; '));
      return stored;
    },
    async recover() {
      // Listed before the first await: a draft that is started later has a writer.
      for (const name of namesIn(folder, draftSuffix)) {
        const draft = join(folder, name);
        const bytes = await withFile(draft, 'r+', (handle) => cutOff(handle, limits.turn_bytes));
        if (bytes === 0) await rm(draft);
        else await rename(draft, draft.slice(0, -'.draft'.length));
      }
    },
  };
}

/** Names sort by time. */
function namesIn(folder: string, ending: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(ending))
      .toSorted();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function withFile<R>(path: string, flags: string, work: (handle: FileHandle) => Promise<R>): Promise<R> {
  const handle = await open(path, flags, 0o600);
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** Returns the number of the first row after those in the file. */
async function writeRows(
  handle: FileHandle,
  rows: readonly unknown[],
  from: number,
  limits: SpoolLimits,
): Promise<number> {
  const end = Math.min(rows.length, from + limits.file_rows);
  let next = from;
  let fileBytes = 0;
  while (next < end && fileBytes < limits.file_bytes) {
    const turnEnd = Math.min(end, next + limits.turn_rows);
    const lines: Buffer[] = [];
    for (let bytes = 0; next < turnEnd && bytes < limits.turn_bytes; next++) {
      const line = Buffer.from(`${JSON.stringify(rows[next])}\n`);
      bytes += line.length;
      lines.push(line);
    }
    const part = Buffer.concat(lines);
    await handle.writeFile(part);
    fileBytes += part.length;
  }
  await handle.sync();
  return next;
}

interface Taking<T> {
  readonly what: string;
  readonly isRow: (value: unknown) => value is T;
  readonly take: (rows: readonly T[]) => Promise<unknown>;
  readonly limits: SpoolLimits;
}

/** A line that is not stored, and its fault. */
interface BadLine {
  readonly line: number;
  readonly holds: string;
}

interface Line<T> {
  readonly line: number;
  readonly row: T;
}

async function storeRows<T>(
  handle: FileHandle,
  { what, isRow, take, limits }: Taking<T>,
): Promise<{ readonly rows: number; readonly firstBad: BadLine | null }> {
  let [rows, line] = [0, 0];
  let firstBad: BadLine | null = null;
  for (let at = 0; ; ) {
    const turn = await nextLines(handle, at, limits);
    if (turn === null) return { rows, firstBad };
    const good: Line<T>[] = [];
    const bad: BadLine[] = [];
    for (const bytes of turn.lines) {
      line++;
      if (bytes.length === 0) continue;
      const row = parsed(bytes);
      if (isRow(row)) good.push({ line, row });
      else bad.push({ line, holds: `something else than ${what}` });
    }
    const refused = good.length > 0 ? await takeAll(good, take) : [];
    for (const { line, why } of refused) bad.push({ line, holds: `${what} that cannot be stored (${why})` });
    firstBad ??= bad.toSorted((one, other) => one.line - other.line)[0] ?? null;
    rows += good.length - refused.length;
    at = turn.end;
  }
}

/** Stores rows together, or in ever smaller parts if one is rejected for good; returns the lines of the rejected ones. */
async function takeAll<T>(
  lines: readonly Line<T>[],
  take: (rows: readonly T[]) => Promise<unknown>,
): Promise<readonly { readonly line: number; readonly why: string }[]> {
  try {
    await take(lines.map(({ row }) => row));
    return [];
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'invalid-input') throw error;
    const [only, ...more] = lines;
    if (only !== undefined && more.length === 0) return [{ line: only.line, why: error.message }];
    const half = Math.ceil(lines.length / 2);
    const before = await takeAll(lines.slice(0, half), take);
    return [...before, ...(await takeAll(lines.slice(half), take))];
  }
}

/** Lines of one turn, and the start of the next one; null at the end. A line that is too long is read up to the limit. */
async function nextLines(
  handle: FileHandle,
  at: number,
  { turn_rows: rowsMax, turn_bytes: turnBytes, line_bytes: lineBytes }: SpoolLimits,
): Promise<{ readonly lines: readonly Uint8Array[]; readonly end: number } | null> {
  for (let size = Math.min(turnBytes, lineBytes); ; size = Math.min(size * 4, lineBytes)) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(size), 0, size, at);
    if (bytesRead === 0) return null;
    const bytes = buffer.subarray(0, bytesRead);
    const lines: Uint8Array[] = [];
    const linesMax = size > turnBytes ? 1 : rowsMax;
    let from = 0;
    for (let end = bytes.indexOf(newline); end >= 0 && lines.length < linesMax; end = bytes.indexOf(newline, from)) {
      lines.push(bytes.subarray(from, end));
      from = end + 1;
    }
    if (lines.length > 0) return { lines, end: at + from };
    if (bytesRead < size || size >= lineBytes) return { lines: [bytes], end: at + bytesRead };
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}

/** Truncates a file after its last complete line, and returns its length. */
async function cutOff(handle: FileHandle, turnBytes: number): Promise<number> {
  const { size } = await handle.stat();
  let length = 0;
  for (let end = size; end > 0 && length === 0; end = Math.max(0, end - turnBytes)) {
    const from = Math.max(0, end - turnBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(end - from), 0, end - from, from);
    length = from + buffer.subarray(0, bytesRead).lastIndexOf(newline) + 1;
    if (length === from) length = 0;
  }
  await handle.truncate(length);
  await handle.sync();
  return length;
}
