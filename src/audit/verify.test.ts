/** Every attack on the log listed in [audit §7] is detected, with the first bad sequence; uncovered events are reported. */
import { sign } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canonicalJson } from '../base/canonical-json.ts';
import { siteSchema } from '../databases/schemas.ts';
import { auditEntry, fillTrail, type TestTrail, testAuditKey, testScope, testTrail } from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { keyTypes } from '../transparency/signed-note.ts';
import { type EvidenceSources, gatherEvidence } from './evidence.ts';
import { exportLines, verifyExport } from './export-file.ts';
import { createAuditLog } from './log.ts';
import { type AuditKey, keyName } from './statement.ts';
import { chainHash } from './store/chain.ts';
import { scanAudit } from './store/scan.ts';
import { verifyScan } from './verify.ts';

const owner = { log: 'events', ...testScope } as const;

/** A line in the first version of the file's format: without the tree. */
function signedLine(by: AuditKey, at: { sequence: number; hash: string; issuedAt: string }): string {
  const fields = {
    schema: 'svc.audit-checkpoint.v1',
    ...owner,
    ...at,
    sequence: String(at.sequence),
    key: keyName(by.publicKey),
  };
  const signature = sign(null, Buffer.from(canonicalJson(fields)), by.privateKey).toString('base64url');
  return JSON.stringify({ ...fields, signature });
}

