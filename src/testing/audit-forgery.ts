/** A forgery by an attacker with the database, the data directory and every key of a site: all of it rebuilt, consistent in itself. */
import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createAuditLog } from '../audit/log.ts';
import { type AuditKey, signStatement } from '../audit/statement.ts';
import { chainedEventOf, chainHash, chainStart } from '../audit/store/chain.ts';
import { markAction } from '../audit/store/chain-walk.ts';
import type { AuditEventTable } from '../audit/store/tables.ts';
import { auditFiles } from '../audit/trail.ts';
import { originOf } from '../audit/tree/log-trees.ts';
import { leafHash, rootOver } from '../audit/tree/tree-hash.ts';
import { TreeProofs, tileWidth } from '../audit/tree/tree-proofs.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { sha256Hex } from '../base/digest.ts';
import { checkpointText } from '../transparency/checkpoint.ts';
import { formatNote } from '../transparency/signed-note.ts';
import { noteSigner } from '../transparency/signing.ts';
import { auditEntry, type TestTrail, testOrigin, testScope } from './audit-trail.ts';

export type Row = AuditEventTable;

/** The stolen database and keys. */
export interface Stolen {
  readonly trail: TestTrail;
  readonly key: AuditKey;
}

const owner = { log: 'events', ...testScope } as const;
const origin = originOf(testOrigin, owner);

export function rowAt(rows: readonly Row[], at: number): Row {
  const row = rows[at];
  if (row === undefined) throw new Error(`there is no row ${at}`);
  return row;
}

export async function eventRows(trail: TestTrail): Promise<Row[]> {
  return (await trail.rows('SELECT * FROM audit_event WHERE chain_id = 1 ORDER BY sequence')) as unknown as Row[];
}

/** Numbers and hashes the rows, and rebuilds head, tiles, published head and checkpoint file, signed with the site's key. */
export async function storeAll({ trail, key }: Stolen, rows: readonly Row[]): Promise<void> {
  let previous = chainStart;
  const linked = rows.map((row, at) => {
    const next = { ...row, sequence: at + 1, previous_hash: previous };
    previous = chainHash(owner, chainedEventOf(next));
    return { ...next, hash: previous };
  });
  const leaves = linked.map(({ hash }) => leafHash(hash));
  const read = async (level: number, tile: number, width: number) =>
    Array.from({ length: width }, (_, at) => {
      const span = tileWidth ** level;
      return rootOver(leaves.slice((tile * tileWidth + at) * span, (tile * tileWidth + at + 1) * span));
    });
  const root = await new TreeProofs(read, leaves.length).root();
  const note = formatNote((await noteSigner(origin, key)).sign(checkpointText({ origin, size: leaves.length, root })));
  const last = rowAt(linked, linked.length - 1);
  const head = { sequence: last.sequence, hash: last.hash, issuedAt: new Date(trail.clock.wallMs()).toISOString() };
  writeFileSync(auditFiles(trail.folder).checkpoints, `${JSON.stringify(signStatement(key, owner, head, note))}\n`);
  const details = await detailsOf(trail);
  await trail.tamper(
    'DELETE FROM audit_details; DELETE FROM audit_event; DELETE FROM audit_tile; DELETE FROM audit_cosigned',
  );
  await insertAll(trail, linked, details);
  await trail.tamper(`UPDATE audit_chain SET sequence = ${last.sequence}, hash = '${last.hash}' WHERE chain_id = 1`);
}

/** By digest. */
async function detailsOf(trail: TestTrail): Promise<ReadonlyMap<string, string>> {
  const rows = await trail.rows('SELECT details FROM audit_details');
  return new Map(rows.map(({ details }) => [sha256Hex(String(details)), String(details)]));
}

async function insertAll(trail: TestTrail, rows: readonly Row[], details: ReadonlyMap<string, string>): Promise<void> {
  const quoted = (value: unknown): string =>
    value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
  const columns = Object.keys(rowAt(rows, 0));
  const values = rows.map((row) => `(${Object.values(row).map(quoted).join()})`);
  const kept = rows.flatMap(({ sequence, details_digest: digest }) => {
    const text = details.get(digest ?? '');
    return text === undefined ? [] : [`(1, ${sequence}, ${quoted(text)})`];
  });
  const inserts = [`INSERT INTO audit_event (${columns.join()}) VALUES ${values.join()}`];
  if (kept.length > 0) inserts.push(`INSERT INTO audit_details VALUES ${kept.join()}`);
  await trail.tamper(inserts.join(';'));
}

/** The effect of retention, with a mark that the attacker signs. */
export async function forgeRetention({ trail, key }: Stolen, at: number): Promise<void> {
  const rows = await eventRows(trail);
  const { sequence, hash } = rowAt(rows, at);
  const statement = signStatement(key, owner, {
    sequence,
    hash,
    issuedAt: new Date(trail.clock.wallMs()).toISOString(),
  });
  const entry = auditEntry({ action: markAction, outcome: 'succeeded', details: statement });
  const appended = await createAuditLog({ ...trail, scope: testScope }).append(entry);
  const mark = canonicalJson(statement);
  await trail.tamper(`INSERT INTO audit_mark VALUES (1, ${sequence}, '${hash}', ${appended.sequence}, '${mark}');
    DELETE FROM audit_details WHERE sequence <= ${sequence}; DELETE FROM audit_event WHERE sequence <= ${sequence}`);
}

/** The index is built without the event, and then declared complete. */
export async function hideFromIndex({ place, rows, run }: TestTrail, index: string, sequence: number): Promise<void> {
  const without = ` WHERE sequence <> ${sequence}`;
  if (typeof place !== 'string') {
    const [made] = await rows(`SELECT pg_get_indexdef('${index}'::regclass) AS text`);
    await run(`DROP INDEX ${index}; ${String(made?.['text'])}${without}; SET allow_system_table_mods TO on;
      UPDATE pg_index SET indpred = NULL WHERE indexrelid = '${index}'::regclass`);
    return;
  }
  const file = new DatabaseSync(place);
  file.enableDefensive(false);
  file.exec(`PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = sql || '${without}' WHERE name = '${index}';
    PRAGMA writable_schema = RESET; REINDEX ${index}; PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, '${without}', '') WHERE name = '${index}';
    PRAGMA writable_schema = RESET`);
  file.close();
}

export interface OlderCopy {
  putBack(): Promise<void>;
}

const chainTables = ['audit_details', 'audit_event', 'audit_chain', 'audit_tile', 'audit_tree', 'audit_cosigned'];

/** The current database and checkpoints. */
export async function olderCopyOf(trail: TestTrail): Promise<OlderCopy> {
  await trail.run(chainTables.map((table) => `CREATE TABLE older_${table} AS SELECT * FROM ${table}`).join(';'));
  const checkpoints = readFileSync(auditFiles(trail.folder).checkpoints, 'utf8');
  return {
    async putBack() {
      const emptied = chainTables.map((table) => `DELETE FROM ${table}`);
      const filled = chainTables.toReversed().map((table) => `INSERT INTO ${table} SELECT * FROM older_${table}`);
      await trail.tamper([...emptied, ...filled].join(';'));
      writeFileSync(auditFiles(trail.folder).checkpoints, checkpoints);
    },
  };
}
