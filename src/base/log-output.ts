/**
 * Where log lines go [platform §4.2]: standard output, written at once. If that is a pipe whose reader stands still, such as a collector that
 * hangs, a blocking write would stop the thread: lines that do not fit into the pipe are dropped and counted.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { destination } from 'pino';
import { systemClock } from './clock.ts';

export interface LineOutput {
  /** A line with its end. */
  write(line: string): void;
}

const standardOutput = 1;
const warnLevel = 40;

export function logOutput(): LineOutput {
  const pipe = ownPipe();
  if (pipe !== null) return new PipeOutput(pipe);
  const out = destination({ fd: standardOutput, sync: true });
  return { write: (line) => void out.write(line) };
}

/** The same pipe through a description of its own, which alone does not block; null if it is not a pipe, or belongs to another account. */
function ownPipe(): number | null {
  try {
    if (!fstatSync(standardOutput).isFIFO()) return null;
    return openSync(`/proc/self/fd/${standardOutput}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}

class PipeOutput implements LineOutput {
  readonly #fd: number;
  /** The end of a line whose beginning fitted. */
  #rest: Buffer = Buffer.alloc(0);
  #dropped = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    const isFree = this.#rest.length === 0 || (this.#put(this.#rest) && this.#rest.length === 0);
    // In one piece: the number alone could fit again and again where no line does.
    if (isFree && this.#put(Buffer.from(`${this.#droppedLine()}${line}`))) this.#dropped = 0;
    else this.#dropped++;
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
    } catch {
      // The pipe is full, or its reader has ended.
      return false;
    }
  }
}
