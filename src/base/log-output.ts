/**
 * Where log lines go [platform §4.2]: standard output, written at once. If that is a pipe, a socket or a terminal whose reader stands still,
 * such as a collector that hangs, a blocking write would stop the thread: lines that do not fit are dropped and counted.
 */
import { constants, fstatSync, openSync, type Stats, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { isMainThread } from 'node:worker_threads';
import { destination } from 'pino';
import { systemClock } from './clock.ts';
import { atThreadEnd } from './isolation.ts';

export interface LineOutput {
  /** A line with its end. */
  write(line: string): void;
}

const standardOutput = 1;
const warnLevel = 40;
/** How long a thread that ends waits for a slow reader to take what it was not told. */
const lastWordsMs = 500;
const lastWordsPauseMs = 10;

export function logOutput(): LineOutput {
  const unblocked = unblockedOutput();
  if (unblocked !== null) return new UnblockedOutput(unblocked);
  const out = destination({ fd: standardOutput, sync: true });
  return { write: (line) => void out.write(line) };
}

/** Standard output as a descriptor whose writes do not block; null for a file, whose writes nobody has to read. */
function unblockedOutput(): number | null {
  const output = statOf(standardOutput);
  const isTerminal = isatty(standardOutput);
  if (output === null || !(output.isFIFO() || output.isSocket() || isTerminal)) return null;
  return ownDescription() ?? (isTerminal ? null : sharedDescription());
}

const statOf = (descriptor: number): Stats | null => {
  try {
    return fstatSync(descriptor);
  } catch {
    return null;
  }
};

/** A pipe or terminal opened again, so that other writers still block; null for a socket, and for what belongs to another account. */
function ownDescription(): number | null {
  try {
    return openSync(`/proc/self/fd/${standardOutput}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
}

/** The description that all threads, and the process that started this one, share: Node takes its blocking away when it makes a stream of it. */
function sharedDescription(): number {
  if (isMainThread) void process.stdout;
  return standardOutput;
}

class UnblockedOutput implements LineOutput {
  readonly #fd: number;
  /** The end of a line whose beginning fitted. */
  #rest: Buffer = Buffer.alloc(0);
  #dropped = 0;
  #isReaderGone = false;

  constructor(fd: number) {
    this.#fd = fd;
    atThreadEnd(() => this.#end());
  }

  write(line: string): void {
    // In one piece: the number alone could fit again and again where no line does.
    if (this.#putRest() && this.#put(Buffer.from(`${this.#droppedLine()}${line}`))) this.#dropped = 0;
    else this.#dropped++;
  }

  /** No line follows that could count the dropped ones. */
  #end(): void {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (let leftMs = lastWordsMs; !this.#isToldAll() && !this.#isReaderGone && leftMs > 0; leftMs -= lastWordsPauseMs)
      Atomics.wait(pause, 0, 0, lastWordsPauseMs);
  }

  #isToldAll(): boolean {
    if (!this.#putRest()) return false;
    if (this.#dropped > 0 && this.#put(Buffer.from(this.#droppedLine()))) this.#dropped = 0;
    return this.#dropped === 0 && this.#rest.length === 0;
  }

  /** Whether nothing is left of the line before. */
  #putRest(): boolean {
    return this.#rest.length === 0 || (this.#put(this.#rest) && this.#rest.length === 0);
  }

  #droppedLine(): string {
    if (this.#dropped === 0) return '';
    const msg = 'log lines were dropped: standard output did not take them';
    return `${JSON.stringify({ level: warnLevel, time: systemClock.wallMs(), lines: this.#dropped, msg })}\n`;
  }

  /** False if nothing fitted. What did not fit of a line follows before the next one. */
  #put(bytes: Buffer): boolean {
    try {
      this.#rest = bytes.subarray(writeSync(this.#fd, bytes));
      return true;
    } catch (error) {
      this.#isReaderGone = (error as NodeJS.ErrnoException).code !== 'EAGAIN';
      return false;
    }
  }
}
