/** States and changes of alarms, and the position of each notification receiver. */
import type { Database, Transaction } from '../../storage/database.ts';
import type { AlarmActor, AlarmState, AlarmStateName } from '../alarm-state.ts';

/** A change of an alarm with its new state. */
export interface AlarmChange {
  readonly alarm: AlarmState;
  /** Wall milliseconds. */
  readonly atMs: number;
  readonly by: AlarmActor | null;
  readonly reason: string | null;
}

export interface AlarmEntry {
  readonly sequence: number;
  readonly id: string;
  readonly state: AlarmStateName;
  readonly atMs: number;
  readonly by: AlarmActor | null;
  readonly reason: string | null;
}

export interface AlarmStore {
  all(): Promise<AlarmState[]>;
  /** Stores changes made during an outage, and current states, also of alarms whose changes were dropped. */
  put(changes: readonly AlarmChange[], alarms?: readonly AlarmState[]): Promise<void>;
  /** Reads the stored alarms `ids`, applies `step` and stores the result, all or nothing. */
  change(
    ids: readonly string[],
    step: (stored: ReadonlyMap<string, AlarmState>) => readonly AlarmChange[],
  ): Promise<readonly AlarmChange[]>;
  /** The newest `limit` changes in `[fromMs, toMs)`, the oldest first. */
  between(fromMs: number, toMs: number, limit: number): Promise<AlarmEntry[]>;
  /** Changes after `sequence`, the oldest first; at most `limit`. */
  after(sequence: number, limit: number): Promise<AlarmEntry[]>;
  lastSequence(): Promise<number>;
  /** Removes changes before `wallMs`, and beyond the newest `rows`. */
  prune(wallMs: number, rows: number): Promise<void>;
  /** Records that a process leads, or has shut down cleanly; returns the previous record. */
  control(controlling: boolean): Promise<boolean>;
  /** The last position that a receiver has accepted; null for a new one. */
  taken(receiver: string): Promise<number | null>;
  take(receiver: string, sequence: number): Promise<void>;
}

/** Rows per statement: SQLite limits its parameters. */
const rowsPerStatement = 500;

export function createAlarmStore(database: Database): AlarmStore {
  const entries = () =>
    database.query.selectFrom('alarm_history').select(['sequence', 'id', 'state', 'at_ms', 'actor', 'reason']);
  return {
    async all() {
      const rows = await database.query.selectFrom('alarm').select('state').orderBy('id').execute();
      return rows.map(({ state }) => stateOf(state));
    },
    put: (changes, alarms = []) => database.transaction((transaction) => write(transaction, changes, alarms)),
    change: (ids, step) =>
      database.transaction(async (transaction) => {
        const changes = step(await stored(transaction, ids));
        await write(transaction, changes, []);
        return changes;
      }),
    async between(fromMs, toMs, limit) {
      const rows = await entries()
        .where('at_ms', '>=', fromMs)
        .where('at_ms', '<', toMs)
        .orderBy('sequence', 'desc')
        .limit(limit)
        .execute();
      return rows.map(entryOf).reverse();
    },
    async after(sequence, limit) {
      const rows = await entries().where('sequence', '>', sequence).orderBy('sequence').limit(limit).execute();
      return rows.map(entryOf);
    },
    async lastSequence() {
      const row = await database.query.selectFrom('alarm_account').select('last').executeTakeFirst();
      return row?.last ?? 0;
    },
    prune: (wallMs, rows) =>
      database.transaction(async (transaction) => {
        const { last } = await lock(transaction);
        await transaction
          .deleteFrom('alarm_history')
          .where((column) => column.or([column('at_ms', '<', wallMs), column('sequence', '<=', last - rows)]))
          .execute();
      }),
    control: (controlling) =>
      database.transaction(async (transaction) => {
        const before = await lock(transaction);
        await transaction
          .updateTable('alarm_account')
          .set({ controlling: controlling ? 1 : 0 })
          .execute();
        return before.controlling !== 0;
      }),
    async taken(receiver) {
      const row = await database.query
        .selectFrom('alarm_receiver')
        .select('sequence')
        .where('receiver', '=', receiver)
        .executeTakeFirst();
      return row?.sequence ?? null;
    },
    take: (receiver, sequence) =>
      database.transaction(async (transaction) => {
        await transaction
          .insertInto('alarm_receiver')
          .values({ receiver, sequence })
          .onConflict((on) => on.column('receiver').doUpdateSet({ sequence }))
          .execute();
      }),
  };
}

/** One writer at a time: the order of the sequence is that of the commits. */
async function lock(transaction: Transaction): Promise<{ readonly last: number; readonly controlling: number }> {
  await transaction
    .insertInto('alarm_account')
    .values({ one: 1, last: 0, controlling: 0 })
    .onConflict((on) => on.column('one').doUpdateSet((set) => ({ one: set.ref('excluded.one') })))
    .execute();
  return transaction.selectFrom('alarm_account').select(['last', 'controlling']).executeTakeFirstOrThrow();
}

async function stored(transaction: Transaction, ids: readonly string[]): Promise<ReadonlyMap<string, AlarmState>> {
  await lock(transaction);
  const found: AlarmState[] = [];
  for (let from = 0; from < ids.length; from += rowsPerStatement) {
    const part = ids.slice(from, from + rowsPerStatement);
    const rows = await transaction.selectFrom('alarm').select('state').where('id', 'in', part).execute();
    found.push(...rows.map(({ state }) => stateOf(state)));
  }
  return new Map(found.map((alarm) => [alarm.id, alarm]));
}

async function write(
  transaction: Transaction,
  changes: readonly AlarmChange[],
  alarms: readonly AlarmState[],
): Promise<void> {
  if (changes.length + alarms.length === 0) return;
  const { last } = await lock(transaction);
  const newest = new Map([...changes.map(({ alarm }) => alarm), ...alarms].map((alarm) => [alarm.id, alarm]));
  const states = [...newest.values()].map((alarm) => ({ id: alarm.id, state: JSON.stringify(alarm) }));
  const rows = changes.map(({ alarm, atMs, by, reason }, position) => ({
    sequence: last + position + 1,
    id: alarm.id,
    state: alarm.state,
    at_ms: atMs,
    actor: by === null ? null : JSON.stringify(by),
    reason,
  }));
  for (let from = 0; from < states.length; from += rowsPerStatement)
    await transaction
      .insertInto('alarm')
      .values(states.slice(from, from + rowsPerStatement))
      .onConflict((on) => on.column('id').doUpdateSet((set) => ({ state: set.ref('excluded.state') })))
      .execute();
  for (let from = 0; from < rows.length; from += rowsPerStatement)
    await transaction
      .insertInto('alarm_history')
      .values(rows.slice(from, from + rowsPerStatement))
      .execute();
  await transaction
    .updateTable('alarm_account')
    .set({ last: last + rows.length })
    .execute();
}

/** Only this store writes these rows: they are trusted. Older rows have no threshold. */
function stateOf(text: string): AlarmState {
  return { threshold: null, ...(JSON.parse(text) as Omit<AlarmState, 'threshold'>) };
}

function entryOf(row: {
  readonly sequence: number;
  readonly id: string;
  readonly state: string;
  readonly at_ms: number;
  readonly actor: string | null;
  readonly reason: string | null;
}): AlarmEntry {
  const by = row.actor === null ? null : (JSON.parse(row.actor) as AlarmActor);
  const { sequence, id, at_ms: atMs, reason } = row;
  return { sequence, id, state: row.state as AlarmStateName, atMs, by, reason };
}
