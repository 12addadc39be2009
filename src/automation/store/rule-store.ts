/**
 * The rules table [rules §1.1], and its only writer. Every change increments the row's revision and stores it [rules §1.4], so
 * (id, revision) always identifies the same content; ids are never reused [rules §1.1].
 */
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { nextTurn } from '../../base/turns.ts';
import { emptyTopologyText } from '../../rules/serialise.ts';
import type { Database, Transaction } from '../../storage/database.ts';
import type { EngineRule } from '../engine-contract.ts';
import { KeptReads } from './kept-reads.ts';
import { keepRevision, newestRevision, type RuleAct, revisionInsert } from './revision-store.ts';
import type { RuleRow } from './rule-table.ts';

/** One rule in a list, without its documents, which may be large. */
export type RuleSummary = Pick<RuleRow, 'id' | 'name' | 'description' | 'key' | 'enabled' | 'mode' | 'priority'>;

export type RuleHead = Pick<RuleRow, 'id' | 'revision' | 'enabled' | 'priority'>;

interface RuleFilter {
  readonly enabled?: boolean | undefined;
  readonly mode?: RuleRow['mode'] | undefined;
  /** Part of the name, description or key, case-insensitive. */
  readonly search?: string | undefined;
}

interface RuleList {
  readonly rows: readonly RuleSummary[];
  /** Of all pages. */
  readonly total: number;
}

/** New column values; absent ones do not change. */
export interface RuleChanges {
  readonly name?: string;
  /** For a rule without a key; throws `invalid-input` if it has another one, or another rule has this one. */
  readonly key?: string;
  readonly description?: string | null;
  readonly priority?: number;
  readonly cooldown_ms?: number;
  readonly trigger_config?: string | null;
  /** Both flow columns, always together. */
  readonly flow?: { readonly flow_json: string | null; readonly nodes_json: string };
  readonly tests?: string | null;
  readonly enabled?: boolean;
  readonly mode?: RuleRow['mode'];
}

/** A rule to be stored, disabled unless its columns say otherwise; absent columns have the defaults of a new rule. */
export interface NewRule extends RuleChanges {
  readonly name: string;
}

