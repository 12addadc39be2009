/**
 * Signs checkpoints while the service runs [audit §7]: after every so many events, after some time, at the
 * start and at a clean stop. Before it signs, it verifies what came since the last checkpoint, so that it never vouches
 * for a chain that was broken underneath it.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { appendLineDurably, readIfThere } from '../base/own-file.ts';
import { type ChainOwner, chainedEventOf } from '../storage/audit-chain.ts';
import type { Database } from '../storage/database.ts';
import type { AuditChainRow, AuditEventTable } from '../storage/schema.ts';
import { type ChainRecord, walkChain } from './chain-walk.ts';
import type { AuditLimits } from './limits.ts';
import { type AuditKey, keyName, readCheckpoints, signStatement } from './statement.ts';
import { nameOf } from './verify.ts';

export interface Checkpointer {
  /** Told by the logs after each commit. */
  appended(events: number): void;
  /** Reads the file and begins to sign whatever no checkpoint covers yet; for the start. */
  open(): void;
  /** Signs now whatever is not covered; the last checkpoint of a chain, or null when it has none. */
  cover(owner: ChainOwner): Promise<{ readonly sequence: number; readonly hash: string } | null>;
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
  const { database, clock, log, limits, key, file } = parts;
  const points = new Map<string, Point>();
  let since = 0;
  let running: Promise<void> = Promise.resolve();
  let timer: Timer | undefined;
  let closed = false;

  const signAll = async (): Promise<void> => {
    since = 0;
    const chains = await database.query.selectFrom('audit_chain').selectAll().orderBy('chain_id').execute();
    for (const chain of chains) {
      const owner = ownerOf(chain);
      const last = points.get(nameOf(owner));
      if (chain.sequence === 0 || (last?.sequence === chain.sequence && last.hash === chain.hash)) continue;
      const wrong = await brokenSince(database, clock, chain, last);
      if (wrong !== null) {
        log.error('audit chain broken: no checkpoints until this is resolved', {
          ...owner,
          ...wrong,
        });
        continue;
      }
      const issuedAt = new Date(clock.wallMs()).toISOString();
      const statement = signStatement(key, 'svc.audit-checkpoint.v1', owner, { ...chain, issuedAt });
      appendLineDurably(file, JSON.stringify(statement));
      points.set(nameOf(owner), { sequence: chain.sequence, hash: chain.hash });
      log.info('audit checkpoint', { checkpoint: statement });
    }
  };
  const run = (): Promise<void> => {
    running = running.then(signAll).catch((error: unknown) => {
      log.error('an audit checkpoint could not be written', { err: error });
    });
    return running;
  };
  const wait = (): void => {
    timer = clock.after(limits.checkpoint_interval_ms, () => {
      void run();
      wait();
    });
  };

  return {
    appended(events) {
      since += events;
      if (since >= limits.checkpoint_events && !closed) {
        since = 0;
        clock.soon(() => void run());
      }
    },
    open() {
      const own = keyName(key.publicKey);
      for (const statement of readCheckpoints(readIfThere(file) ?? '').statements) {
        if (statement.key !== own) continue;
        points.set(nameOf(statement), { sequence: Number(statement.sequence), hash: statement.hash });
      }
      // Not waited for: without any checkpoint this walks the whole chain.
      void run();
      wait();
    },
    async cover(owner) {
      await run();
      return points.get(nameOf(owner)) ?? null;
    },
    async close() {
      closed = true;
      timer?.cancel();
      await run();
    },
  };
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
