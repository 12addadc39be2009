/**
 * The newest checkpoint of each log that meets the policy of the site [audit §9.2], with its cosignatures: stored in the database, so
 * that every process of the site publishes the same one. The only writer of `audit_cosigned`.
 */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../storage/database.ts';
import { cosignedAt } from '../../transparency/cosignature.ts';
import { formatNote, parseNote, type SignedNote, signaturesBy, type Verifier } from '../../transparency/signed-note.ts';
import { nodeCryptography } from '../../transparency/signing.ts';

export interface PublishedHead {
  readonly size: number;
  /** With the cosignatures of configured witnesses. */
  readonly note: SignedNote;
  readonly cosignatures: readonly { readonly name: string; readonly timeSeconds: number }[];
}

type TreeName = { readonly chainId: number; readonly segment: number };

export class PublishedHeads {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #witnesses: readonly Verifier[];
  readonly #required: number;
  #listeners: (() => void)[] = [];

  /** `required`: number of cosignatures that a head needs before it is published. */
  constructor(parts: { database: Database; clock: Clock; witnesses: readonly Verifier[]; required: number }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#witnesses = parts.witnesses;
    this.#required = parts.required;
  }

  /** The newest head that meets the current policy; null without one. */
  async newest(tree: TreeName): Promise<PublishedHead | null> {
    const row = await this.#database.query
      .selectFrom('audit_cosigned')
      .selectAll()
      .where('chain_id', '=', tree.chainId)
      .where('segment', '=', tree.segment)
      .executeTakeFirst();
    const note = row === undefined ? null : parseNote(row.note);
    if (row === undefined || note === null) return null;
    const signatures = note.signatures.slice(0, 1);
    const cosignatures = [];
    for (const witness of this.#witnesses) {
      const timeSeconds = await cosignedAt(note, witness, nodeCryptography);
      if (timeSeconds === null) continue;
      cosignatures.push({ name: witness.name, timeSeconds });
      signatures.push(...signaturesBy(note, witness));
    }
    return cosignatures.length < this.#required
      ? null
      : { size: row.size, note: { ...note, signatures }, cosignatures };
  }

  /** Publishes a note, the log's signature first, if it has the cosignatures that the policy requires. */
  async offer(tree: TreeName, size: number, note: SignedNote): Promise<void> {
    if (note.signatures.length - 1 < this.#required) return;
    await this.#database.transaction(async (transaction) => {
      const row = await transaction
        .selectFrom('audit_cosigned')
        .selectAll()
        .where('chain_id', '=', tree.chainId)
        .where('segment', '=', tree.segment)
        .executeTakeFirst();
      const values = { chain_id: tree.chainId, segment: tree.segment, size, note: formatNote(note) };
      if (row === undefined) await transaction.insertInto('audit_cosigned').values(values).execute();
      else if (row.size < size || (row.size === size && signaturesIn(row.note) <= note.signatures.length))
        await transaction
          .updateTable('audit_cosigned')
          .set(values)
          .where('chain_id', '=', tree.chainId)
          .where('segment', '=', tree.segment)
          .execute();
    });
    for (const listener of this.#listeners.splice(0)) listener();
  }

  /** Resolves at the next publication by this process, or after the time limit. */
  next(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(withinMs, resolve);
      this.#listeners.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}

function signaturesIn(note: string): number {
  return parseNote(note)?.signatures.length ?? 0;
}
