/**
 * Retention [audit §8]; by age it is off by default. It removes the oldest events of a chain, at or below a mark. A mark
 * is signed, recorded by an event of the same chain, and is at or below a checkpoint; the remaining events verify from there.
 * The access log is also limited in number, because each search adds to it at no cost to its sender.
 * An unfinished action is never removed: an accepted event stays until a terminal one has closed it.
 */
import { canonicalJson } from '../base/canonical-json.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import type { Log } from '../base/log.ts';
import { dayMs } from '../base/timestamp.ts';
import type { Database } from '../storage/database.ts';
import type { RetentionTime } from '../storage/retention-clock.ts';
import { type Checkpointer, ownerOf } from './checkpoints.ts';
import type { AuditLimits } from './limits.ts';
import { type AuditKey, signStatement } from './statement.ts';
import { appendToChain, prepareEntry } from './store/chain-store.ts';
import { markAction } from './store/chain-walk.ts';
import type { AuditChainRow } from './store/tables.ts';
import { keepLeaves, storeTree, treesOf } from './tree/tree-store.ts';

export interface Retention {
  open(): void;
  /** Called by the access log after each commit. */
  appended(events: number): void;
  /** Marks and removes expired events; returns their number. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

const eventsPerRead = 2000;

export function createRetention(parts: {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<
    AuditLimits,
    'retention_days' | 'retention_interval_ms' | 'retention_batch' | 'access_events_max'
  >;
  readonly retention: RetentionTime;
  readonly key: AuditKey;
  readonly checkpointer: Pick<Checkpointer, 'cover'>;
}): Retention {
  return new ChainRetention(parts);
}

class ChainRetention implements Retention {
  readonly #database;
  readonly #clock;
  readonly #log;
  readonly #limits;
  readonly #key;
  readonly #checkpointer;
  readonly #bounded;
  #since = 0;
  #timer: Timer | undefined;
  readonly #retention: RetentionTime;
  #closed = false;
  #running: Promise<number> = Promise.resolve(0);

  constructor(parts: {
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
    readonly limits: Pick<
      AuditLimits,
      'retention_days' | 'retention_interval_ms' | 'retention_batch' | 'access_events_max'
    >;
    readonly retention: RetentionTime;
    readonly key: AuditKey;
    readonly checkpointer: Pick<Checkpointer, 'cover'>;
  }) {
    const { database, clock, log, limits, retention, key, checkpointer } = parts;
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#retention = retention;
    this.#key = key;
    this.#checkpointer = checkpointer;
    this.#bounded = this.#limits.access_events_max > 0;
  }

  open(): void {
    if (this.#limits.retention_days === 0 && !this.#bounded) return;
    void this.sweep();
    this.#wait();
  }

  appended(events: number): void {
    this.#since += events;
    if (!this.#bounded || this.#closed || this.#since < this.#limits.retention_batch) return;
    this.#since = 0;
    this.#clock.soon(() => void this.sweep());
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  readonly #sweepAll = async (): Promise<number> => {
    let removed = 0;
    const chains = await this.#database.query.selectFrom('audit_chain').selectAll().orderBy('chain_id').execute();
    for (const chain of chains) {
      if (this.#closed) break;
      const marked = await lastMark(this.#database, chain.chain_id);
      const unwanted = Math.max(await this.#tooOld(chain), this.#tooMany(chain, marked));
      let sequence = marked;
      if (unwanted > marked) {
        const covered = (await this.#checkpointer.cover(ownerOf(chain)))?.sequence ?? 0;
        sequence = await lastFinished(this.#database, this.#clock, chain.chain_id, Math.min(unwanted, covered));
      }
      if (sequence > marked) await mark(this.#database, chain, sequence, this.#key, this.#clock);
      const gone = await this.#remove(Math.max(sequence, marked), chain.chain_id);
      if (gone > 0) this.#log.info('audit events were removed by retention', { ...ownerOf(chain), events: gone });
      removed += gone;
    }
    return removed;
  };

  async #tooOld(chain: AuditChainRow): Promise<number> {
    return this.#limits.retention_days === 0
      ? 0
      : lastTooOld(this.#database, chain, new Date(this.#retention.nowMs() - this.#limits.retention_days * dayMs));
  }

  /** A whole batch at a time, so that not every search creates a mark. */
  #tooMany(chain: AuditChainRow, marked: number): number {
    const last = chain.sequence - this.#limits.access_events_max;
    return chain.log === 'access' && this.#bounded && last - marked >= this.#limits.retention_batch ? last : 0;
  }

  /** In batches, oldest first, so that appends are not blocked. */
  async #remove(through: number, chainId: number): Promise<number> {
    let removed = 0;
    for (;;) {
      if (this.#closed) break;
      const first = await oldestSequence(this.#database, chainId);
      if (first === null || first > through) break;
      const last = Math.min(through, first + this.#limits.retention_batch - 1);
      await this.#database.transaction(async (transaction) => {
        for (const table of ['audit_details', 'audit_event'] as const)
          await transaction.deleteFrom(table).where('chain_id', '=', chainId).where('sequence', '<=', last).execute();
      });
      removed += last - first + 1;
      await new Promise<void>((resolve) => this.#clock.soon(resolve));
    }
    return removed;
  }

  readonly sweep = (): Promise<number> => {
    if (this.#limits.retention_days === 0 && !this.#bounded) return Promise.resolve(0);
    this.#since = 0;
    this.#running = this.#running.then(this.#sweepAll).catch((error: unknown) => {
      this.#log.error('audit retention failed', { err: error });
      return 0;
    });
    return this.#running;
  };

  #wait(): void {
    this.#timer = this.#clock.after(this.#limits.retention_interval_ms, () => {
      void this.sweep();
      this.#wait();
    });
  }
}

