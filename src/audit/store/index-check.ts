/**
 * Checks that the indexes of the audit events on PostgreSQL contain all of them [audit §7]: an incomplete index hides events from
 * searches. The embedded engine has its own check (`integrity-thread.ts`).
 */
import type { PostgresConnection, PostgresServer } from '../../storage/postgres.ts';

/** As in `server-tables.ts`: each has a unique order. */
const indexes: readonly { readonly name: string; readonly order: string; readonly condition?: string }[] = [
  { name: 'audit_event_pkey', order: 'chain_id, sequence' },
  { name: 'audit_event_event_id_key', order: 'event_id' },
  { name: 'audit_event_action', order: 'chain_id, action, sequence' },
  { name: 'audit_event_subject', order: 'chain_id, subject_id, sequence' },
  { name: 'audit_event_resource', order: 'chain_id, resource_id, sequence' },
  { name: 'audit_event_resource_kind', order: 'chain_id, resource_kind, sequence' },
  { name: 'audit_event_time', order: 'chain_id, era, occurred_at, sequence' },
  { name: 'audit_event_closes', order: 'accepted_event_id', condition: 'accepted_event_id IS NOT NULL' },
];

/** The first incomplete index, or null. Uses its own connection, because its settings would slow down other reads. */
export async function incompleteIndex(server: PostgresServer): Promise<string | null> {
  const connection = await server.connect();
  try {
    await connection.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await firstIncomplete(connection.run);
  } finally {
    connection.release(true);
  }
}

async function firstIncomplete(run: PostgresConnection['run']): Promise<string | null> {
  const count = async (from: string): Promise<string> =>
    String((await run(`SELECT count(*) AS n FROM ${from}`))[0]?.['n']);
  await allow(run, ['seqscan', 'sort']);
  const events = await count('audit_event');
  const distinct = await count('(SELECT DISTINCT chain_id, sequence FROM audit_event) AS events');
  if (events !== distinct) return 'the audit events hold a sequence twice';
  for (const { name, order, condition = 'true' } of indexes) {
    await allow(run, ['seqscan', 'sort']);
    const expected = await count(`audit_event WHERE ${condition}`);
    // Without sorting, rows come in this order by this index only.
    await allow(run, ['indexscan', 'indexonlyscan']);
    const ordered = `(SELECT 1 FROM audit_event WHERE ${condition} ORDER BY ${order} OFFSET 0) AS events`;
    const [plan] = await run(`EXPLAIN (FORMAT JSON) SELECT count(*) FROM ${ordered}`);
    const on = `(${order})${condition === 'true' ? '' : ` WHERE ${condition}`}`;
    if (!JSON.stringify(plan).includes(`"Index Name":"${name}"`))
      return `the index ${name} is missing or was changed; find out by whom, then create it again on ${on}`;
    if ((await count(ordered)) !== expected)
      return `the index ${name} does not hold all audit events; find out who changed it, then run REINDEX INDEX ${name}`;
  }
  return null;
}

const ways = ['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort', 'incremental_sort', 'hashagg'] as const;

/** The plan types that the server may use, until the end of the transaction. */
async function allow(run: PostgresConnection['run'], allowed: readonly (typeof ways)[number][]): Promise<void> {
  for (const way of ways) await run(`SET LOCAL enable_${way} TO ${allowed.includes(way) ? 'on' : 'off'}`);
}
