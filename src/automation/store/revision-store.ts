/**
 * The revisions of rules [rules §1.4]. A revision is the rule's row as the change left it, copied inside the database in the
 * transaction of the change, so that documents are not transferred twice.
 */
import { sql } from 'kysely';
import { sha256Hex } from '../../base/digest.ts';
import type { Database, Transaction } from '../../storage/database.ts';
import type { RuleRow } from './rule-table.ts';

/** Who changed a rule, how, and why. */
export interface RuleAct {
  /** The audit action, such as `automation.rule.update`. */
  readonly action: string;
  readonly author: { readonly kind: string; readonly id: string };
  /** That of the audit events about the change. */
  readonly correlationId: string;
  readonly reason?: string | undefined;
  /** The revision whose document the change restored. */
  readonly restoredFrom?: number;
}

/** A revision without its documents. */
interface RevisionHead {
  readonly revision: number;
  readonly name: string;
  readonly enabled: boolean;
  readonly mode: RuleRow['mode'];
  readonly digest: string;
  /** Null in the first revision of a rule from before revisions existed, as are author and correlation id. */
  readonly action: string | null;
  readonly author: { readonly kind: string; readonly id: string } | null;
  readonly at: string;
  readonly correlation_id: string | null;
  readonly reason: string | null;
  readonly restored_from: number | null;
}

export interface RuleRevision {
  readonly head: RevisionHead;
  /** The rule at that revision; after a deletion, its last state. */
  readonly row: RuleRow;
}

export interface RevisionReader {
  /** Newest first, those below `before`; empty for an unknown rule. */
  page(ruleId: number, before: number | undefined, limit: number): Promise<RevisionHead[]>;
  /** Null if the rule has no such revision; without a number the newest. */
  get(ruleId: number, revision?: number): Promise<RuleRevision | null>;
  /**
   * Numbers of those of the newest `most` revisions with the same logic as this row, newest first: the same topology, trigger, priority,
   * cooldown and mode. Names, labels, positions and tests make no difference.
   */
  runningAs(row: RuleRow, most: number): Promise<number[]>;
}

type RuleContent = Pick<
  RuleRow,
  'name' | 'description' | 'mode' | 'priority' | 'cooldown_ms' | 'trigger_config' | 'flow_json' | 'nodes_json' | 'tests'
>;

/** SHA-256 of the content of a rule without `enabled`. Documents count as the stored texts. */
export function ruleDigest(rule: RuleContent): string {
  const { name, description, priority, cooldown_ms, trigger_config, flow_json, nodes_json } = rule;
  // Newer members count only if they are set, so that older digests stay valid.
  const mode = rule.mode === 'live' ? undefined : rule.mode;
  const tests = rule.tests ?? undefined;
  return sha256Hex(
    JSON.stringify({ name, description, priority, cooldown_ms, trigger_config, flow_json, nodes_json, mode, tests }),
  );
}

/** Stores the current row of a rule, now at revision `storedAs`, as a revision; `row` is that row with the revision's number. */
export async function keepRevision(
  transaction: Transaction,
  row: RuleRow,
  act: RuleAct,
  storedAs = row.revision,
): Promise<void> {
  await revisionInsert(transaction, row, act, storedAs).execute();
}

/** The statement of `keepRevision`. */
export function revisionInsert(query: Database['query'], row: RuleRow, act: RuleAct, storedAs = row.revision) {
  const copied = [
    'name',
    'description',
    'key',
    'enabled',
    'mode',
    'priority',
    'cooldown_ms',
    'trigger_config',
    'flow_json',
    'nodes_json',
    'tests',
    'created_at',
  ] as const;
  const text = (value: string | null) => sql<string | null>`CAST(${value} AS text)`;
  const number = (value: number | null) => sql<number>`CAST(${value} AS bigint)`;
  return query
    .insertInto('rule_revision')
    .columns([
      'rule_id',
      ...copied,
      'revision',
      'updated_at',
      'digest',
      'action',
      'author_kind',
      'author_id',
      'correlation_id',
      'reason',
      'restored_from',
    ])
    .expression(
      query
        .selectFrom('rules')
        .where('id', '=', row.id)
        .where('revision', '=', storedAs)
        .select([
          'id',
          ...copied,
          number(row.revision).as('revision'),
          text(row.updated_at).as('updated_at'),
          text(ruleDigest(row)).as('digest'),
          text(act.action).as('action'),
          text(act.author.kind).as('author_kind'),
          text(act.author.id).as('author_id'),
          text(act.correlationId).as('correlation_id'),
          text(act.reason ?? null).as('reason'),
          number(act.restoredFrom ?? null).as('restored_from'),
        ]),
    );
}

