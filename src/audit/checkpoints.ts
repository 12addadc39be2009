/**
 * Signs checkpoints while the service runs [audit §7]: after every so many events, after some time, at the
 * start and at a clean stop. Before it signs, it verifies what came since the last checkpoint, so that it never vouches
 * for a chain that was broken underneath it.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { appendLineDurably, readIfThere } from '../base/own-file.ts';
import type { Database } from '../storage/database.ts';
import type { AuditLimits } from './limits.ts';
import { type AuditKey, keyName, readCheckpoints, signStatement } from './statement.ts';
import { type ChainOwner, chainedEventOf } from './store/chain.ts';
import { type ChainRecord, walkChain } from './store/chain-walk.ts';
import type { AuditChainRow, AuditEventTable } from './store/tables.ts';
import { nameOf } from './verify.ts';

export interface Checkpointer {
  /** Told by the logs after each commit. */
  appended(events: number): void;
  /** Reads the file and begins to sign whatever no checkpoint covers yet; for the start. */
  open(): void;
  /** Signs now whatever is not covered; the last checkpoint of a chain, or null when it has none. */
  cover(owner: ChainOwner): Promise<{ readonly sequence: number; readonly hash: string } | null>;
  /** Whether a chain did not continue what was signed when it was last looked at. */
  broken(): boolean;
  /** The last checkpoints of a clean stop. */
  close(): Promise<void>;
}

interface Point {
  readonly sequence: number;
  readonly hash: string;
}

const eventsPerRead = 1000;

export function createCheckpointer(parts: {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<AuditLimits, 'checkpoint_events' | 'checkpoint_interval_ms'>;
  readonly key: AuditKey;
  /** The checkpoint file. */
  readonly file: string;
}): Checkpointer {
  return new ChainCheckpointer(parts);
}

class ChainCheckpointer implements Checkpointer {
  readonly #database;
  readonly #clock;
  readonly #log;
  readonly #limits;
  readonly #key;
  readonly #file;
  readonly #points = new Map<string, Point>();
  #since = 0;
  #running: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #closed = false;
  #broken = false;

  constructor(parts: {
    readonly database: Database;
    readonly clock: Clock;
    readonly log: Log;
    readonly limits: Pick<AuditLimits, 'checkpoint_events' | 'checkpoint_interval_ms'>;
    readonly key: AuditKey;
    /** The checkpoint file. */
    readonly file: string;
  }) {
    const { database, clock, log, limits, key, file } = parts;
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
    this.#key = key;
    this.#file = file;
  }

  appended(events: number): void {
    this.#since += events;
    if (this.#since >= this.#limits.checkpoint_events && !this.#closed) {
      this.#since = 0;
      this.#clock.soon(() => void this.#run());
    }
  }

  open(): void {
    const own = keyName(this.#key.publicKey);
    for (const statement of readCheckpoints(readIfThere(this.#file) ?? '').statements) {
      if (statement.key !== own) continue;
      this.#points.set(nameOf(statement), { sequence: Number(statement.sequence), hash: statement.hash });
    }
    // Not waited for: without any checkpoint this walks the whole chain.
    void this.#run();
    this.#wait();
  }

  async cover(owner: ChainOwner): Promise<{ readonly sequence: number; readonly hash: string } | null> {
    await this.#run();
    return this.#points.get(nameOf(owner)) ?? null;
  }

  broken(): boolean {
    return this.#broken;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#run();
  }

  readonly #signAll = async (): Promise<void> => {
    this.#since = 0;
    let broken = false;
    const chains = await this.#database.query.selectFrom('audit_chain').selectAll().orderBy('chain_id').execute();
    for (const chain of chains) {
      const owner = ownerOf(chain);
      const last = this.#points.get(nameOf(owner));
      if (chain.sequence === 0 || (last?.sequence === chain.sequence && last.hash === chain.hash)) continue;
      const wrong = await brokenSince(this.#database, this.#clock, chain, last);
      if (wrong !== null) {
        broken = true;
        this.#log.error('audit chain broken: no checkpoints until this is resolved', {
          ...owner,
          ...wrong,
        });
        continue;
      }
      const issuedAt = new Date(this.#clock.wallMs()).toISOString();
      const statement = signStatement(this.#key, 'svc.audit-checkpoint.v1', owner, { ...chain, issuedAt });
      appendLineDurably(this.#file, JSON.stringify(statement));
      this.#points.set(nameOf(owner), { sequence: chain.sequence, hash: chain.hash });
      this.#log.info('audit checkpoint', { checkpoint: statement });
    }
    this.#broken = broken;
  };

  #run(): Promise<void> {
    this.#running = this.#running.then(this.#signAll).catch((error: unknown) => {
      this.#log.error('cannot write an audit checkpoint', { err: error });
    });
    return this.#running;
  }

  #wait(): void {
    this.#timer = this.#clock.after(this.#limits.checkpoint_interval_ms, () => {
      void this.#run();
      this.#wait();
    });
  }
}

export function ownerOf(chain: Pick<AuditChainRow, 'log' | 'tenant_id' | 'project_id'>): ChainOwner {
  return { log: chain.log, tenantId: chain.tenant_id, projectId: chain.project_id };
}

/** What is wrong with the events behind the last checkpoint, up to the head; null when nothing is. */
async function brokenSince(
  database: Database,
  clock: Clock,
  chain: AuditChainRow,
  last: Point | undefined,
): Promise<{ readonly sequence: number; readonly reason: string } | null> {
  if (last !== undefined && last.sequence >= chain.sequence) {
    const reason = `it ends at ${chain.sequence}, its last checkpoint is of ${last.sequence}`;
    return { sequence: chain.sequence + 1, reason };
  }
  const after = last ?? (await oldest(database, chain.chain_id));
  const walk = walkChain({ owner: ownerOf(chain), anchors: [], mark: null, after, last: chain.sequence });
  for (let from = after.sequence; from < chain.sequence; from += eventsPerRead) {
    const rows = await database.query
      .selectFrom('audit_event')
      .selectAll()
      .where('chain_id', '=', chain.chain_id)
      .where('sequence', '>', from)
      .where('sequence', '<=', Math.min(from + eventsPerRead, chain.sequence))
      .orderBy('sequence')
      .execute();
    for (const row of rows) walk.add(recordOf(row));
    await new Promise<void>((resolve) => clock.soon(resolve));
  }
  return walk.finish(chain).broken;
}

/** Where the stored events begin: behind what retention removed. */
async function oldest(database: Database, chainId: number): Promise<Point> {
  const row = await database.query
    .selectFrom('audit_event')
    .select(['sequence', 'previous_hash'])
    .where('chain_id', '=', chainId)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst();
  return { sequence: (row?.sequence ?? 1) - 1, hash: row?.previous_hash ?? '' };
}

function recordOf(row: AuditEventTable): ChainRecord {
  return {
    event: chainedEventOf(row),
    hash: row.hash,
    details: undefined,
    era: row.era,
  };
}
