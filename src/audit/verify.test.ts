/** Every attack on the log that decisions §3 "Store" names is caught, with the first bad sequence; what is not covered is told. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chainHash } from '../storage/audit-chain.ts';
import { scanAudit } from '../storage/audit-scan.ts';
import { openDatabase } from '../storage/database.ts';
import {
  auditEntry,
  fillTrail,
  type TestTrail,
  tamper,
  testAuditKey,
  testScope,
  testTrail,
} from '../testing/audit-trail.ts';
import { exportLines, verifyExport } from './export-file.ts';
import { createAuditLog } from './log.ts';
import { type AuditKey, keyName, signStatement } from './statement.ts';
import { type EvidenceSources, gatherEvidence, verifyScan } from './verify.ts';

const owner = { log: 'events', ...testScope } as const;

describe('audit verification', () => {
  let trail: TestTrail;
  let key: AuditKey;
  beforeEach(() => {
    trail = testTrail();
    key = testAuditKey();
  });
  afterEach(() => trail.close());

  /** A line of a checkpoint file: the chain as it stands now, or at `sequence`. */
  const checkpoint = (sequence?: number, by = key, file = trail.file): string => {
    const scan = scanAudit(file);
    const events = [...scan.events(1, false)];
    scan.close();
    const at = sequence === undefined ? events.at(-1) : events.find((one) => one.event.sequence === String(sequence));
    if (at === undefined) throw new Error('there is no such event');
    const statement = { sequence: Number(at.event.sequence), hash: at.hash, issuedAt: '2026-01-01T00:00:00.000Z' };
    return JSON.stringify(signStatement(by, 'svc.audit-checkpoint.v1', owner, statement));
  };
  const nothing = (): EvidenceSources => ({
    keys: [],
    anchor: null,
    checkpoints: null,
    ownKey: keyName(key.publicKey),
  });
  const verify = (sources: Partial<EvidenceSources> = {}, file = trail.file, withDetails = true) => {
    const scan = scanAudit(file);
    try {
      return verifyScan(scan, gatherEvidence({ ...nothing(), ...sources }), { withDetails });
    } finally {
      scan.close();
    }
  };
  const broken = (sources: Partial<EvidenceSources> = {}, file = trail.file) => {
    const [first] = verify(sources, file).chains;
    return first?.broken === null || first === undefined ? null : [first.broken.kind, first.broken.sequence];
  };
  const exported = (sources: { anchor?: string; checkpoints?: string } = {}, edit = (lines: string[]) => lines) => {
    const scan = scanAudit(trail.file);
    const facts = { exportedAt: 'now', key: keyName(key.publicKey), checkpoints: sources.checkpoints ?? null };
    const lines = [...exportLines(scan, facts)];
    scan.close();
    const verifier = verifyExport({ keys: [], anchor: sources.anchor ?? null });
    for (const line of edit(lines.map((text) => text.trimEnd()))) verifier.line(line);
    return verifier.finish();
  };

  test('a log that nobody touched verifies; what no anchor covers yet is told', async () => {
    await fillTrail(trail, 30);
    const anchor = checkpoint(20);
    const report = verify({ anchor, checkpoints: checkpoint() });
    expect(report.problems).toEqual([]);
    const covered = { coveredLocally: 30, coveredExternally: 20 };
    expect(report.chains).toEqual([{ owner, first: 1, last: 30, events: 30, details: 30, broken: null, ...covered }]);
    expect(exported({ anchor, checkpoints: checkpoint() })).toEqual(report);
  });

  test('a byte edited, in any column of the event', async () => {
    await fillTrail(trail, 12);
    const text = [
      'event_id',
      'occurred_at',
      'subject_kind',
      'subject_id',
      'action',
      'resource_kind',
      'resource_id',
      'outcome',
      'risk',
      'confirmation',
      'correlation_id',
      'details_digest',
      'previous_hash',
      'hash',
    ];
    for (const column of text) {
      const change = (to: string) =>
        tamper(trail.file, (database) => database.exec(`UPDATE audit_event SET ${column} = ${to} WHERE sequence = 7`));
      change(`${column} || 'x'`);
      expect(broken(), column).toEqual(['edited', 7]);
      expect(exported().chains[0]?.broken, column).toMatchObject({ kind: 'edited', sequence: 7 });
      change(`substr(${column}, 1, length(${column}) - 1)`);
      expect(broken(), column).toBeNull();
    }
    for (const column of ['trace_id', 'accepted_event_id']) {
      tamper(trail.file, (database) => database.exec(`UPDATE audit_event SET ${column} = 'ab' WHERE sequence = 7`));
      expect(broken(), column).toEqual(['edited', 7]);
      tamper(trail.file, (database) => database.exec(`UPDATE audit_event SET ${column} = NULL WHERE sequence = 7`));
    }
    // Where the search looks for a time is not part of the event, and yet must be right.
    tamper(trail.file, (database) => database.exec('UPDATE audit_event SET era = 3 WHERE sequence = 7'));
    expect(broken()).toEqual(['time', 7]);
  });

  test('a subject’s id may hold any character; one that shifts its neighbours is seen', async () => {
    const subjectId = 'ada\u001f"\\\u001f😀';
    const log = createAuditLog({ ...trail, scope: testScope });
    for (let count = 0; count < 3; count++) await log.append(auditEntry({ subject: { kind: 'user', subjectId } }));
    expect(verify()).toMatchObject({ problems: [], chains: [{ last: 3, broken: null }] });
    expect(exported()).toMatchObject({ problems: [], chains: [{ last: 3, broken: null }] });
    tamper(trail.file, (database) =>
      database.exec(`UPDATE audit_event SET subject_kind = subject_kind || char(31) || 'ada',
        subject_id = substr(subject_id, 5) WHERE sequence = 2`),
    );
    expect(broken()).toEqual(['edited', 2]);
  });

  test('the digest of details moved into the member before it is seen, in the store and in an export', async () => {
    await fillTrail(trail, 4);
    const moved = (line: string): string => {
      const { detailsDigest, details: _, ...event } = JSON.parse(line);
      return JSON.stringify({ ...event, correlationId: `${event.correlationId}","detailsDigest":"${detailsDigest}` });
    };
    const edited = exported({}, (lines) => lines.with(3, moved(lines[3] ?? '')));
    expect(edited.chains[0]?.broken).toMatchObject({ kind: 'edited', sequence: 2 });
    tamper(trail.file, (database) =>
      database.exec(`UPDATE audit_event SET details_digest = NULL,
        correlation_id = correlation_id || '","detailsDigest":"' || details_digest WHERE sequence = 2;
        DELETE FROM audit_details WHERE sequence = 2`),
    );
    expect(broken()).toEqual(['edited', 2]);
  });

  test('an event edited together with its own hash is betrayed by the next one', async () => {
    await fillTrail(trail, 12);
    tamper(trail.file, (database) => rehash(database, 7, 7));
    expect(broken()).toEqual(['replaced', 7]);
  });

  test('a row deleted, at the beginning, in the middle and at the end', async () => {
    await fillTrail(trail, 12);
    const copy = join(trail.folder, 'copy.sqlite');
    for (const [sequence, kind] of [
      [1, 'deleted'],
      [6, 'deleted'],
      [12, 'cut'],
    ] as const) {
      backUp(trail.file, copy);
      tamper(copy, (database) => {
        database.exec(`DELETE FROM audit_details WHERE sequence = ${sequence}`);
        database.exec(`DELETE FROM audit_event WHERE sequence = ${sequence}`);
      });
      expect(broken({}, copy)).toEqual([kind, sequence]);
    }
  });

  test('two swapped, near and far', async () => {
    await fillTrail(trail, 40);
    for (const [one, other] of [
      [5, 6],
      [3, 38],
    ] as const) {
      swap(trail.file, 'audit_event', one, other);
      swap(trail.file, 'audit_details', one, other);
      expect(broken()).toEqual(['reordered', one]);
      swap(trail.file, 'audit_event', one, other);
      swap(trail.file, 'audit_details', one, other);
      expect(broken()).toBeNull();
    }
  });

  test('details swapped between two events, edited, removed, or added', async () => {
    await fillTrail(trail, 12);
    const copy = join(trail.folder, 'copy.sqlite');
    const attack = (sql: string, details = true): ReturnType<typeof verify> => {
      backUp(trail.file, copy);
      tamper(copy, (database) => database.exec(sql));
      return verify({}, copy, details);
    };
    backUp(trail.file, copy);
    swap(copy, 'audit_details', 4, 9);
    expect(broken({}, copy)).toEqual(['details', 4]);
    const edited = `UPDATE audit_details SET details = '{"number":99}' WHERE sequence = 6`;
    expect(attack(edited).chains[0]?.broken).toMatchObject({ kind: 'details', sequence: 6 });
    expect(attack(edited, false).chains[0]?.broken).toBeNull();
    const removed = attack('DELETE FROM audit_details WHERE sequence = 6');
    expect(removed.chains[0]?.broken).toMatchObject({ kind: 'details', sequence: 6 });
    expect(attack(`INSERT INTO audit_details VALUES (1, 13, '{}')`).problems).toHaveLength(1);
  });

  test('the tail cut, with the head put right: caught by an anchor, and by the checkpoints of the data dir', async () => {
    await fillTrail(trail, 12);
    const anchor = checkpoint(10);
    tamper(trail.file, (database) => {
      database.exec('DELETE FROM audit_details WHERE sequence > 8');
      database.exec('DELETE FROM audit_event WHERE sequence > 8');
      database.exec('UPDATE audit_chain SET sequence = 8, hash = (SELECT hash FROM audit_event WHERE sequence = 8)');
    });
    expect(broken({ anchor })).toEqual(['cut', 9]);
    expect(broken({ checkpoints: anchor })).toEqual(['cut', 9]);
    expect(exported({ anchor }).chains[0]?.broken).toMatchObject({ kind: 'cut', sequence: 9 });
    // Without any, nothing tells; and nothing is claimed.
    expect(verify().chains[0]).toMatchObject({ broken: null, coveredLocally: 0, coveredExternally: 0 });
  });

  test('a whole older copy put back, and one that went on from there', async () => {
    await fillTrail(trail, 8);
    const copy = join(trail.folder, 'older.sqlite');
    backUp(trail.file, copy);
    const early = checkpoint(5);
    await fillTrail(trail, 4);
    const anchor = `${early}\n${checkpoint(12)}\n`;
    expect(broken({ anchor })).toBeNull();
    expect(broken({ anchor }, copy)).toEqual(['cut', 9]);
    const older = openDatabase(copy);
    await fillTrail({ ...trail, database: older }, 10);
    await older.close();
    // Between the last anchor that fits and the first that does not, nobody can tell which one was first.
    expect(broken({ anchor }, copy)).toEqual(['rewritten', 6]);
    expect(broken({ anchor: early }, copy)).toBeNull();
  });

  test('everything rewritten from some event on, hashes and head included', async () => {
    await fillTrail(trail, 20);
    const anchor = [5, 10, 20].map((sequence) => checkpoint(sequence)).join('\n');
    tamper(trail.file, (database) => rehash(database, 13, 20));
    expect(broken()).toBeNull();
    expect(broken({ anchor })).toEqual(['rewritten', 11]);
  });

  test('a chain removed altogether', async () => {
    await fillTrail(trail, 5);
    const anchor = checkpoint();
    tamper(trail.file, (database) => database.exec('DELETE FROM audit_chain'));
    const headless = verify({ anchor });
    expect([headless.problems, headless.chains[0]?.broken]).toMatchObject([
      ['the events of chain 1 have no head'],
      { kind: 'cut', sequence: 1 },
    ]);
  });

  test('only believed keys count: those given, else the anchor’s, else the data dir’s', async () => {
    await fillTrail(trail, 5);
    const forger = testAuditKey();
    const anchor = checkpoint(5);
    const forged = checkpoint(5, forger);
    expect(verify({ anchor: forged, ownKey: keyName(key.publicKey) }).problems).not.toEqual([]);
    expect(verify({ anchor, checkpoints: forged }).problems).toHaveLength(1);
    expect(verify({ anchor, keys: [keyName(forger.publicKey)] }).problems.length).toBeGreaterThan(0);
    expect(verify({ anchor, keys: [keyName(key.publicKey)] }).problems).toEqual([]);
    expect(verify({ anchor: anchor.replace('"sequence":"5"', '"sequence":"4"') }).problems.length).toBeGreaterThan(0);
    expect(verify({ anchor: '' }).problems).toEqual(['the anchor holds no checkpoint']);
    expect(verify({ anchor: 'no json' }).problems).toHaveLength(2);
  });

  test('a line of an export is one line for every reader, whatever a subject is called', async () => {
    const log = createAuditLog({ ...trail, scope: testScope });
    const name = 'a\u2028b\u2029c\u0085d\r\n';
    await log.append(auditEntry({ subject: { kind: 'user', subjectId: name }, details: { name } }));
    const read: string[] = [];
    const report = exported({}, (lines) => {
      read.push(...lines.join('\n').split(/\r\n|[\n\r\u2028\u2029\u0085]/));
      return read;
    });
    expect(read).toHaveLength(4);
    expect(report).toMatchObject({ problems: [], chains: [{ last: 1, details: 1, broken: null }] });
  });

  test('an export that was cut, shuffled or edited', async () => {
    await fillTrail(trail, 12);
    expect(exported({}, (lines) => lines.slice(0, -1)).problems).toEqual(['the export has no end: it was cut']);
    expect(exported({}, (lines) => lines.toSpliced(5, 1)).chains[0]?.broken).toMatchObject({
      kind: 'deleted',
      sequence: 4,
    });
    const swapped = exported({}, (lines) => lines.with(4, lines[5] ?? '').with(5, lines[4] ?? ''));
    expect(swapped.chains[0]?.broken).toMatchObject({ kind: 'deleted', sequence: 3 });
    const details = exported({}, (lines) => lines.map((line) => line.replace('{\\"number\\":6}', '{\\"number\\":5}')));
    expect(details.chains[0]?.broken).toMatchObject({ kind: 'details', sequence: 7 });
    const twice = exported({}, (lines) => lines.with(4, (lines[4] ?? '').replace('"action"', '"action":"x","action"')));
    expect(twice.problems).toContain('line 5 does not belong in an export');
    expect(exported({}, (lines) => [...lines, '{}']).problems).toHaveLength(1);
    expect(exported({}, (lines) => lines.slice(1)).problems.length).toBeGreaterThan(0);
  });
});

