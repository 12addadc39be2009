/** Checkpoints and proofs for readers of the audit [audit §9]: of their own tenant and project only. */
import { type Clock, sleep } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Database } from '../storage/database.ts';
import { toBase64 } from '../transparency/base64.ts';
import { formatProofFile } from '../transparency/proof-file.ts';
import type { Checkpointer } from './checkpoints.ts';
import type { AuditScope } from './event.ts';
import { type AuditLogName, chainedEventOf, chainText, nameOf } from './store/chain.ts';
import { chainHead } from './store/chain-store.ts';
import type { AuditEventTable } from './store/tables.ts';
import type { LogTrees } from './tree/log-trees.ts';
import { type StoredTree, treesOf } from './tree/tree-store.ts';
import type { PublishedHead, PublishedHeads } from './witness/published-heads.ts';

/** Maximum wait of a proof for a checkpoint that covers its event. */
const coverTimeoutMs = 2000;

export interface ConsistencyProof {
  readonly from: string;
  readonly to: string;
  /** Base64, as RFC 6962 orders them. */
  readonly proof: readonly string[];
}

interface ProofParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly trees: LogTrees;
  readonly published: PublishedHeads;
  readonly checkpointer: Checkpointer;
}

export class AuditProofs {
  readonly #parts: ProofParts;

  constructor(parts: ProofParts) {
    this.#parts = parts;
  }

  /** The newest checkpoint that meets the policy, as a signed note. */
  async checkpoint(scope: AuditScope, log: AuditLogName): Promise<PublishedHead> {
    const tree = (await this.#trees(scope, log)).at(-1);
    const head = tree === undefined ? null : await this.#parts.published.newest(tree);
    if (head === null) throw new Fault('no-checkpoint', 'no checkpoint meets the policy of this site yet');
    return head;
  }

  /** Proves that an event is in the log, as a file (C2SP tlog-proof). */
  async inclusion(scope: AuditScope, sequence: number): Promise<string> {
    const { trees } = this.#parts;
    const owner = { log: 'events', ...scope } as const;
    const row = await this.#event(scope, sequence);
    let all = await this.#trees(scope, 'events');
    if (row !== null && all.length === 0) {
      // The first checkpoint of a log starts its tree.
      await this.#parts.checkpointer.cover(owner);
      all = await this.#trees(scope, 'events');
    }
    const at = all.findLastIndex(({ first }) => first <= sequence);
    const tree = all[at];
    if (row === null || tree === undefined)
      throw new Fault('not-found', `no event ${sequence} in the tree of this log`);
    const index = sequence - tree.first;
    const head = await this.#covering(owner, tree, index, at === all.length - 1);
    const { proofs } = trees.proofs(tree, head.size);
    return formatProofFile({
      extra: new TextEncoder().encode(chainText(owner, chainedEventOf(row))),
      index,
      proof: await proofs.inclusion(index),
      checkpoint: head.note,
    });
  }

  /** Proves that the log of `from` entries is a prefix of that of `to`; without `to`, of the last signed one. */
  async consistency(scope: AuditScope, log: AuditLogName, from: number, to: number | null): Promise<ConsistencyProof> {
    const tree = (await this.#trees(scope, log)).at(-1);
    const signed = this.#parts.checkpointer.signedSize({ log, ...scope });
    if (tree === undefined || signed === null) throw new Fault('no-checkpoint', 'no checkpoint yet');
    const end = to ?? signed;
    if (from > end) throw new Fault('invalid-input', `from must be ${end} or less`);
    if (end > signed)
      throw new Fault('invalid-input', `to must be ${signed} or less: no checkpoint is of more entries`);
    const { proofs } = this.#parts.trees.proofs(tree, end);
    const proof = (await proofs.consistency(from)).map(toBase64);
    return { from: String(from), to: String(end), proof };
  }

  async #trees(scope: AuditScope, log: AuditLogName): Promise<StoredTree[]> {
    const { query } = this.#parts.database;
    const head = await chainHead(query, { log, ...scope });
    return head === null ? [] : treesOf(query, head.chainId);
  }

  async #event(scope: AuditScope, sequence: number): Promise<AuditEventTable | null> {
    const { query } = this.#parts.database;
    const head = await chainHead(query, { log: 'events', ...scope });
    if (head === null) return null;
    const row = await query
      .selectFrom('audit_event')
      .selectAll()
      .where('chain_id', '=', head.chainId)
      .where('sequence', '=', sequence)
      .executeTakeFirst();
    return row ?? null;
  }

  async #covering(
    owner: { readonly log: AuditLogName } & AuditScope,
    tree: StoredTree,
    index: number,
    isCurrent: boolean,
  ): Promise<PublishedHead> {
    const { clock, published, checkpointer } = this.#parts;
    const covers = (head: PublishedHead | null): head is PublishedHead => head !== null && head.size > index;
    let head = await published.newest(tree);
    if (covers(head)) return head;
    if (!isCurrent)
      throw new Fault('not-found', `no checkpoint of ${nameOf(owner)} covers this event: its chain was broken`);
    const untilMs = clock.monotonicMs() + coverTimeoutMs;
    await Promise.race([checkpointer.coverSoon(owner), sleep(clock, coverTimeoutMs)]);
    for (;;) {
      // Subscribed before the read, so that a publication in between is not missed.
      const next = published.next(Math.max(0, untilMs - clock.monotonicMs()));
      head = await published.newest(tree);
      if (covers(head)) return head;
      if (clock.monotonicMs() >= untilMs)
        throw new Fault('not-covered-yet', 'no checkpoint that meets the policy covers this event yet; ask again');
      await next;
    }
  }
}