export interface RuleStore {
  list(filter: RuleFilter, page: number, pageSize: number): Promise<RuleList>;
  get(id: number): Promise<RuleRow | null>;
  /** Throws `invalid-input` if the maximum number of rules is reached. */
  create(rule: NewRule, act: RuleAct): Promise<RuleRow>;
  /** Throws `not-found`, or `revision-conflict` if `expected` is given and is not the row's revision. */
  update(id: number, changes: RuleChanges, act: RuleAct, expected?: number): Promise<RuleUpdate>;
  /** As `update`; a rule that was deleted is stored again under its own id, disabled. */
  restore(id: number, content: NewRule, act: RuleAct, expected?: number): Promise<RuleRestored>;
  /** Throws as `update` does. */
  remove(id: number, act: RuleAct, expected?: number): Promise<RuleRow>;
  /** Rules with a key, by key. */
  keyed(): Promise<RuleRow[]>;
  /**
   * Applies a plan as a whole, or throws as `create`, `update` and `remove` do and changes nothing. Every rule that the plan
   * names and does not delete is owned by its file from then on. Returns the resulting rows, and deleted ones in their last state.
   */
  apply(steps: readonly PlanStep[], act: RuleAct): Promise<RuleRow[]>;
  /** All rules with their revisions, as a reload compares them, in loading order. */
  heads(): Promise<RuleHead[]>;
  engineRules(ids: readonly number[]): Promise<EngineRule[]>;
  /** Names of rules; without deleted ones. */
  names(ids: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** Every row, by id, for export and import. */
  all(): Promise<RuleRow[]>;
}

/** The change of one rule in a plan; `revision` is the one for which the plan was made. */
export type PlanStep =
  | { readonly action: 'create'; readonly content: NewRule }
  | { readonly action: 'change'; readonly id: number; readonly revision: number; readonly content: RuleChanges }
  | { readonly action: 'delete' | 'unchanged'; readonly id: number; readonly revision: number };

export interface RuleUpdate {
  readonly before: RuleRow;
  readonly after: RuleRow;
}

interface RuleRestored {
  /** Null if the rule had been deleted. */
  readonly before: RuleRow | null;
  readonly after: RuleRow;
}

/** Ids per query. */
const idsPerQuery = 500;
/** Added to the characters of each cached list. */
const listCharacters = 1000;
/** Heads read in one turn of this thread. */
const headsPerQuery = 1000;

export function createRuleStore(database: Database, clock: Clock, rulesMax: number): RuleStore {
  const now = (): string => new Date(clock.wallMs()).toISOString();
  const version = (): number | null => database.version();
  const kept = new KeptReads(version, charactersOf);
  const keptLists = new KeptReads(version, charactersOfList);
  return {
    list: (filter, page, pageSize) =>
      keptLists.get(JSON.stringify([filter.enabled, filter.mode, filter.search, page, pageSize]), () =>
        readList(database, filter, page, pageSize),
      ),
    get: (id) => kept.get(id, () => findRow(database.query, id)),
    create: (rule, act) => database.transaction((transaction) => insertRule(transaction, rule, now(), rulesMax, act)),
    async update(id, changes, act, expected) {
      const known = database.batch === null ? null : await kept.get(id, () => findRow(database.query, id));
      const updated = known === null ? null : await updateKnown(database, known, changes, now(), act, expected);
      if (updated !== null) return updated;
      return database.transaction((transaction) => updateRow(transaction, id, changes, now(), act, expected));
    },
    restore: (id, content, act, expected) =>
      database.transaction(async (transaction) => {
        const before = await findRow(transaction, id);
        const { key: _, ...others } = content;
        if (before !== null) return updateRow(transaction, id, others, now(), act, expected);
        const newest = await newestRevision(transaction, id);
        if (newest === null) throw noRule(id);
        checkRevision({ id, revision: newest }, expected);
        const place = { id, revision: newest + 1 };
        return { before, after: await insertRule(transaction, content, now(), rulesMax, act, place) };
      }),
    remove: (id, act, expected) =>
      database.transaction((transaction) => removeRow(transaction, id, now(), act, expected)),
    keyed: async () =>
      (await database.query.selectFrom('rules').selectAll().where('key', 'is not', null).orderBy('key').execute()).map(
        rowOf,
      ),
    apply: (steps, act) =>
      database.transaction(async (transaction) => {
        const rows: RuleRow[] = [];
        for (const step of steps) rows.push(await carryOut(transaction, step, now(), rulesMax, act));
        return rows;
      }),
    async heads() {
      const heads: RuleHead[] = [];
      for (let last: number | undefined = -1; last !== undefined; ) {
        const rows: { id: number; revision: number; enabled: number; priority: number }[] = await database.query
          .selectFrom('rules')
          .select(['id', 'revision', 'enabled', 'priority'])
          .where('id', '>', last)
          .orderBy('id')
          .limit(headsPerQuery)
          .execute();
        for (const row of rows) heads.push({ ...row, enabled: row.enabled !== 0 });
        last = rows.length < headsPerQuery ? undefined : rows.at(-1)?.id;
        if (last !== undefined) await nextTurn(clock);
      }
      return heads;
    },
    async names(ids) {
      const names = new Map<number, string>();
      for (let from = 0; from < ids.length; from += idsPerQuery) {
        const part = ids.slice(from, from + idsPerQuery);
        const rows = await database.query.selectFrom('rules').select(['id', 'name']).where('id', 'in', part).execute();
        for (const { id, name } of rows) names.set(id, name);
      }
      return names;
    },
    async engineRules(ids) {
      const rules: EngineRule[] = [];
      for (let from = 0; from < ids.length; from += idsPerQuery) {
        const rows = await database.query
          .selectFrom('rules')
          .select(['id', 'revision', 'enabled', 'mode', 'priority', 'cooldown_ms', 'trigger_config', 'nodes_json'])
          .where('id', 'in', ids.slice(from, from + idsPerQuery))
          .execute();
        for (const row of rows) rules.push({ ...row, enabled: row.enabled !== 0 });
      }
      return rules;
    },
    all: async () => (await database.query.selectFrom('rules').selectAll().orderBy('id').execute()).map(rowOf),
  };
}

async function readList(
  database: Database,
  { enabled, mode, search: asked = '' }: RuleFilter,
  page: number,
  pageSize: number,
): Promise<RuleList> {
  let query = database.query.selectFrom('rules');
  if (enabled !== undefined) query = query.where('enabled', '=', enabled ? 1 : 0);
  if (mode !== undefined) query = query.where('mode', '=', mode);
  const search = asked.toLowerCase();
  if (search !== '')
    query = query.where((on) =>
      on.or([
        on(on.fn<number>('instr', [on.fn('lower', ['name']), on.val(search)]), '>', 0),
        on(on.fn<number>('instr', [on.fn('lower', ['description']), on.val(search)]), '>', 0),
        on(on.fn<number>('instr', ['key', on.val(search)]), '>', 0),
      ]),
    );
  const { total } = await query.select((on) => on.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  const rows = await query
    .select(['id', 'name', 'description', 'key', 'enabled', 'mode', 'priority'])
    .orderBy('priority', 'desc')
    .orderBy('id')
    .limit(pageSize)
    .offset((page - 1) * pageSize)
    .execute();
  return { rows: rows.map((row) => ({ ...row, enabled: row.enabled !== 0 })), total };
}

function charactersOf({ flow_json, nodes_json, trigger_config, tests, description }: RuleRow): number {
  return lengthOf([flow_json, nodes_json, trigger_config, tests, description]);
}

/** Also an empty list takes space. */
function charactersOfList({ rows }: RuleList): number {
  const texts = rows.flatMap(({ name, description, key }) => [name, description, key]);
  return listCharacters + lengthOf(texts);
}

function lengthOf(texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

/** A rule with the given columns; without any a disabled stub with an empty topology and no document [rules §1.3]. */
export async function insertRule(
  transaction: Transaction,
  { name, key, description, priority, cooldown_ms, trigger_config, flow, tests, enabled, mode }: NewRule,
  at: string,
  rulesMax: number,
  act: RuleAct,
  place: { readonly id?: number; readonly revision: number } = { revision: 1 },
): Promise<RuleRow> {
  const counted = await transaction
    .selectFrom('rules')
    .select((on) => on.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  if (counted.total >= rulesMax)
    throw new Fault('invalid-input', `there are ${rulesMax} rules already, which is the limit`);
  if (key !== undefined) await refuseTakenKey(transaction, key);
  const inserted = await transaction
    .insertInto('rules')
    .values({
      ...place,
      name,
      description: description ?? null,
      key: key ?? null,
      enabled: enabled === true ? 1 : 0,
      mode: mode ?? 'live',
      priority: priority ?? 0,
      cooldown_ms: cooldown_ms ?? 0,
      trigger_config: trigger_config ?? null,
      flow_json: flow?.flow_json ?? null,
      nodes_json: flow?.nodes_json ?? emptyTopologyText,
      tests: tests ?? null,
      created_at: at,
      updated_at: at,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const row = rowOf(inserted);
  await keepRevision(transaction, row, act);
  return row;
}

/** All changed columns in one statement, with the revision on which the change is based. */
export async function updateRow(
  transaction: Transaction,
  id: number,
  changes: RuleChanges,
  at: string,
  act: RuleAct,
  expected?: number,
): Promise<RuleUpdate> {
  const before = await rowIn(transaction, id);
  checkRevision(before, expected);
  if (changes.key !== undefined && changes.key !== before.key) {
    if (before.key !== null)
      throw new Fault('invalid-input', `body /key: rule ${id} has the key "${before.key}", which never changes`);
    await refuseTakenKey(transaction, changes.key);
  }
  const after = changedRow(before, changes, at);
  await rowUpdate(transaction, before, changes, at).executeTakeFirstOrThrow();
  await keepRevision(transaction, after, act);
  return { before, after };
}

/** As `updateRow`, in one batch, for a row that was just read; null if it has changed since, or gets a new key. */
async function updateKnown(
  { batch, query }: Database,
  before: RuleRow,
  changes: RuleChanges,
  at: string,
  act: RuleAct,
  expected?: number,
): Promise<RuleUpdate | null> {
  const isNewKey = changes.key !== undefined && changes.key !== before.key;
  if (batch === null || isNewKey || (expected !== undefined && expected !== before.revision)) return null;
  const after = changedRow(before, changes, at);
  const statements = [rowUpdate(query, before, changes, at), revisionInsert(query, after, act)];
  const changed = await batch(statements.map((statement) => statement.compile()));
  // If the row is in another revision, neither statement changes anything.
  return changed?.[0] === 1 ? { before, after } : null;
}

function rowUpdate(query: Database['query'], before: RuleRow, changes: RuleChanges, at: string) {
  const { enabled, ...columns } = changedColumns(changes);
  return query
    .updateTable('rules')
    .set({
      ...columns,
      ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
      revision: before.revision + 1,
      updated_at: at,
    })
    .where('id', '=', before.id)
    .where('revision', '=', before.revision);
}

function changedRow(before: RuleRow, changes: RuleChanges, at: string): RuleRow {
  return { ...before, ...changedColumns(changes), revision: before.revision + 1, updated_at: at };
}

function changedColumns({ flow, ...columns }: RuleChanges): Partial<RuleRow> {
  return { ...columns, ...flow };
}

async function removeRow(
  transaction: Transaction,
  id: number,
  at: string,
  act: RuleAct,
  expected?: number,
): Promise<RuleRow> {
  const before = await rowIn(transaction, id);
  checkRevision(before, expected);
  await keepRevision(transaction, { ...before, revision: before.revision + 1, updated_at: at }, act, before.revision);
  await transaction.deleteFrom('rules').where('id', '=', id).execute();
  return before;
}

async function carryOut(
  transaction: Transaction,
  step: PlanStep,
  at: string,
  rulesMax: number,
  act: RuleAct,
): Promise<RuleRow> {
  switch (step.action) {
    case 'create':
      return owned(transaction, await insertRule(transaction, step.content, at, rulesMax, act));
    case 'change':
      return owned(transaction, (await updateRow(transaction, step.id, step.content, at, act, step.revision)).after);
    case 'delete':
      return removeRow(transaction, step.id, at, act, step.revision);
    case 'unchanged': {
      const row = await rowIn(transaction, step.id);
      checkRevision(row, step.revision);
      return owned(transaction, row);
    }
  }
}

/** The revision that a plan left is not content of the rule: it creates no revision. */
async function owned(transaction: Transaction, row: RuleRow): Promise<RuleRow> {
  await transaction.updateTable('rules').set({ applied_revision: row.revision }).where('id', '=', row.id).execute();
  return { ...row, applied_revision: row.revision };
}

async function refuseTakenKey(transaction: Transaction, key: string): Promise<void> {
  const other = await transaction.selectFrom('rules').select('id').where('key', '=', key).executeTakeFirst();
  if (other !== undefined) throw new Fault('invalid-input', `body /key: rule ${other.id} has the key "${key}"`);
}

function checkRevision({ id, revision }: Pick<RuleRow, 'id' | 'revision'>, expected: number | undefined): void {
  if (expected === undefined || expected === revision) return;
  throw new Fault('revision-conflict', `rule ${id} is at revision ${revision}, not ${expected}`, {
    details: { revision, expected_revision: expected },
  });
}

async function rowIn(transaction: Transaction, id: number): Promise<RuleRow> {
  const row = await findRow(transaction, id);
  if (row === null) throw noRule(id);
  return row;
}

async function findRow(transaction: Database['query'], id: number): Promise<RuleRow | null> {
  const row = await transaction.selectFrom('rules').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : rowOf(row);
}

function noRule(id: number): Fault {
  return new Fault('not-found', `rule ${id} not found`);
}

function rowOf(row: Omit<RuleRow, 'enabled'> & { readonly enabled: number }): RuleRow {
  return { ...row, enabled: row.enabled !== 0 };
}
