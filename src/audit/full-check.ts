/**
 * Verifies every stored event while the service runs [audit §7]: at least once in `full_check_interval_ms`, in the background, with
 * at most a twentieth of one core. It cannot detect a consistent rewrite: only an external anchor can
 * (`setpoint audit verify --anchor`).
 */
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Database } from '../storage/database.ts';
import type { Breaks } from './breaks.ts';
import { ownerOf } from './checkpoints.ts';
import type { Evidence, RootAnchor } from './evidence.ts';
import type { AuditLimits } from './limits.ts';
import { chainedEventOf } from './store/chain.ts';
import type { AuditChainRow } from './store/tables.ts';
import { splitHashes, tileWidth } from './tree/tree-proofs.ts';
import { type StoredTree, treesOf } from './tree/tree-store.ts';
import { ChainVerifier } from './verify-chain.ts';

/** Small enough to keep each turn short, including details. */
const eventsPerRead = 200;
/** Of one core. */
const share = 0.05;
/** After the start, when everything else is running. */
const firstDelayMs = 60_000;

export interface FullCheckParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<AuditLimits, 'full_check_interval_ms'>;
  readonly breaks: Breaks;
  /** The trusted key of marks, in the form used by statements. */
  readonly key: string;
  /** The heads that this service signed last. */
  readonly heads: () => readonly RootAnchor[];
}

export class FullCheck {
  readonly #parts: FullCheckParts;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: FullCheckParts) {
    this.#parts = parts;
  }

  open(): void {
    this.#running = this.#repeat().catch((error: unknown) => {
      if (!this.#stopped.signal.aborted) this.#parts.log.error('the check of the audit log ended', { err: error });
    });
  }

  async close(): Promise<void> {
    this.#stopped.abort(new Error('stopping'));
    await this.#running;
  }

  async #repeat(): Promise<void> {
    const { clock, limits, log } = this.#parts;
    await this.#pause(Math.min(firstDelayMs, limits.full_check_interval_ms));
    for (;;) {
      const beganMs = clock.monotonicMs();
      await this.check().catch((error: unknown) => {
        if (this.#stopped.signal.aborted) throw error;
        log.warn('could not check the audit log; retrying', { error: String(error) });
      });
      await this.#pause(Math.max(0, beganMs + limits.full_check_interval_ms - clock.monotonicMs()));
    }
  }

  /** Every chain once. */
  async check(): Promise<void> {
    const chains = this.#parts.database.query.selectFrom('audit_chain').orderBy('chain_id');
    for (const { chain_id: chainId } of await chains.select('chain_id').execute()) {
      // Signed heads first, then the chain: the service keeps recording and signing, and the head of a chain only advances.
      const heads = this.#parts.heads();
      const chain = await chains.selectAll().where('chain_id', '=', chainId).executeTakeFirst();
      if (chain !== undefined) await this.#checkChain(chain, heads);
    }
  }

  async #checkChain(chain: AuditChainRow, heads: readonly RootAnchor[]): Promise<void> {
    const { log, breaks, database, key } = this.#parts;
    const owner = ownerOf(chain);
    const marked = await this.#marks(chain);
    const problems: string[] = [];
    const trees = await treesOf(database.query, chain.chain_id);
    const origin = trees.at(-1)?.origin;
    // Its first checkpoint starts the tree, and reads every event.
    if (origin === undefined) return;
    const roots = heads.filter(({ origin: signed }) => trees.some((tree) => tree.origin === signed));
    const evidence: Evidence = { anchors: [], roots, trusted: new Set([key]), problems: [] };
    const verifier = new ChainVerifier({ ...chain, owner, marks: marked, trees }, evidence, problems);
    await this.#feed(verifier, chain, trees);
    const broken = verifier.finish().find((part) => part.broken !== null && part.acknowledgedBy === null)?.broken;
    const wrong = broken ?? problems.map((reason) => ({ sequence: 1, reason }))[0];
    if (wrong === undefined) breaks.nothing('full-check', origin);
    // Events removed by retention in the meantime are not a break; the next check reads its mark.
    else if ((await this.#marks(chain)).length === marked.length) {
      breaks.found('full-check', { origin, sequence: wrong.sequence, reason: wrong.reason });
      log.error('the audit log is broken', { ...owner, sequence: wrong.sequence, reason: wrong.reason });
    }
  }

  async #feed(verifier: ChainVerifier, chain: AuditChainRow, trees: readonly StoredTree[]): Promise<void> {
    const { clock } = this.#parts;
    for (let after = 0; after < chain.sequence; ) {
      const beganMs = clock.monotonicMs();
      const rows = await this.#rows(chain, after);
      const last = rows.at(-1)?.sequence;
      if (last === undefined) return;
      for (const [at, tree] of trees.entries())
        for (const leaves of await this.#kept(tree, after, last)) verifier.keep(at, leaves);
      for (const row of rows) {
        const event = chainedEventOf(row);
        verifier.add({ event, hash: row.hash, details: row.details, era: row.era });
      }
      after = last;
      const workedMs = clock.monotonicMs() - beganMs;
      await this.#pause(workedMs * (1 / share - 1));
    }
  }

  #rows(chain: AuditChainRow, after: number) {
    return this.#parts.database.query
      .selectFrom('audit_event as event')
      .leftJoin('audit_details as kept', (join) =>
        join.onRef('kept.chain_id', '=', 'event.chain_id').onRef('kept.sequence', '=', 'event.sequence'),
      )
      .selectAll('event')
      .select('kept.details')
      .where('event.chain_id', '=', chain.chain_id)
      .where('event.sequence', '>', after)
      .where('event.sequence', '<=', chain.sequence)
      .orderBy('event.sequence')
      .limit(eventsPerRead)
      .execute();
  }

  /** Stored leaves that come with the events behind `after` up to `last`; before the first read, all before them too. */
  async #kept(tree: StoredTree, after: number, last: number) {
    const tileOf = (sequence: number): number => Math.floor((sequence - tree.first) / tileWidth);
    if (last < tree.first) return [];
    const rows = await this.#parts.database.query
      .selectFrom('audit_tile')
      .select(['tile', 'hashes'])
      .where('chain_id', '=', tree.chainId)
      .where('segment', '=', tree.segment)
      .where('level', '=', 0)
      .where('tile', '>', after < tree.first ? -1 : tileOf(after))
      .where('tile', '<=', tileOf(last))
      .orderBy('tile')
      .orderBy('width', 'desc')
      .execute();
    const widest = rows.filter(({ tile }, at) => rows[at - 1]?.tile !== tile);
    return widest.map(({ tile, hashes }) => ({ from: tile * tileWidth, hashes: splitHashes(hashes) }));
  }

  async #marks(chain: AuditChainRow) {
    const rows = await this.#parts.database.query
      .selectFrom('audit_mark')
      .select(['audited_by', 'mark'])
      .where('chain_id', '=', chain.chain_id)
      .orderBy('sequence')
      .execute();
    return rows.map(({ audited_by: auditedBy, mark }) => ({ auditedBy, mark }));
  }

  /** Ends with the signal's reason when the service stops. */
  #pause(ms: number): Promise<void> {
    return sleep(this.#parts.clock, ms, this.#stopped.signal);
  }
}