describe.each(engines)('audit verification on %s', (engine) => {
  let trail: TestTrail;
  let key: AuditKey;
  beforeEach(async () => {
    trail = await testTrail(engine);
    key = testAuditKey();
  });
  afterEach(async () => {
    for (const one of [trail, ...copies.splice(0)]) await one.close();
  });
  const copies: TestTrail[] = [];
  const copied = async (): Promise<TestTrail> => {
    const copy = await trail.copy();
    copies.push(copy);
    return copy;
  };

  /** A line of a checkpoint file: for the chain as it is now, or as it was at `sequence`. */
  const checkpoint = async (sequence?: number, by = key): Promise<string> => {
    const scan = await scanAudit(trail.place, siteSchema);
    const events = (await Array.fromAsync(scan.events(1, false))).flat();
    await scan.close();
    const at = sequence === undefined ? events.at(-1) : events.find((one) => one.event.sequence === String(sequence));
    if (at === undefined) throw new Error('there is no such event');
    const statement = { sequence: Number(at.event.sequence), hash: at.hash, issuedAt: '2026-01-01T00:00:00.000Z' };
    return signedLine(by, statement);
  };
  const nothing = (): EvidenceSources => ({
    keys: [],
    anchor: null,
    checkpoints: null,
    ownKey: keyName(key.publicKey),
  });
  const verify = async (sources: Partial<EvidenceSources> = {}, place = trail.place, withDetails = true) => {
    const scan = await scanAudit(place, siteSchema);
    try {
      return await verifyScan(scan, gatherEvidence({ ...nothing(), ...sources }), { withDetails });
    } finally {
      await scan.close();
    }
  };
  const broken = async (sources: Partial<EvidenceSources> = {}, place = trail.place) => {
    const [first] = (await verify(sources, place)).chains;
    return first?.broken === null || first === undefined ? null : [first.broken.kind, first.broken.sequence];
  };
  const exported = async (
    sources: { anchor?: string; checkpoints?: string } = {},
    edit = (lines: string[]) => lines,
  ) => {
    const scan = await scanAudit(trail.place, siteSchema);
    const facts = { exportedAt: 'now', key: keyName(key.publicKey), checkpoints: sources.checkpoints ?? null };
    const lines = await Array.fromAsync(exportLines(scan, facts));
    await scan.close();
    const verifier = verifyExport({ keys: [], anchor: sources.anchor ?? null, witnesses: [] });
    for (const line of edit(lines.map((text) => text.trimEnd()))) await verifier.line(line);
    return verifier.finish();
  };

  test('an unmodified log verifies; events without an anchor are reported', async () => {
    await fillTrail(trail, 30);
    const anchor = await checkpoint(20);
    const report = await verify({ anchor, checkpoints: await checkpoint() });
    expect(report.problems).toEqual([]);
    const covered = { coveredLocally: 30, coveredExternally: 20, acknowledgedBy: null };
    expect(report.chains).toEqual([{ owner, first: 1, last: 30, events: 30, details: 30, broken: null, ...covered }]);
    expect(await exported({ anchor, checkpoints: await checkpoint() })).toEqual(report);
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
      const change = (to: string) => trail.tamper(`UPDATE audit_event SET ${column} = ${to} WHERE sequence = 7`);
      await change(`${column} || 'x'`);
      expect(await broken(), column).toEqual(['edited', 7]);
      expect((await exported()).chains[0]?.broken, column).toMatchObject({ kind: 'edited', sequence: 7 });
      await change(`substr(${column}, 1, length(${column}) - 1)`);
      expect(await broken(), column).toBeNull();
    }
    for (const column of ['trace_id', 'accepted_event_id']) {
      await trail.tamper(`UPDATE audit_event SET ${column} = 'ab' WHERE sequence = 7`);
      expect(await broken(), column).toEqual(['edited', 7]);
      await trail.tamper(`UPDATE audit_event SET ${column} = NULL WHERE sequence = 7`);
    }
    // The index that a search by time uses is not part of the event, and must still be right.
    await trail.tamper('UPDATE audit_event SET era = 3 WHERE sequence = 7');
    expect(await broken()).toEqual(['time', 7]);
  });

  test('a subject’s id may hold any character; one that shifts its neighbours is seen', async () => {
    const subjectId = 'ada\u001f"\\\u001f😀';
    const log = createAuditLog({ ...trail, scope: testScope });
    for (let count = 0; count < 3; count++) await log.append(auditEntry({ subject: { kind: 'user', subjectId } }));
    expect(await verify()).toMatchObject({ problems: [], chains: [{ last: 3, broken: null }] });
    expect(await exported()).toMatchObject({ problems: [], chains: [{ last: 3, broken: null }] });
    await trail.tamper(`UPDATE audit_event SET subject_kind = subject_kind || '\u001fada',
      subject_id = substr(subject_id, 5) WHERE sequence = 2`);
    expect(await broken()).toEqual(['edited', 2]);
  });

  test('the digest of details moved into the member before it is seen, in the store and in an export', async () => {
    await fillTrail(trail, 4);
    const moved = (line: string): string => {
      const { detailsDigest, details: _, ...event } = JSON.parse(line);
      return JSON.stringify({ ...event, correlationId: `${event.correlationId}","detailsDigest":"${detailsDigest}` });
    };
    const edited = await exported({}, (lines) => lines.with(3, moved(lines[3] ?? '')));
    expect(edited.chains[0]?.broken).toMatchObject({ kind: 'edited', sequence: 2 });
    await trail.tamper(`UPDATE audit_event SET details_digest = NULL,
      correlation_id = correlation_id || '","detailsDigest":"' || details_digest WHERE sequence = 2;
      DELETE FROM audit_details WHERE sequence = 2`);
    expect(await broken()).toEqual(['edited', 2]);
  });

  test('an event edited together with its own hash is betrayed by the next one', async () => {
    await fillTrail(trail, 12);
    await rehash(trail, 7, 7);
    expect(await broken()).toEqual(['replaced', 7]);
  });

  test('a row deleted, at the beginning, in the middle and at the end', async () => {
    await fillTrail(trail, 12);
    for (const [sequence, kind] of [
      [1, 'deleted'],
      [6, 'deleted'],
      [12, 'cut'],
    ] as const) {
      const copy = await copied();
      await copy.tamper(`DELETE FROM audit_details WHERE sequence = ${sequence};
        DELETE FROM audit_event WHERE sequence = ${sequence}`);
      expect(await broken({}, copy.place)).toEqual([kind, sequence]);
    }
  });

  test('two swapped, near and far', async () => {
    await fillTrail(trail, 40);
    for (const [one, other] of [
      [5, 6],
      [3, 38],
    ] as const) {
      await swap(trail, 'audit_event', one, other);
      await swap(trail, 'audit_details', one, other);
      expect(await broken()).toEqual(['reordered', one]);
      await swap(trail, 'audit_event', one, other);
      await swap(trail, 'audit_details', one, other);
      expect(await broken()).toBeNull();
    }
  });

  test('details swapped between two events, edited, removed, or added', async () => {
    await fillTrail(trail, 12);
    const attack = async (sql: string, details = true): ReturnType<typeof verify> => {
      const copy = await copied();
      await copy.tamper(sql);
      return verify({}, copy.place, details);
    };
    const copy = await copied();
    await swap(copy, 'audit_details', 4, 9);
    expect(await broken({}, copy.place)).toEqual(['details', 4]);
    const edited = `UPDATE audit_details SET details = '{"number":99}' WHERE sequence = 6`;
    expect((await attack(edited)).chains[0]?.broken).toMatchObject({ kind: 'details', sequence: 6 });
    expect((await attack(edited, false)).chains[0]?.broken).toBeNull();
    const removed = await attack('DELETE FROM audit_details WHERE sequence = 6');
    expect(removed.chains[0]?.broken).toMatchObject({ kind: 'details', sequence: 6 });
    expect((await attack(`INSERT INTO audit_details VALUES (1, 13, '{}')`)).problems).toHaveLength(1);
  });

  test('the tail cut, with the head put right: caught by an anchor, and by the checkpoints of the data dir', async () => {
    await fillTrail(trail, 12);
    const anchor = await checkpoint(10);
    await trail.tamper(`DELETE FROM audit_details WHERE sequence > 8; DELETE FROM audit_event WHERE sequence > 8;
      UPDATE audit_chain SET sequence = 8, hash = (SELECT hash FROM audit_event WHERE sequence = 8)`);
    expect(await broken({ anchor })).toEqual(['cut', 9]);
    expect(await broken({ checkpoints: anchor })).toEqual(['cut', 9]);
    expect((await exported({ anchor })).chains[0]?.broken).toMatchObject({ kind: 'cut', sequence: 9 });
    // Without a checkpoint nothing shows it; and nothing is claimed.
    expect((await verify()).chains[0]).toMatchObject({ broken: null, coveredLocally: 0, coveredExternally: 0 });
  });

  test('a whole older copy put back, and one that continued from there', async () => {
    await fillTrail(trail, 8);
    const older = await copied();
    const early = await checkpoint(5);
    await fillTrail(trail, 4);
    const anchor = `${early}\n${await checkpoint(12)}\n`;
    expect(await broken({ anchor })).toBeNull();
    expect(await broken({ anchor }, older.place)).toEqual(['cut', 9]);
    await fillTrail(older, 10);
    // Between the last anchor that matches and the first that does not, nobody can tell which event was changed first.
    expect(await broken({ anchor }, older.place)).toEqual(['rewritten', 6]);
    expect(await broken({ anchor: early }, older.place)).toBeNull();
  });

  test('everything rewritten from some event on, hashes and head included', async () => {
    await fillTrail(trail, 20);
    const anchor = (await Promise.all([5, 10, 20].map((sequence) => checkpoint(sequence)))).join('\n');
    await rehash(trail, 13, 20);
    expect(await broken()).toBeNull();
    expect(await broken({ anchor })).toEqual(['rewritten', 11]);
  });

  test('a chain removed altogether', async () => {
    await fillTrail(trail, 5);
    const anchor = await checkpoint();
    await trail.tamper('DELETE FROM audit_chain');
    const headless = await verify({ anchor });
    expect([headless.problems, headless.chains[0]?.broken]).toMatchObject([
      ['the events of chain 1 have no head'],
      { kind: 'cut', sequence: 1 },
    ]);
  });

  test('only believed keys count: those given, else the anchor’s, else the data dir’s', async () => {
    await fillTrail(trail, 5);
    const forger = testAuditKey();
    const anchor = await checkpoint(5);
    const forged = await checkpoint(5, forger);
    expect((await verify({ anchor: forged, ownKey: keyName(key.publicKey) })).problems).not.toEqual([]);
    expect((await verify({ anchor, checkpoints: forged })).problems).toHaveLength(1);
    expect((await verify({ anchor, keys: [keyName(forger.publicKey)] })).problems.length).toBeGreaterThan(0);
    expect((await verify({ anchor, keys: [keyName(key.publicKey)] })).problems).toEqual([]);
    expect(
      (await verify({ anchor: anchor.replace('"sequence":"5"', '"sequence":"4"') })).problems.length,
    ).toBeGreaterThan(0);
    expect((await verify({ anchor: '' })).problems).toEqual(['the anchor contains no checkpoint']);
    expect((await verify({ anchor: 'no json' })).problems).toHaveLength(2);
  });

  test('line separators in a subject name do not split a line of an export', async () => {
    const log = createAuditLog({ ...trail, scope: testScope });
    const name = 'a\u2028b\u2029c\u0085d\r\n';
    await log.append(auditEntry({ subject: { kind: 'user', subjectId: name }, details: { name } }));
    const read: string[] = [];
    const report = await exported({}, (lines) => {
      read.push(...lines.join('\n').split(/\r\n|[\n\r\u2028\u2029\u0085]/));
      return read;
    });
    expect(read).toHaveLength(4);
    expect(report).toMatchObject({ problems: [], chains: [{ last: 1, details: 1, broken: null }] });
  });

  test('an export begins with instructions for verification; a log that was never signed has no key', async () => {
    await fillTrail(trail, 3);
    let first = '';
    await exported({}, (lines) => {
      first = lines[0] ?? '';
      return lines;
    });
    const { instructions } = JSON.parse(first) as { readonly instructions: readonly string[] };
    for (const word of ['--file', '--key', '--anchor', '--witness', 'SHA-256', 'RFC 6962'])
      expect(instructions.join(' ')).toContain(word);
    const scan = await scanAudit(trail.place, siteSchema);
    const witness = {
      name: 'auditor.example',
      type: keyTypes.witness,
      keyId: new Uint8Array(4),
      publicKey: new Uint8Array(32),
    };
    const { problems } = await verifyScan(scan, gatherEvidence(nothing()), { withDetails: true, witnesses: [witness] });
    await scan.close();
    expect(problems).toEqual([
      'no head of events of tenant-1/project-1 that is kept here is cosigned by auditor.example',
    ]);
  });

  test('an export that was cut, shuffled or edited', async () => {
    await fillTrail(trail, 12);
    expect((await exported({}, (lines) => lines.slice(0, -1))).problems).toEqual(['the export has no end: it was cut']);
    expect((await exported({}, (lines) => lines.toSpliced(5, 1))).chains[0]?.broken).toMatchObject({
      kind: 'deleted',
      sequence: 4,
    });
    const swapped = await exported({}, (lines) => lines.with(4, lines[5] ?? '').with(5, lines[4] ?? ''));
    expect(swapped.chains[0]?.broken).toMatchObject({ kind: 'deleted', sequence: 3 });
    const details = await exported({}, (lines) =>
      lines.map((line) => line.replace('{\\"number\\":6}', '{\\"number\\":5}')),
    );
    expect(details.chains[0]?.broken).toMatchObject({ kind: 'details', sequence: 7 });
    const twice = await exported({}, (lines) =>
      lines.with(4, (lines[4] ?? '').replace('"action"', '"action":"x","action"')),
    );
    expect(twice.problems).toContain('not part of an export: line 5');
    const other = await exported({}, () => Array.from({ length: 5000 }, (_, at) => `${at}`));
    expect(other.problems).toEqual([
      'the export has no end: it was cut',
      'not part of an export: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 4990 more',
    ]);
    expect((await exported({}, (lines) => [...lines, '{}'])).problems).toHaveLength(1);
    expect((await exported({}, (lines) => lines.slice(1))).problems.length).toBeGreaterThan(0);
  });
});

