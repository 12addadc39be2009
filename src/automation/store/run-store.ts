/**
 * The runtime database: execution history and the durable state of rules [rules §7.5]. Written by the engine only;
 * the main thread reads history through a handle of its own.
 */
import { firstIdAt } from '../../base/id.ts';
import { blockOf, blocksOf, distinct, type RunBlock, type RunRow, rowsOf } from '../run-blocks.ts';
import { pruneSegments, putSegments, type SegmentRow } from './authority-store.ts';
import type { RuntimeDatabase } from './runtime-database.ts';

export interface StateRow {
  readonly rule_id: number;
  readonly state: string;
}

/** A claim on an action point: a priority hold, a write budget [rules §6.2]. */
export interface ClaimRow {
  /** `instance:point_type:point`. */
  readonly point: string;
  /** The claim as JSON text. */
  readonly state: string;
}

/** The rows of one transaction. */
interface StoredBatch {
  readonly rows: readonly RunRow[];
  readonly states: readonly StateRow[];
  /** Rules whose states are removed. */
  readonly gone: readonly number[];
  readonly claims: readonly ClaimRow[];
  /** Who held action points [points §7.3]. */
  readonly segments: readonly SegmentRow[];
}

export interface RunStore {
  /**
   * All or nothing. Executions have happened and are stored in any case, once, however often they are sent; states and claims
   * are those of the leader, and are not stored if another process leads by now.
   */
  append(batch: StoredBatch): Promise<void>;
  /** Stores spooled executions; existing ones do not change. */
  restore(rows: readonly RunRow[]): Promise<void>;
  states(): Promise<StateRow[]>;
  claims(): Promise<ClaimRow[]>;
  /** Keeps the newest `unchanged` unchanged runs and the newest `total` others of one rule. */
  pruneRule(ruleId: number, unchanged: number, total: number): Promise<void>;
  /** Removes at most `blocks` blocks whose runs all started before `wallMs`; returns their number. */
  pruneBefore(wallMs: number, blocks: number): Promise<number>;
  /** Removes at most `rows` segments of ownership that ended before `wallMs`; returns their number. */
  pruneSegments(wallMs: number, rows: number): Promise<number>;
}

export interface RunReader {
  /** Records of one rule as JSON texts, newest first, older than the execution `before` if given. */
  page(ruleId: number, before: string | undefined, limit: number): Promise<string[]>;
}

/** Rows per INSERT: the database limits the parameters of a statement. */
const rowsPerStatement = 100;
/** Blocks per read of a page. */
const blocksPerRead = 8;
const blockColumns = ['rule_id', 'unchanged', 'first_id', 'last_id', 'packing', 'records'] as const;

export function createRunStore(database: RuntimeDatabase): RunStore {
  return {
    append: ({ rows, states, gone, claims, segments }) =>
      database.transaction(async (transaction) => {
        await insertRuns(transaction, rows);
        if (!(await database.isCurrent(transaction))) return;
        for (const part of portions(states)) {
          await transaction
            .insertInto('rule_state')
            .values(part)
            .onConflict((on) => on.column('rule_id').doUpdateSet((set) => ({ state: set.ref('excluded.state') })))
            .execute();
        }
        for (const part of portions(claims)) {
          await transaction
            .insertInto('point_claim')
            .values(part)
            .onConflict((on) => on.column('point').doUpdateSet((set) => ({ state: set.ref('excluded.state') })))
            .execute();
        }
        for (const part of portions(segments)) await putSegments(transaction, part);
        for (const part of portions(gone))
          await transaction.deleteFrom('rule_state').where('rule_id', 'in', part).execute();
      }),
    restore: (rows) => database.transaction((transaction) => insertRuns(transaction, rows)),
    states: () => database.query.selectFrom('rule_state').select(['rule_id', 'state']).execute(),
    claims: () => database.query.selectFrom('point_claim').select(['point', 'state']).execute(),
    pruneRule: (ruleId, unchanged, total) =>
      database.transaction(async (transaction) => {
        await pruneBeyond(transaction, ruleId, 1, unchanged);
        await pruneBeyond(transaction, ruleId, 0, total);
      }),
    pruneSegments: (wallMs, rows) => pruneSegments(database, wallMs, rows),

    async pruneBefore(wallMs, blocks) {
      const result = await database.transaction((transaction) =>
        transaction
          .deleteFrom('execution_block')
          .where('seq', 'in', (on) =>
            on
              .selectFrom('execution_block')
              .select('seq')
              .where('last_id', '<', firstIdAt(wallMs))
              .orderBy('last_id')
              .limit(blocks),
          )
          .executeTakeFirst(),
      );
      return Number(result.numDeletedRows);
    },
  };
}

/** Whether there are executions or owners of points, which retention removes. */
export async function holdsRuns({ query }: RuntimeDatabase): Promise<boolean> {
  const block = await query.selectFrom('execution_block').select('seq').limit(1).executeTakeFirst();
  const owner = await query.selectFrom('point_owner').select('point').limit(1).executeTakeFirst();
  return block !== undefined || owner !== undefined;
}

type Queries = RuntimeDatabase['query'];

/**
 * Each run once: a transaction whose answer was lost is repeated. Spooled runs arrive late, between existing
 * ones: blocks that overlap them in time are repacked with them, so that blocks stay disjoint.
 */
