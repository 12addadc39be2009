/** What somebody writes who has the database, the data dir and every key of a site: all of it made anew, consistent in itself. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** What was stolen. */
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

export function eventRows({ place }: TestTrail): Row[] {
  const file = new DatabaseSync(String(place));
  try {
    return file.prepare('SELECT * FROM audit_event WHERE chain_id = 1 ORDER BY sequence').all() as unknown as Row[];
  } finally {
    file.close();
  }
}

/** Numbers and hashes the rows, and makes head, tiles, published head and checkpoint file anew, signed with the key of the site. */
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
  const details = detailsOf(trail);
  await trail.tamper(
    'DELETE FROM audit_details; DELETE FROM audit_event; DELETE FROM audit_tile; DELETE FROM audit_cosigned',
  );
  await insertAll(trail, linked, details);
  await trail.tamper(`UPDATE audit_chain SET sequence = ${last.sequence}, hash = '${last.hash}' WHERE chain_id = 1`);
}

/** By digest. */
function detailsOf({ place }: TestTrail): ReadonlyMap<string, string> {
  const file = new DatabaseSync(String(place));
  try {
    const rows = file.prepare('SELECT details FROM audit_details').all();
    return new Map(rows.map((row) => [sha256Hex(String(row['details'])), String(row['details'])]));
  } finally {
    file.close();
  }
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

/** What retention would do, with a mark that the thief signs now. */
export async function forgeRetention({ trail, key }: Stolen, at: number): Promise<void> {
  const rows = eventRows(trail);
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

export interface OlderCopy {
  putBack(trail: TestTrail): Promise<void>;
}

const chainTables = ['audit_details', 'audit_event', 'audit_chain', 'audit_tile', 'audit_tree', 'audit_cosigned'];

/** The data dir as it is now. */
export function olderCopyOf({ place, folder }: TestTrail): OlderCopy {
  const copy = join(folder, 'older.sqlite');
  const file = new DatabaseSync(String(place));
  file.prepare('VACUUM INTO ?').run(copy);
  file.close();
  const checkpoints = readFileSync(auditFiles(folder).checkpoints, 'utf8');
  return {
    async putBack(trail) {
      const emptied = chainTables.map((table) => `DELETE FROM ${table}`).join(';');
      const filled = chainTables
        .toReversed()
        .map((table) => `INSERT INTO ${table} SELECT * FROM older.${table}`)
        .join(';');
      await trail.tamper(`ATTACH DATABASE '${copy}' AS older; ${emptied}; ${filled}; DETACH DATABASE older`);
      writeFileSync(auditFiles(trail.folder).checkpoints, checkpoints);
    },
  };
}