/** The number of a rule's newest revision; null for an unknown rule. */
export async function newestRevision(transaction: Transaction, ruleId: number): Promise<number | null> {
  const row = await transaction
    .selectFrom('rule_revision')
    .select('revision')
    .where('rule_id', '=', ruleId)
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.revision ?? null;
}

const headColumns = [
  'revision',
  'name',
  'enabled',
  'mode',
  'digest',
  'action',
  'author_kind',
  'author_id',
  'updated_at',
  'correlation_id',
  'reason',
  'restored_from',
] as const;

export function createRevisionReader(database: Database): RevisionReader {
  const get: RevisionReader['get'] = async (ruleId, revision) => {
    let query = database.query.selectFrom('rule_revision').selectAll().where('rule_id', '=', ruleId);
    if (revision !== undefined) query = query.where('revision', '=', revision);
    const found = await query.orderBy('revision', 'desc').limit(1).executeTakeFirst();
    if (found === undefined) return null;
    const { rule_id: id, enabled, mode, name, description, priority, cooldown_ms, created_at, updated_at } = found;
    const { trigger_config, flow_json, nodes_json, tests } = found;
    const settings = {
      id,
      revision: found.revision,
      name,
      description,
      key: found.key,
      // A revision is content; the ownership by files is not part of it.
      applied_revision: null,
      enabled: enabled !== 0,
      mode,
      priority,
      cooldown_ms,
    };
    const row = { ...settings, trigger_config, flow_json, nodes_json, tests, created_at, updated_at };
    return { head: headOf(found, found.digest ?? ruleDigest(row)), row };
  };
  return {
    get,
    async page(ruleId, before, limit) {
      let query = database.query.selectFrom('rule_revision').select(headColumns).where('rule_id', '=', ruleId);
      if (before !== undefined) query = query.where('revision', '<', before);
      const heads: RevisionHead[] = [];
      for (const row of await query.orderBy('revision', 'desc').limit(limit).execute()) {
        // Only the first revision of a rule from before revisions existed has none.
        const digest = row.digest ?? (await get(ruleId, row.revision))?.head.digest;
        if (digest !== undefined) heads.push(headOf(row, digest));
      }
      return heads;
    },
    async runningAs({ id, nodes_json, trigger_config, priority, cooldown_ms, mode }, most) {
      const newest = database.query
        .selectFrom('rule_revision')
        .select('revision')
        .where('rule_id', '=', id)
        .orderBy('revision', 'desc')
        .limit(most);
      const found = await database.query
        .selectFrom('rule_revision')
        .select('revision')
        .where('rule_id', '=', id)
        .where('revision', 'in', newest)
        .where('nodes_json', '=', nodes_json)
        .where('trigger_config', 'is not distinct from', trigger_config)
        .where('priority', '=', priority)
        .where('cooldown_ms', '=', cooldown_ms)
        .where('mode', '=', mode)
        .orderBy('revision', 'desc')
        .execute();
      return found.map(({ revision }) => revision);
    },
  };
}

interface HeadRow {
  readonly revision: number;
  readonly name: string;
  readonly enabled: number;
  readonly mode: RuleRow['mode'];
  readonly action: string | null;
  readonly author_kind: string | null;
  readonly author_id: string | null;
  readonly updated_at: string;
  readonly correlation_id: string | null;
  readonly reason: string | null;
  readonly restored_from: number | null;
}

function headOf(row: HeadRow, digest: string): RevisionHead {
  const { author_kind: kind, author_id: id } = row;
  return {
    revision: row.revision,
    name: row.name,
    enabled: row.enabled !== 0,
    mode: row.mode,
    digest,
    action: row.action,
    author: kind === null || id === null ? null : { kind, id },
    at: row.updated_at,
    correlation_id: row.correlation_id,
    reason: row.reason,
    restored_from: row.restored_from,
  };
}
