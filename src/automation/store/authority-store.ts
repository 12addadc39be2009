/** Overrides and limits in force, and the ownership history of each action point. */
import { Fault } from '../../base/fault.ts';
import type { Grant } from '../../rules/authority.ts';
import type { OwnerSegment } from '../../rules/ownership.ts';
import type { RuntimeDatabase } from './runtime-database.ts';

/** A grant that expired. */
export interface EndedGrant {
  readonly grant: Grant;
  /** Wall milliseconds. */
  readonly endedMs: number;
}

/** A segment of ownership as it is stored. */
export interface SegmentRow {
  /** `instance:action:point`. */
  readonly point: string;
  readonly from_ms: number;
  readonly to_ms: number | null;
  /** Owner, value and contenders as JSON text. */
  readonly state: string;
}

export interface AuthorityStore {
  /**
   * Durable when it resolves, also against power loss; the grants `gone` are removed with it. If the sync to the disk fails, the previous
   * grants are restored and the promise rejects.
   */
  put(grant: Grant, gone: readonly string[]): Promise<void>;
  /** Likewise. */
  remove(ids: readonly string[]): Promise<void>;
}

export interface AuthorityReader {
  /** Segments that reach into `[fromMs, toMs)`, the oldest first; at most `limit`. */
  segments(point: string, fromMs: number, toMs: number, limit: number): Promise<SegmentRow[]>;
}

type Queries = RuntimeDatabase['query'];

export function createAuthorityStore(database: RuntimeDatabase): AuthorityStore {
  const change = async (ids: readonly string[], work: (transaction: Queries) => Promise<unknown>): Promise<void> => {
    const before = await database.transaction(async (transaction) => {
      if (!(await database.isCurrent(transaction)))
        throw new Fault('engine-unavailable', 'another process controls the site by now; try again');
      const stored = ids.length === 0 ? [] : await storedGrants(transaction, ids);
      await work(transaction);
      return stored;
    });
    try {
      // Somebody may rely on the state of the actuator, whatever happens next.
      database.sync();
    } catch (error) {
      // A refused grant must not come into force at the next start of the engine.
      await database.transaction(async (transaction) => {
        await removeGrants(transaction, ids);
        if (before.length > 0) await transaction.insertInto('point_grant').values(before).execute();
      });
      throw error;
    }
  };
  return {
    put: (grant, gone) =>
      change([grant.id, ...gone], async (transaction) => {
        await removeGrants(transaction, gone);
        await transaction
          .insertInto('point_grant')
          .values({ id: grant.id, state: JSON.stringify(grant) })
          .execute();
      }),
    remove: (ids) => change(ids, (transaction) => removeGrants(transaction, ids)),
  };
}

function storedGrants(transaction: Queries, ids: readonly string[]) {
  return transaction.selectFrom('point_grant').selectAll().where('id', 'in', ids).execute();
}

async function removeGrants(transaction: Queries, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await transaction.deleteFrom('point_grant').where('id', 'in', ids).execute();
}

/** The initial state of an engine: grants, and the open ownership segments. */
export async function readAuthority(
  database: RuntimeDatabase,
): Promise<{ readonly grants: readonly Grant[]; readonly open: readonly SegmentRow[] }> {
  const rows = await database.query.selectFrom('point_grant').select('state').orderBy('id').execute();
  const open = await database.query
    .selectFrom('point_owner')
    .select(['point', 'from_ms', 'to_ms', 'state'])
    .where('to_ms', 'is', null)
    .orderBy('from_ms')
    .execute();
  return { grants: rows.map(({ state }) => JSON.parse(state) as Grant), open };
}

/** Stores segments by point and start; the newest version replaces an existing one. */
export async function putSegments(transaction: Queries, rows: readonly SegmentRow[]): Promise<void> {
  if (rows.length === 0) return;
  await transaction
    .insertInto('point_owner')
    .values([...rows])
    .onConflict((on) =>
      on
        .columns(['point', 'from_ms'])
        .doUpdateSet((set) => ({ to_ms: set.ref('excluded.to_ms'), state: set.ref('excluded.state') })),
    )
    .execute();
}

/** Only the engine writes these rows: their state is trusted. */
export function segmentOf({ from_ms: fromMs, to_ms: toMs, state }: SegmentRow): OwnerSegment {
  return { ...(JSON.parse(state) as Omit<OwnerSegment, 'fromMs' | 'toMs'>), fromMs, toMs };
}

/** Removes at most `rows` segments that ended before `wallMs`; returns their number. */
export async function pruneSegments(database: RuntimeDatabase, wallMs: number, rows: number): Promise<number> {
  return database.transaction(async (transaction) => {
    const old = await transaction
      .selectFrom('point_owner')
      .select(['point', 'from_ms'])
      .where('to_ms', '<', wallMs)
      .orderBy('to_ms')
      .limit(rows)
      .execute();
    for (const { point, from_ms: fromMs } of old)
      await transaction.deleteFrom('point_owner').where('point', '=', point).where('from_ms', '=', fromMs).execute();
    return old.length;
  });
}

export function createAuthorityReader(database: RuntimeDatabase): AuthorityReader {
  return {
    segments(point, fromMs, toMs, limit) {
      return database.query
        .selectFrom('point_owner')
        .select(['point', 'from_ms', 'to_ms', 'state'])
        .where('point', '=', point)
        .where('from_ms', '<', toMs)
        .where((column) => column.or([column('to_ms', 'is', null), column('to_ms', '>', fromMs)]))
        .orderBy('from_ms')
        .limit(limit)
        .execute();
    },
  };
}
