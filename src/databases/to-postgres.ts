/**
 * Moves a site from the files of its data dir to a PostgreSQL server (docs/guides/several-machines.md): every row as it is, so that
 * the audit chain verifies there as it did here, ids are never given twice, rules continue with the state they had, and forecasts
 * read the same history. The files are only read. All or nothing; a server that holds a site already is refused.
 */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { prepareHistory } from '../historian/store/history-server.ts';
import { moveHistory } from '../historian/store/to-postgres.ts';
import { openForecastDatabase } from '../processing/results/forecast-database.ts';
import { openSource } from '../storage/move-source.ts';
import {
  connectPostgres,
  type PostgresConnection,
  type PostgresPlace,
  takeLock,
  unhurried,
} from '../storage/postgres.ts';
import { databaseFile } from './data-files.ts';
import { schemas } from './schemas.ts';
import { openDatabase } from './site-database.ts';

/** Rows that each table had. */
type MovedRows = Readonly<Record<string, number>>;

interface Moved {
  readonly table: string;
  /** The column whose numbers are given out; their sequence continues behind the last one ever given. */
  readonly counted?: string;
}

const site: readonly Moved[] = [
  { table: 'rules', counted: 'id' },
  { table: 'rule_revision' },
  { table: 'audit_chain', counted: 'chain_id' },
  { table: 'audit_event' },
  { table: 'audit_details' },
  { table: 'audit_mark' },
  { table: 'audit_tree' },
  { table: 'audit_tile' },
  { table: 'audit_cosigned' },
  { table: 'audit_in_progress' },
  { table: 'parameter_value' },
  { table: 'alarm' },
  { table: 'alarm_history' },
  { table: 'alarm_account' },
  { table: 'alarm_receiver' },
  { table: 'account' },
  { table: 'sign_in_session' },
  { table: 'sign_in_code' },
  { table: 'sign_in_failure' },
  { table: 'token_revocation' },
];
const runtime: readonly Moved[] = [
  { table: 'execution_block', counted: 'seq' },
  { table: 'rule_state' },
  { table: 'point_claim' },
  { table: 'point_grant' },
  { table: 'point_owner' },
];
const forecasts: readonly Moved[] = [{ table: 'kept_result', counted: 'seq' }];
const rowsPerStatement = 200;

export async function moveToPostgres(
  dataDir: string,
  place: PostgresPlace,
  progress: (text: string) => void,
): Promise<MovedRows> {
  const targets = [
    openDatabase(place),
    openRuntimeDatabase(place),
    await openForecastDatabase(place, systemClock, silentLog),
  ];
  try {
    for (const target of targets) await target.ready();
    await prepareHistory(place);
  } finally {
    for (const target of targets) await target.close();
  }
  const server = connectPostgres(unhurried(place), 'site');
  const moved: Record<string, number> = {};
  let connection: PostgresConnection | undefined;
  let done = false;
  try {
    connection = await server.connect();
    // A large table takes long to read.
    await connection.run('SET idle_in_transaction_session_timeout TO 0');
    await connection.run(
      `BEGIN; ${(['site', 'runtime', 'history', 'forecasts'] as const).map((name) => takeLock(place.limits.postgres_schema, name)).join('; ')}`,
    );
    await refuseFull(connection);
    const told = (table: string, rows: number): void => {
      moved[table] = rows;
      progress(`${table}: ${rows} rows`);
    };
    for (const [name, tables] of [
      ['site', site],
      ['runtime', runtime],
    ] as const)
      await moveFile(databaseFile(dataDir, name), schemas[name].file.length, tables, connection, told);
    // No forecast was ever asked for.
    if (existsSync(databaseFile(dataDir, 'forecasts')))
      await moveFile(databaseFile(dataDir, 'forecasts'), schemas.forecasts.file.length, forecasts, connection, told);
    const history = databaseFile(dataDir, 'history');
    // Nothing was recorded yet.
    if (existsSync(history)) await moveHistory(history, connection, told);
    await commit(connection);
    done = true;
    return moved;
  } finally {
    connection?.release(!done);
    await server.close();
  }
}

/** A commit that nobody answered may have been made all the same. */
async function commit({ run }: PostgresConnection): Promise<void> {
  try {
    await run('COMMIT');
  } catch (error) {
    throw new Error(
      'the server did not confirm the end of the move: the site may have been stored there, whole, or not at all. Run the command again: it moves the site if it is not there, and says that the database holds a site already if it is; nothing is doubled. `setpoint audit verify` checks the moved log',
      { cause: error },
    );
  }
}

async function refuseFull({ run }: PostgresConnection): Promise<void> {
  for (const { table } of [...site, ...runtime, ...forecasts, { table: 'series' }, { table: 'sample' }]) {
    const rows = await run(`SELECT 1 FROM ${table} LIMIT 1`);
    if (rows.length > 0) throw new Error(`the PostgreSQL database holds a site already: ${table} is not empty`);
  }
}

async function moveFile(
  file: string,
  format: number,
  tables: readonly Moved[],
  connection: PostgresConnection,
  told: (table: string, rows: number) => void,
): Promise<void> {
  const source = openSource(file, format);
  try {
    for (const { table, counted } of tables) {
      await connection.run(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
      const rows = await moveTable(source, table, connection, (count) => told(table, count));
      await connection.run(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
      if (counted !== undefined) await continueNumbers(source, table, counted, connection);
      told(table, rows);
    }
  } finally {
    source.close();
  }
}

async function moveTable(
  source: DatabaseSync,
  table: string,
  { run }: PostgresConnection,
  told: (rows: number) => void,
): Promise<number> {
  const read = source.prepare(`SELECT * FROM ${table}`);
  const columns = read.columns().map(({ name }) => name);
  let waiting: unknown[] = [];
  let rows = 0;
  const write = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const one = (row: number): string =>
      `(${columns.map((_, column) => `$${row * columns.length + column + 1}`).join()})`;
    const values = Array.from({ length: waiting.length / columns.length }, (_, row) => one(row)).join();
    await run(`INSERT INTO ${table} (${columns.join()}) VALUES ${values}`, waiting);
    waiting = [];
  };
  for (const row of read.iterate()) {
    waiting.push(...columns.map((column) => row[column]));
    rows++;
    if (rows % rowsPerStatement === 0) await write();
    if (rows % 50_000 === 0) told(rows);
  }
  await write();
  return rows;
}

/** Also numbers of rows that were deleted are not given again. */
async function continueNumbers(
  source: DatabaseSync,
  table: string,
  column: string,
  { run }: PostgresConnection,
): Promise<void> {
  const largest = Number(source.prepare(`SELECT max(${column}) AS last FROM ${table}`).get()?.['last'] ?? 0);
  const given = Number(source.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').get(table)?.['seq'] ?? 0);
  const last = Math.max(largest, given);
  if (last > 0) await run(`SELECT setval(pg_get_serial_sequence('${table}', '${column}'), $1)`, [last]);
}
