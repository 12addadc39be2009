/**
 * The runtime database: execution history and the durable state of rules (decisions §2.5). Written by the engine only;
 * the main thread reads history through a handle of its own.
 */
import type { RuntimeDatabase } from '../storage/database.ts';

export interface HistoryRow {
  readonly execution_id: string;
  readonly rule_id: number;
  readonly started_at: string;
  readonly outcome: string;
  /** A `no_action` or `skipped` run whose predecessor ended the same way. */
  readonly unchanged: boolean;
  /** The execution record as JSON text. */
  readonly record: string;
}

export interface StateRow {
  readonly rule_id: number;
  readonly state: string;
}

/** A claim on an action point: a priority hold, a write budget (decisions §6, "Arbitration state"). */
export interface ClaimRow {
  /** `instance:point_type:point`. */
  readonly point: string;
  /** The claim as JSON text. */
  readonly state: string;
}

/** What is stored in one transaction. */
export interface StoredBatch {
  readonly rows: readonly HistoryRow[];
  readonly states: readonly StateRow[];
  /** Rules whose states are removed. */
  readonly gone: readonly number[];
  readonly claims: readonly ClaimRow[];
}

export interface HistoryStore {
  /**
   * All or nothing. Executions have happened and are stored in any case, once, however often they come; states and claims
   * are those of the process that controls, and are left alone when that is another one by now.
   */
  append(batch: StoredBatch): Promise<void>;
  /** Stores executions that were kept elsewhere meanwhile; those that are there already stay as they are. */
  restore(rows: readonly HistoryRow[]): Promise<void>;
  states(): Promise<StateRow[]>;
  claims(): Promise<ClaimRow[]>;
  /** Keeps the newest `unchanged` unchanged runs and the newest `total` others of one rule. */
  pruneRule(ruleId: number, unchanged: number, total: number): Promise<void>;
  /** Removes at most `rows` runs that started before `startedAt`; returns how many. */
  pruneBefore(startedAt: string, rows: number): Promise<number>;
}

export interface HistoryReader {
  /** Records of one rule as JSON texts, newest first, older than the execution `before` when it is given. */
  page(ruleId: number, before: string | undefined, limit: number): Promise<string[]>;
}

/** Rows of one INSERT: the database bounds the parameters of a statement. */
const rowsPerStatement = 100;

export function createHistoryStore(database: RuntimeDatabase): HistoryStore {
  return {
    append: ({ rows, states, gone, claims }) =>
      database.transaction(async (within) => {
        await insertOnce(within, rows);
        if (!(await database.isCurrent(within))) return;
        for (const part of portions(states)) {
          await within
            .insertInto('rule_state')
            .values(part)
            .onConflict((on) => on.column('rule_id').doUpdateSet((set) => ({ state: set.ref('excluded.state') })))
            .execute();
        }
        for (const part of portions(claims)) {
          await within
            .insertInto('point_claim')
            .values(part)
            .onConflict((on) => on.column('point').doUpdateSet((set) => ({ state: set.ref('excluded.state') })))
            .execute();
        }
        for (const part of portions(gone)) await within.deleteFrom('rule_state').where('rule_id', 'in', part).execute();
      }),
    restore: (rows) => database.transaction((within) => insertOnce(within, rows)),
    states: () => database.query.selectFrom('rule_state').select(['rule_id', 'state']).execute(),
    claims: () => database.query.selectFrom('point_claim').select(['point', 'state']).execute(),
    async pruneRule(ruleId, unchanged, total) {
      await pruneBeyond(database, ruleId, 1, unchanged);
      await pruneBeyond(database, ruleId, 0, total);
    },
    async pruneBefore(startedAt, rows) {
      const result = await database.transaction((within) =>
        within
          .deleteFrom('execution')
          .where('seq', 'in', (on) =>
            // By age, as the index is: in order of `seq` the whole table would be read when nothing is old enough.
            on
              .selectFrom('execution')
              .select('seq')
              .where('started_at', '<', startedAt)
              .orderBy('started_at')
              .limit(rows),
          )
          .executeTakeFirst(),
      );
      return Number(result.numDeletedRows);
    },
  };
}

/** Those that are there already stay as they are: a transaction whose answer was lost is done again. */
async function insertOnce(within: RuntimeDatabase['query'], rows: readonly HistoryRow[]): Promise<void> {
  for (const part of portions(rows)) {
    await within
      .insertInto('execution')
      .values(part.map((row) => ({ ...row, unchanged: row.unchanged ? 1 : 0 })))
      .onConflict((on) => on.column('execution_id').doNothing())
      .execute();
  }
}

async function pruneBeyond(database: RuntimeDatabase, ruleId: number, unchanged: 0 | 1, keep: number): Promise<void> {
  await database.transaction((within) =>
    within
      .deleteFrom('execution')
      .where('rule_id', '=', ruleId)
      .where('unchanged', '=', unchanged)
      .where('seq', '<=', (on) =>
        on
          .selectFrom('execution')
          .select('seq')
          .where('rule_id', '=', ruleId)
          .where('unchanged', '=', unchanged)
          .orderBy('seq', 'desc')
          .limit(1)
          .offset(keep),
      )
      .execute(),
  );
}

export function createHistoryReader(database: RuntimeDatabase): HistoryReader {
  return {
    async page(ruleId, before, limit) {
      const rows = await newestOf(database.query, ruleId, before).select('record').limit(limit).execute();
      return rows.map((row) => row.record);
    },
  };
}

/**
 * Ids sort by time, so that a page begins where its cursor would lie, also when retention removed that run meanwhile; and
 * runs that were stored late (`restore`) stand where they belong.
 */
export function newestOf(query: RuntimeDatabase['query'], ruleId: number, before: string | undefined) {
  return query
    .selectFrom('execution')
    .where('rule_id', '=', ruleId)
    .$if(before !== undefined, (older) => older.where('execution_id', '<', before ?? ''))
    .orderBy('execution_id', 'desc');
}

function portions<T>(list: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let from = 0; from < list.length; from += rowsPerStatement)
    parts.push(list.slice(from, from + rowsPerStatement));
  return parts;
}
