/**
 * Input and output of the command line [platform §7]: tables and colour on a terminal, plain lines in
 * a pipe. Text from outside is sanitized before it reaches a terminal.
 */
import type { Writable } from 'node:stream';

export interface Terminal {
  /** Standard output, for streams. */
  readonly stdout: Writable;
  out(text: string): void;
  error(text: string): void;
  /** Standard output is a terminal. */
  readonly outIsTerminal: boolean;
  /** Standard error is a terminal, which may show progress. */
  readonly errorIsTerminal: boolean;
  readonly colour: boolean;
  /** Prompts at the terminal; null without one. */
  ask(question: string): Promise<boolean | null>;
}

/** Ranges of characters that control the cursor, the screen or the writing direction. */
const unprintable = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
] as const;

/** A name from outside must not control the terminal. */
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

/** A line that is overwritten as work continues; nothing without a terminal. */
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
