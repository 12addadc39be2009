/**
 * Where the command line reads and writes [platform §7]: tables and colour on a terminal, plain lines for whatever
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

/** Codes, bounds included, that move the cursor, paint the screen or turn the direction of writing. */
const unprintable = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
] as const;

/** A name that someone else chose must not do anything to the terminal. */
export function printable(text: string): string {
  return Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return unprintable.some(([first, last]) => code >= first && code <= last) ? '\u{fffd}' : character;
  }).join('');
}

const paints = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;
export type Paint = keyof typeof paints;

export function painted(terminal: Terminal, paint: Paint, text: string): string {
  return terminal.colour ? `\u001b[${paints[paint]}m${text}\u001b[0m` : text;
}

/** A line that is written over while work continues; nothing where nobody watches. */
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

/** `1 row`, `2 rows`. */
export function quantity(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
