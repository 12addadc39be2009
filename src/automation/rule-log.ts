/**
 * The per-rule log [rules §7.5]: `<folder>/<id>.log`, one JSON line per run, rotated by size to `.1`, `.2`, …
 * Lines are buffered and written a few files at a time; lines beyond the buffer are dropped and counted, because a
 * full disk must not slow the engine.
 */
import { appendFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';

export interface RuleLogLimits {
  readonly log_file_bytes: number;
  readonly log_files: number;
  readonly log_flush_ms: number;
  readonly log_queue_bytes: number;
}

export interface RuleLog {
  /** One line without its end. */
  append(ruleId: number, line: string): void;
  dropped(): number;
  /** Resolves when everything appended so far is written or dropped. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Files written at once. */
const parallelFiles = 8;

export function createRuleLog(folder: string, limits: RuleLogLimits, clock: Clock, log: Log): RuleLog {
  return new RotatedLog(folder, limits, clock, log);
}

class RotatedLog implements RuleLog {
  readonly #folder: string;
  readonly #limits: RuleLogLimits;
  readonly #log: Log;
  readonly #clock: Clock;
  #waiting = new Map<number, string[]>();
  #batchBytes = 0;
  /** Counts of lines that no flush has taken yet, and of lines that are being written. */
  #waitingBytes = 0;
  #droppedLines = 0;
  /** The disk rejected the last batch: that is logged once. */
  #failing = false;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  /**
   * Batches in progress. Lines that arrive in the meantime form one more batch: a file is opened once for all
   * its lines.
   */
  #batches = 0;
  readonly #sizes = new Map<number, number>();

  constructor(folder: string, limits: RuleLogLimits, clock: Clock, log: Log) {
    this.#folder = folder;
    this.#limits = limits;
    this.#log = log;
    this.#clock = clock;
  }

  append(ruleId: number, line: string): void {
    const bytes = line.length + 1;
    if (this.#waitingBytes + bytes > this.#limits.log_queue_bytes) {
      this.#droppedLines++;
      return;
    }
    this.#waitingBytes += bytes;
    this.#batchBytes += bytes;
    const lines = this.#waiting.get(ruleId);
    if (lines === undefined) this.#waiting.set(ruleId, [line]);
    else lines.push(line);
    if (this.#batches === 0) this.#flushLater();
  }

  #flushLater(): void {
    this.#timer ??= this.#clock.after(this.#limits.log_flush_ms, () => void this.flush());
  }

  dropped(): number {
    return this.#droppedLines;
  }

  close(): Promise<void> {
    return this.flush();
  }

  async #writeFile(ruleId: number, text: string): Promise<void> {
    const file = join(this.#folder, `${ruleId}.log`);
    const bytes = Buffer.byteLength(text);
    const size = this.#sizes.get(ruleId) ?? (await sizeOf(file));
    if (size > 0 && size + bytes > this.#limits.log_file_bytes) {
      await rotate(file, this.#limits.log_files);
      this.#sizes.set(ruleId, bytes);
    } else {
      this.#sizes.set(ruleId, size + bytes);
    }
    await appendFile(file, text);
  }

  async #writeAll(batch: Map<number, string[]>): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const files = [...batch];
    const worker = async (): Promise<void> => {
      for (let next = files.pop(); next !== undefined; next = files.pop()) {
        const [ruleId, lines] = next;
        for (const text of portions(lines, this.#limits.log_file_bytes)) await this.#writeFile(ruleId, text);
      }
    };
    await Promise.all(Array.from({ length: parallelFiles }, worker));
  }

  readonly flush = (): Promise<void> => {
    this.#timer?.cancel();
    this.#timer = undefined;
    const batch = this.#waiting;
    const lines = [...batch.values()].reduce((sum, list) => sum + list.length, 0);
    const bytes = this.#batchBytes;
    this.#waiting = new Map();
    this.#batchBytes = 0;
    this.#batches++;
    this.#writing = this.#writing
      .then(async () => {
        if (lines === 0) return;
        await this.#writeAll(batch);
        this.#failing = false;
      })
      .catch((error: unknown) => {
        this.#droppedLines += lines;
        this.#sizes.clear();
        if (!this.#failing) this.#log.warn('cannot write the rule log', { lines, error: String(error) });
        this.#failing = true;
      })
      .finally(() => {
        this.#waitingBytes -= bytes;
        this.#batches--;
        if (this.#batches === 0 && this.#waiting.size > 0) this.#flushLater();
      });
    return this.#writing;
  };
}

/** The lines as texts of at most `maxBytes` each, so that no file outgrows its limit by more than one line. */
function portions(lines: readonly string[], maxBytes: number): string[] {
  const texts: string[] = [];
  let text = '';
  for (const line of lines) {
    if (text !== '' && Buffer.byteLength(text) + Buffer.byteLength(line) + 1 > maxBytes) {
      texts.push(text);
      text = '';
    }
    text += `${line}\n`;
  }
  if (text !== '') texts.push(text);
  return texts;
}

async function rotate(file: string, keep: number): Promise<void> {
  await rm(`${file}.${keep}`, { force: true });
  for (let index = keep - 1; index >= 1; index--) await moveIfThere(`${file}.${index}`, `${file}.${index + 1}`);
  await moveIfThere(file, `${file}.1`);
}

async function moveIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
