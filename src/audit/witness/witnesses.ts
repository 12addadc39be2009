/**
 * The service's side of witnessing [audit §9.6]: each signed head is sent to every configured witness and returned cosigned. Only
 * requests for a head without cosignatures wait for a witness.
 */
import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Database } from '../../storage/database.ts';
import { cosignedAt } from '../../transparency/cosignature.ts';
import { type SignedNote, signatureOf, signaturesBy, type Verifier } from '../../transparency/signed-note.ts';
import { nodeCryptography } from '../../transparency/signing.ts';
import { formatSubmission } from '../../transparency/submission.ts';
import type { Breaks } from '../breaks.ts';
import type { GrownTree } from '../tree/log-trees.ts';
import type { AskWitness } from './ask-witness.ts';
import type { PublishedHeads } from './published-heads.ts';

export interface ConfiguredWitness {
  readonly url: URL;
  readonly verifier: Verifier;
}

/** A head that was just signed. */
export interface NewHead extends GrownTree {
  readonly note: SignedNote;
}

export interface WitnessesParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly witnesses: readonly ConfiguredWitness[];
  readonly published: PublishedHeads;
  readonly breaks: Breaks;
  readonly ask: AskWitness;
}

/** A witness that did not cosign the last head that it was sent. */
export interface SilentWitness {
  readonly witness: string;
  readonly reason: string;
}

/** One request to one witness about one log. */
interface Errand {
  readonly witness: string;
  newest: NewHead;
  /** Size that the witness saw last, as far as known. */
  old: number;
  isBusy: boolean;
  failures: number;
  /** Why the last attempt failed. */
  trouble: string | null;
  retry: Timer | undefined;
}

/** For the last head, at shutdown. */
const lastWordMs = 1000;
const firstRetryMs = 1000;
const longestRetryMs = 300_000;

export class Witnesses {
  readonly #parts: WitnessesParts;
  readonly #errands = new Map<string, Errand>();
  readonly #cosigned = new Map<string, SignedNote>();
  #closed = false;

  constructor(parts: WitnessesParts) {
    this.#parts = parts;
  }

  /** Whether there are any. */
  get any(): boolean {
    return this.#parts.witnesses.length > 0;
  }