function swap(trail: TestTrail, table: string, one: number, other: number): Promise<void> {
  const moves = [
    [one, -1],
    [other, one],
    [-1, other],
  ];
  return trail.tamper(
    moves.map(([from, to]) => `UPDATE ${table} SET sequence = ${to} WHERE sequence = ${from}`).join(';'),
  );
}

/** Edits the event `from` and recomputes the hashes from there to `through`. */
async function rehash(trail: TestTrail, from: number, through: number): Promise<void> {
  const rows = await trail.database.query
    .selectFrom('audit_event')
    .selectAll()
    .where('sequence', '>=', from - 1)
    .orderBy('sequence')
    .execute();
  const statements: string[] = [];
  let previous = rows[0]?.hash ?? '';
  for (const row of rows.slice(1)) {
    if (row.sequence > through) break;
    const subjectId = row.sequence === from ? 'eve' : row.subject_id;
    const hash = chainHash(owner, {
      sequence: String(row.sequence),
      eventId: row.event_id,
      occurredAt: row.occurred_at,
      subjectKind: row.subject_kind,
      subjectId,
      action: row.action,
      resourceKind: row.resource_kind,
      resourceId: row.resource_id,
      outcome: row.outcome,
      risk: row.risk,
      confirmation: row.confirmation,
      correlationId: row.correlation_id,
      traceId: null,
      detailsDigest: row.details_digest,
      acceptedEventId: null,
      previous,
    });
    const values = `subject_id = '${subjectId}', previous_hash = '${previous}', hash = '${hash}'`;
    statements.push(`UPDATE audit_event SET ${values} WHERE sequence = ${row.sequence}`);
    previous = hash;
  }
  if (rows.at(-1)?.sequence === through) statements.push(`UPDATE audit_chain SET hash = '${previous}'`);
  await trail.tamper(statements.join(';'));
}