/** The last sequence before the first event to keep; clocks may have been set back, hence every era. */
async function lastTooOld(database: Database, chain: AuditChainRow, bound: Date): Promise<number> {
  let firstKept = chain.sequence + 1;
  for (let era = chain.era; era >= 0; era--) {
    const kept = await database.query
      .selectFrom('audit_event')
      .select('sequence')
      .where('chain_id', '=', chain.chain_id)
      .where('era', '=', era)
      .where('occurred_at', '>=', bound.toISOString())
      .orderBy('occurred_at')
      .orderBy('sequence')
      .limit(1)
      .executeTakeFirst();
    if (kept !== undefined && kept.sequence < firstKept) firstKept = kept.sequence;
  }
  return firstKept - 1;
}

/** The last sequence, up to `through`, at or below which no accepted event is open. */
async function lastFinished(database: Database, clock: Clock, chainId: number, through: number): Promise<number> {
  const first = await oldestSequence(database, chainId);
  for (let from = first ?? through + 1; from <= through; from += eventsPerRead) {
    const open = await database.query
      .selectFrom('audit_event as accepted')
      .leftJoin('audit_event as closing', 'closing.accepted_event_id', 'accepted.event_id')
      .select('accepted.sequence')
      .where('accepted.chain_id', '=', chainId)
      .where('accepted.sequence', '>=', from)
      .where('accepted.sequence', '<=', Math.min(through, from + eventsPerRead - 1))
      .where('accepted.outcome', '=', 'accepted')
      .where('closing.event_id', 'is', null)
      .orderBy('accepted.sequence')
      .limit(1)
      .executeTakeFirst();
    if (open !== undefined) return open.sequence - 1;
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
  return through;
}

async function lastMark(database: Database, chainId: number): Promise<number> {
  const row = await database.query
    .selectFrom('audit_mark')
    .select('sequence')
    .where('chain_id', '=', chainId)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.sequence ?? 0;
}

async function oldestSequence(database: Database, chainId: number): Promise<number | null> {
  const row = await database.query
    .selectFrom('audit_event')
    .select('sequence')
    .where('chain_id', '=', chainId)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst();
  return row?.sequence ?? null;
}

/** The mark and its event are one: the event's details are the signed mark. */
async function mark(
  database: Database,
  chain: AuditChainRow,
  sequence: number,
  key: AuditKey,
  clock: Clock,
): Promise<void> {
  const owner = ownerOf(chain);
  const trees = await treesOf(database.query, chain.chain_id);
  /** Of each tree, the last of its events that may be removed. */
  const ends = trees.map((tree, at) => ({ tree, end: Math.min(sequence, (trees[at + 1]?.first ?? sequence + 1) - 1) }));
  for (const { tree, end } of ends) await storeTree(database, clock, tree, end);
  await database.transaction(async (transaction) => {
    // Events are removed, hashes stay.
    for (const { tree, end } of ends) await keepLeaves(transaction, tree, end);
    const { hash } = await transaction
      .selectFrom('audit_event')
      .select('hash')
      .where('chain_id', '=', chain.chain_id)
      .where('sequence', '=', sequence)
      .executeTakeFirstOrThrow();
    const wallMs = clock.wallMs();
    const issuedAt = new Date(wallMs).toISOString();
    const statement = signStatement(key, owner, { sequence, hash, issuedAt });
    const entry = prepareEntry({
      subject: { kind: 'system', subjectId: 'audit-retention' },
      action: markAction,
      resource: { kind: 'audit-log', resourceId: 'audit-log' },
      outcome: 'succeeded',
      risk: 'high',
      confirmation: 'not-required',
      correlationId: newId(),
      details: statement,
    });
    const [appended] = await appendToChain(transaction, owner.log, owner, [entry], wallMs);
    if (appended === undefined) throw new Error('an append has no result');
    await transaction
      .insertInto('audit_mark')
      .values({
        chain_id: chain.chain_id,
        sequence,
        hash,
        audited_by: appended.sequence,
        mark: canonicalJson(statement),
      })
      .execute();
  });
}