/** With what is still in the write-ahead log. */
function backUp(file: string, copy: string): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  copyFileSync(file, copy);
}

function swap(file: string, table: string, one: number, other: number): void {
  tamper(file, (database) => {
    for (const [from, to] of [
      [one, -1],
      [other, one],
      [-1, other],
    ])
      database.exec(`UPDATE ${table} SET sequence = ${to} WHERE sequence = ${from}`);
  });
}

/** Edits the event `from` and gives all from there to `through` the hashes that they would have. */
function rehash(database: DatabaseSync, from: number, through: number): void {
  database.exec(`UPDATE audit_event SET subject_id = 'eve' WHERE sequence = ${from}`);
  for (let sequence = from; sequence <= through; sequence++) {
    const row = database.prepare('SELECT * FROM audit_event WHERE sequence = ?').get(sequence) ?? {};
    const before = database.prepare('SELECT hash FROM audit_event WHERE sequence = ?').get(sequence - 1)?.['hash'];
    const text = (name: string): string => String(row[name]);
    const hash = chainHash(owner, {
      sequence: String(sequence),
      eventId: text('event_id'),
      occurredAt: text('occurred_at'),
      subjectKind: text('subject_kind'),
      subjectId: text('subject_id'),
      action: text('action'),
      resourceKind: text('resource_kind'),
      resourceId: text('resource_id'),
      outcome: text('outcome'),
      risk: text('risk'),
      confirmation: text('confirmation'),
      correlationId: text('correlation_id'),
      traceId: null,
      detailsDigest: text('details_digest'),
      acceptedEventId: null,
      previous: String(before),
    });
    database
      .prepare('UPDATE audit_event SET previous_hash = ?, hash = ? WHERE sequence = ?')
      .run(String(before), hash, sequence);
    const last = database.prepare('SELECT max(sequence) AS last FROM audit_event').get()?.['last'];
    if (sequence === last) database.prepare('UPDATE audit_chain SET hash = ?').run(hash);
  }
}
