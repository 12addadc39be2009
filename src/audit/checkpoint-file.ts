/** The file of signed checkpoints [audit §7], one a line: what it says last of each chain, and how it is repaired after a crash. */

import { appendLineDurably, cutTornLine, readIfThere } from '../base/own-file.ts';
import { parseCheckpoint } from '../transparency/checkpoint.ts';
import { parseNote } from '../transparency/signed-note.ts';
import { readStatement, type Statement } from './statement.ts';
import { nameOf } from './store/chain.ts';

/** The last head of a chain that this key signed. */
export interface SignedHead {
  readonly sequence: number;
  readonly hash: string;
  readonly issuedAt: string;
  /** Null in lines of before there were trees. */
  readonly tree: { readonly origin: string; readonly size: number; readonly root: Uint8Array } | null;
}

export class CheckpointFile {
  readonly #path: string;
  /** The key whose lines count, as statements name it. */
  readonly #key: string;

  constructor(path: string, key: string) {
    this.#path = path;
    this.#key = key;
  }

  /** Takes off what a crash left of a last line. A whole line that lacks only its end is kept. Returns what went. */
  repair(): string | null {
    const torn = cutTornLine(this.#path);
    if (torn === null || readStatement(torn, 'checkpoint') === null) return torn;
    appendLineDurably(this.#path, torn);
    return null;
  }

  /** By the name of the chain. Only the last line of each chain is checked: the file grows for years. */
  lastHeads(): Map<string, SignedHead> {
    const heads = new Map<string, SignedHead>();
    const lines = (readIfThere(this.#path) ?? '').split('\n').toReversed();
    const seen = new Set<string>();
    for (const line of lines) {
      const chain = chainOf(line);
      if (chain === null || seen.has(chain)) continue;
      const statement = readStatement(line, 'checkpoint');
      if (statement === null || statement.key !== this.#key) continue;
      seen.add(chain);
      heads.set(nameOf(statement), headOf(statement));
    }
    return heads;
  }

  append(statement: Statement): void {
    appendLineDurably(this.#path, JSON.stringify(statement));
  }
}

/** The part of a line that names its chain, as it is written; null where there is none. */
function chainOf(line: string): string | null {
  return /"log":.*?"projectId":"(?:[^"\\]|\\.)*"/.exec(line)?.[0] ?? null;
}

function headOf(statement: Statement): SignedHead {
  const note = statement.note === undefined ? null : parseNote(statement.note);
  return {
    sequence: Number(statement.sequence),
    hash: statement.hash,
    issuedAt: statement.issuedAt,
    tree: note === null ? null : parseCheckpoint(note.text),
  };
}