  /** Offers a head for publication, and sends it to all witnesses without waiting for them. */
  async signed(head: NewHead): Promise<void> {
    this.#cosigned.set(head.tree.origin, head.note);
    await this.#parts.published.offer(head.tree, head.size, head.note);
    if (this.#closed) return;
    for (const witness of this.#parts.witnesses) this.#send(witness, head);
  }

  /** Each once, with the reason for one of the logs. */
  silent(): readonly SilentWitness[] {
    const byName = new Map<string, SilentWitness>();
    for (const { witness, trouble } of this.#errands.values())
      if (trouble !== null) byName.set(witness, { witness, reason: trouble });
    return [...byName.values()];
  }

  /** Gives pending requests a moment for the last head. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const errand of this.#errands.values()) errand.retry?.cancel();
    const { clock } = this.#parts;
    const untilMs = clock.monotonicMs() + lastWordMs;
    const isBusy = (): boolean => [...this.#errands.values()].some((errand) => errand.isBusy);
    while (isBusy() && clock.monotonicMs() < untilMs) await sleep(clock, 10);
  }

  #send(witness: ConfiguredWitness, head: NewHead): void {
    const name = `${witness.verifier.name} ${head.tree.origin}`;
    const errand: Errand = this.#errands.get(name) ?? {
      witness: witness.verifier.name,
      newest: head,
      old: 0,
      isBusy: false,
      failures: 0,
      trouble: null,
      retry: undefined,
    };
    this.#errands.set(name, errand);
    errand.newest = head;
    if (!errand.isBusy) void this.#carryOut(witness, errand);
  }

  async #carryOut(witness: ConfiguredWitness, errand: Errand): Promise<void> {
    const { clock, log } = this.#parts;
    errand.retry?.cancel();
    errand.isBusy = true;
    let asked: NewHead;
    let trouble: string | null;
    do {
      asked = errand.newest;
      trouble = await this.#ask(witness, errand, asked).catch((error: unknown) => String(error));
    } while (trouble === null && asked !== errand.newest && !this.#closed);
    errand.isBusy = false;
    errand.trouble = trouble;
    if (trouble === null) errand.failures = 0;
    if (trouble === null || this.#closed) return;
    // Logged once per outage.
    if (errand.failures++ === 0)
      log.warn('a witness did not cosign an audit checkpoint; retrying', {
        witness: witness.verifier.name,
        origin: asked.tree.origin,
        error: trouble,
      });
    const waitMs = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(errand.failures - 1, 20));
    errand.retry = clock.after(waitMs, () => void this.#carryOut(witness, errand));
  }

  /** Null if the witness cosigned, or needs no answer for this head. */
  async #ask(witness: ConfiguredWitness, errand: Errand, head: NewHead): Promise<string | null> {
    for (let isSecond = false; ; isSecond = true) {
      const old = Math.min(errand.old, head.size);
      const proof = old === 0 || old === head.size ? [] : await head.proofs.consistency(old);
      const answer = await this.#parts.ask(witness.url, formatSubmission({ old, proof, note: head.note }));
      if (answer.kind === 'cosigned') return this.#accept(witness, errand, head, answer.lines);
      if (answer.kind === 'failed') return answer.reason;
      if (answer.kind === 'refused') {
        const reason = 'the witness refused the consistency proof: it has seen a different log';
        return this.#contradicted(witness, head, `the witness ${witness.verifier.name} saw another history: ${reason}`);
      }
      if (answer.size > head.size) return this.#ahead(witness, errand, head, answer.size);
      if (answer.size === old) {
        const reason = `the witness ${witness.verifier.name} saw another head of the same size ${old}`;
        return this.#contradicted(witness, head, reason);
      }
      if (isSecond) return 'it names another size each time it is asked';
      errand.old = answer.size;
    }
  }

  async #accept(
    witness: ConfiguredWitness,
    errand: Errand,
    head: NewHead,
    lines: readonly string[],
  ): Promise<string | null> {
    const signatures = lines.map(signatureOf).filter((signature) => signature !== null);
    const own = signaturesBy({ ...head.note, signatures }, witness.verifier);
    const answered = { ...head.note, signatures: own };
    if ((await cosignedAt(answered, witness.verifier, nodeCryptography)) === null)
      return 'the answer has no cosignature by the configured key';
    errand.old = head.size;
    this.#parts.breaks.nothing('witness', head.tree.origin);
    const known = this.#cosigned.get(head.tree.origin);
    // A head that was signed in the meantime is sent next.
    if (known?.text !== head.note.text) return null;
    const others = known.signatures.filter(({ name }) => name !== witness.verifier.name);
    const merged = { ...known, signatures: [...others, ...own] };
    this.#cosigned.set(head.tree.origin, merged);
    await this.#parts.published.offer(head.tree, head.size, merged);
    return null;
  }

  /** The witness saw a larger head. Behind another process of the site that is expected; otherwise it is a rollback. */
  async #ahead(witness: ConfiguredWitness, errand: Errand, head: NewHead, size: number): Promise<string | null> {
    const { tree } = head;
    const row = await this.#parts.database.query
      .selectFrom('audit_chain')
      .select('sequence')
      .where('chain_id', '=', tree.chainId)
      .executeTakeFirst();
    if (row !== undefined && row.sequence - tree.first + 1 >= size) {
      errand.old = size;
      return null;
    }
    const reason = `the witness ${witness.verifier.name} saw ${size} entries, the log has ${head.size}: an older copy was put back`;
    return this.#contradicted(witness, head, reason);
  }

  /** Not retried: a witness does not change its answer, and the log is no longer signed. */
  #contradicted(witness: ConfiguredWitness, { tree, size }: NewHead, reason: string): null {
    this.#parts.breaks.found('witness', { origin: tree.origin, sequence: tree.first + size, reason });
    this.#parts.log.error('the audit log contradicts what a witness saw', {
      witness: witness.verifier.name,
      origin: tree.origin,
      reason,
    });
    return null;
  }
}