async function insertRuns(transaction: Queries, rows: readonly RunRow[]): Promise<void> {
  const groups = Map.groupBy(rows, ({ rule_id, unchanged }) => `${rule_id} ${unchanged}`);
  const fresh = [...groups.values()].map(distinct);
  const replaced: number[] = [];
  const blocks: RunBlock[] = [];
  for (const part of portions(fresh)) {
    const near = await overlapping(transaction, part);
    for (const group of part) {
      const [first, last] = [group[0], group.at(-1)];
      if (first === undefined || last === undefined) continue;
      const there = near.filter(
        (block) =>
          block.rule_id === first.rule_id &&
          block.unchanged === Number(first.unchanged) &&
          block.first_id <= last.execution_id &&
          block.last_id >= first.execution_id,
      );
      replaced.push(...there.map(({ seq }) => seq));
      blocks.push(...blocksOf(there.length === 0 ? group : distinct([...there.flatMap(rowsOf), ...group])));
    }
  }
  for (const part of portions(replaced))
    await transaction.deleteFrom('execution_block').where('seq', 'in', part).execute();
  for (const part of portions(blocks)) await transaction.insertInto('execution_block').values(part).execute();
}

/** Blocks of the same rules and kinds that reach into the time of these runs. */
async function overlapping(transaction: Queries, groups: readonly (readonly RunRow[])[]) {
  const ids = groups.flat().map(({ execution_id }) => execution_id);
  const [least, most] = [ids.reduce((a, b) => (a < b ? a : b), '~'), ids.reduce((a, b) => (a > b ? a : b), '')];
  return transaction
    .selectFrom('execution_block')
    .select(['seq', ...blockColumns])
    .where(
      'rule_id',
      'in',
      groups.map(([row]) => row?.rule_id ?? 0),
    )
    .where('unchanged', 'in', [0, 1])
    .where('last_id', '>=', least)
    .where('first_id', '<=', most)
    .execute();
}

/**
 * Newest is what was stored last: by their ids, runs of a clock that was ahead would crowd out all later ones.
 * Of the block at the limit, only the newest runs stay, in its place.
 */
async function pruneBeyond(transaction: Queries, ruleId: number, unchanged: 0 | 1, keep: number): Promise<void> {
  const ofKind = transaction
    .selectFrom('execution_block')
    .where('rule_id', '=', ruleId)
    .where('unchanged', '=', unchanged);
  const beyond = await transaction
    .selectFrom(
      ofKind
        .select((on) => [
          'seq',
          on.fn
            .sum<number | string>('runs')
            .over((over) => over.orderBy('seq', 'desc'))
            .as('total'),
        ])
        .as('counted'),
    )
    .select(['seq', 'total'])
    .where('total', '>', keep)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (beyond === undefined) return;
  const { seq, total } = beyond;
  const block = await ofKind.select(blockColumns).where('seq', '=', seq).executeTakeFirstOrThrow();
  await transaction
    .deleteFrom('execution_block')
    .where('rule_id', '=', ruleId)
    .where('unchanged', '=', unchanged)
    .where('seq', '<=', seq)
    .execute();
  const kept = rowsOf(block).slice(Number(total) - keep);
  if (kept.length > 0)
    await transaction
      .insertInto('execution_block')
      .values({ seq, ...blockOf(kept) })
      .execute();
}

export function createRunReader(database: RuntimeDatabase): RunReader {
  return {
    async page(ruleId, before, limit) {
      const rows: RunRow[] = [];
      for (const unchanged of [0, 1] as const)
        rows.push(...(await newestRuns(database.query, ruleId, unchanged, before, limit)));
      return distinct(rows)
        .toReversed()
        .slice(0, limit)
        .map(({ record }) => record);
    },
  };
}

/** The newest runs of one kind, at least `limit` if there are as many, whether or not the run at the cursor still exists. */
async function newestRuns(
  query: Queries,
  ruleId: number,
  unchanged: 0 | 1,
  before: string | undefined,
  limit: number,
): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  if (before !== undefined) {
    const [block] = await blocksFrom(query, ruleId, unchanged, before).limit(1).execute();
    if (block !== undefined) rows.push(...rowsOf(block).filter(({ execution_id }) => execution_id < before));
  }
  for (let cursor = before; rows.length < limit; ) {
    const blocks = await blocksBefore(query, ruleId, unchanged, cursor).limit(blocksPerRead).execute();
    for (const block of blocks) rows.push(...rowsOf(block));
    cursor = blocks.at(-1)?.last_id;
    if (cursor === undefined) break;
  }
  return rows;
}

/** Blocks that lie wholly before the cursor, the newest first. */
export function blocksBefore(query: Queries, ruleId: number, unchanged: 0 | 1, cursor: string | undefined) {
  return ofKindOf(query, ruleId, unchanged)
    .$if(cursor !== undefined, (older) => older.where('last_id', '<', cursor ?? ''))
    .orderBy('last_id', 'desc');
}

/** Blocks that end at the cursor or later, the oldest first: only the first one may hold runs before it. */
function blocksFrom(query: Queries, ruleId: number, unchanged: 0 | 1, cursor: string) {
  return ofKindOf(query, ruleId, unchanged).where('last_id', '>=', cursor).orderBy('last_id');
}

function ofKindOf(query: Queries, ruleId: number, unchanged: 0 | 1) {
  return query
    .selectFrom('execution_block')
    .select(blockColumns)
    .where('rule_id', '=', ruleId)
    .where('unchanged', '=', unchanged);
}

function portions<T>(list: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let from = 0; from < list.length; from += rowsPerStatement)
    parts.push(list.slice(from, from + rowsPerStatement));
  return parts;
}
