/**
 * Where the command line reads and writes (decisions §2.7): tables and colour on a terminal, plain lines for whatever
 * reads a pipe. Text that came from elsewhere is cleaned before a terminal sees it.
 */
import type { Writable } from 'node:stream';

export interface Terminal {
  /** Standard output, for what streams. */
  readonly stdout: Writable;
  out(text: string): void;
  error(text: string): void;
  /** Standard output is a terminal. */
  readonly outIsTerminal: boolean;
  /** Standard error is a terminal: progress may be shown on it. */
  readonly errorIsTerminal: boolean;
  readonly colour: boolean;
  /** Asks the person at the terminal; null when there is none. */
  ask(question: string): Promise<boolean | null>;
}

/** A name that someone else chose must not move the cursor or paint the screen. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '�');
}

const paints = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
export type Paint = keyof typeof paints;

export function painted(terminal: Terminal, paint: Paint, text: string): string {
  return terminal.colour ? `\u001b[${paints[paint]}m${text}\u001b[0m` : text;
}

/** A line that is written over while work goes on; nothing where nobody watches. */
export function showProgress(terminal: Terminal): { at(text: string): void; end(): void } {
  let shown = false;
  const clear = '\r\u001b[K';
  return {
    at(text) {
      if (!terminal.errorIsTerminal) return;
      shown = true;
      terminal.error(`${clear}${text}`);
    },
    end() {
      if (shown) terminal.error(clear);
    },
  };
}
