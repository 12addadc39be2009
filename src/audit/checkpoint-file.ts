/** The file of signed checkpoints [audit §7], one per line: reads the last one of each chain, and repairs a line that a crash truncated. */

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
  /** Null in lines from before trees existed. */
  readonly tree: { readonly origin: string; readonly size: number; readonly root: Uint8Array } | null;
}

export class CheckpointFile {
  readonly #path: string;
  /** The key whose lines count, in the form used by statements. */
  readonly #key: string;

  constructor(path: string, key: string) {
    this.#path = path;
    this.#key = key;
  }

  /** Removes an incomplete last line and returns it. A line that lacks only its line end is kept. */
  repair(): string | null {
    const torn = cutTornLine(this.#path);
    if (torn === null || readStatement(torn, 'checkpoint') === null) return torn;
    appendLineDurably(this.#path, torn);
    return null;
  }

  /** By chain name. Only the signature of each chain's last line is verified: the file grows for years. */
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

/** The text that identifies the chain in a line, unparsed; null for a line without it. */
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
