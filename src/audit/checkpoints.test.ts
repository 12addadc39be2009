/** When checkpoints are signed, and that they never vouch for what is broken [audit §7]. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import { siteSchema } from '../databases/schemas.ts';
import {
  auditEntry,
  fillTrail,
  type TestTrail,
  testAuditKey,
  testOrigin,
  testScope,
  testSigner,
  testTrail,
} from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { type SimulatedClock, simulatedClock } from '../testing/simulated-clock.ts';
import type { Checkpointer } from './checkpoints.ts';
import { gatherEvidence } from './evidence.ts';
import { auditLimits } from './limits.ts';
import { createAccessLog, createAuditLog } from './log.ts';
import { type AuditKey, readCheckpoints } from './statement.ts';
import { scanAudit } from './store/scan.ts';
import { auditFiles, auditKey, openAuditTrail } from './trail.ts';
import { verifyScan } from './verify.ts';

const owner = { log: 'events', ...testScope } as const;
const alone = { origin: testOrigin, witnesses: [], required: 0, sharedForMs: null };

describe.each(engines)('audit checkpoints on %s', (engine) => {
  let trail: TestTrail;
  let key: AuditKey;
  let time: SimulatedClock;
  let messages: string[];
  let logged: (message: string) => void;
  beforeEach(async () => {
    trail = await testTrail(engine);
    key = testAuditKey();
    time = simulatedClock();
    messages = [];
    logged = () => undefined;
  });
  afterEach(() => trail.close());

  const note = (message: string): void => {
    messages.push(message);
    logged(message);
  };
  const log: Log = { ...silentLog, info: note, error: note };
  const said = (): Promise<string> => new Promise((resolve) => (logged = resolve));
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) await new Promise<void>((resolve) => systemClock.soon(resolve));
  };
  const file = (): string => auditFiles(trail.folder).checkpoints;
  const start = (by = key, limits = auditLimits): Checkpointer => {
    const clock = { ...time, soon: systemClock.soon };
    const { checkpointer } = testSigner(trail, { clock, log, limits, key: by });
    checkpointer.open();
    return checkpointer;
  };
  const signed = () =>
    existsSync(file())
      ? readCheckpoints(readFileSync(file(), 'utf8')).statements.map((one) => [one.log, Number(one.sequence)])
      : [];

  test('after every 1000 events, not before', async () => {
    expect(auditLimits.checkpoint_events).toBe(1000);
    const checkpointer = start();
    const audit = createAuditLog({ ...trail, scope: testScope, onAppended: (events) => checkpointer.appended(events) });
    await Promise.all(Array.from({ length: 999 }, () => audit.append(auditEntry())));
    await turns();
    expect(signed()).toEqual([]);
    const next = said();
    await audit.append(auditEntry());
    expect(await next).toBe('audit checkpoint');
    expect(signed()).toEqual([['events', 1000]]);
    await checkpointer.close();
    expect(signed()).toEqual([['events', 1000]]);
  });

  test('after 10 minutes, when there is anything new; each chain for itself', async () => {
    const checkpointer = start();
    await turns();
    await fillTrail(trail, 3);
    await createAccessLog(trail).record(testScope, auditEntry({ action: 'audit.event.search' }));
    time.advance(599_999);
    await turns();
    expect(signed()).toEqual([]);
    time.advance(1);
    await expect.poll(signed).toEqual([
      ['events', 3],
      ['access', 1],
    ]);
    // Nothing new, but reported again [audit §9.3].
    expect(auditLimits.checkpoint_max_age_ms).toBe(600_000);
    time.advance(600_000);
    await expect.poll(signed).toEqual([
      ['events', 3],
      ['access', 1],
      ['events', 3],
      ['access', 1],
    ]);
    await checkpointer.close();
  });

  test('at a clean shutdown, and at the start for events that a crash left uncovered; readable by the owner only', async () => {
    const first = start();
    await fillTrail(trail, 2);
    await first.close();
    await fillTrail(trail, 2);
    const next = said();
    const second = start();
    await next;
    await fillTrail(trail, 1);
    await second.close();
    expect(signed()).toEqual([
      ['events', 2],
      ['events', 4],
      ['events', 5],
    ]);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const scan = await scanAudit(trail.place, siteSchema);
    const evidence = gatherEvidence({
      keys: [],
      anchor: null,
      checkpoints: readFileSync(file(), 'utf8'),
      ownKey: null,
    });
    expect((await verifyScan(scan, evidence, { withDetails: true })).chains[0]).toMatchObject({
      broken: null,
      coveredLocally: 5,
    });
    await scan.close();
  });

  test('a chain that was broken since the last checkpoint is not signed, and the log names the place', async () => {
    await fillTrail(trail, 10);
    const checkpointer = start();
    expect(await checkpointer.cover(owner)).toMatchObject({ sequence: 10 });
    await fillTrail(trail, 10);
    await trail.tamper(`UPDATE audit_event SET subject_id = 'eve' WHERE sequence = 15`);
    expect(await checkpointer.cover(owner)).toMatchObject({ sequence: 10 });
    expect(messages.at(-1)).toMatch(/broken/);
    await checkpointer.close();
    expect(signed()).toEqual([['events', 10]]);
  });

  test('a break that ended is noticed within 5 s, also when the next checkpoint is due much later [audit §9.7]', async () => {
    await fillTrail(trail, 3);
    const clock = { ...time, soon: systemClock.soon };
    const { checkpointer, breaks } = testSigner(trail, { clock, log, key });
    checkpointer.open();
    await expect.poll(signed).toEqual([['events', 3]]);
    await fillTrail(trail, 1);
    await trail.tamper(`UPDATE audit_event SET outcome = 'denied' WHERE sequence = 4`);
    expect(await checkpointer.cover(owner)).toMatchObject({ sequence: 3 });
    expect(breaks.list()).toMatchObject([{ sequence: 4 }]);
    await trail.tamper(`UPDATE audit_event SET outcome = 'accepted' WHERE sequence = 4`);
    time.advance(5000);
    await expect.poll(() => breaks.list()).toEqual([]);
    expect(signed()).toEqual([
      ['events', 3],
      ['events', 4],
    ]);
    await checkpointer.close();
  });

  test('a chain that was truncated after its checkpoint is not signed', async () => {
    await fillTrail(trail, 10);
    await start().close();
    await trail.tamper(`DELETE FROM audit_details WHERE sequence > 8; DELETE FROM audit_event WHERE sequence > 8;
      UPDATE audit_chain SET sequence = 8, hash = (SELECT hash FROM audit_event WHERE sequence = 8)`);
    await start().close();
    expect(messages.at(-1)).toMatch(/broken/);
    expect(signed()).toEqual([['events', 10]]);
  });

  test('checkpoints of another key are not built upon', async () => {
    await fillTrail(trail, 4);
    await start(testAuditKey()).close();
    await trail.tamper(`UPDATE audit_event SET risk = 'low' WHERE sequence = 2`);
    await start().close();
    expect(messages.at(-1)).toMatch(/broken/);
  });

  test('a line that a power cut left unfinished spoils no other', async () => {
    await fillTrail(trail, 2);
    await start().close();
    appendFileSync(file(), '{"schema":"svc.audit-ch');
    await fillTrail(trail, 2);
    await start().close();
    expect(readCheckpoints(readFileSync(file(), 'utf8')).badLines).toEqual([]);
    expect(signed()).toEqual([
      ['events', 2],
      ['events', 4],
    ]);
  });

  test('a file that cannot be written is reported; the service continues', async () => {
    await fillTrail(trail, 2);
    const clock = { ...time, soon: systemClock.soon };
    mkdirSync(file());
    await testSigner(trail, { clock, log, key }).checkpointer.close();
    expect(messages.at(-1)).toMatch(/cannot write an audit checkpoint/);
  });

  test('the key is made once, beside the signing key, readable by the owner only; a damaged one stops the start', async () => {
    const made = auditKey(trail.folder);
    expect(statSync(auditFiles(trail.folder).key).mode & 0o777).toBe(0o600);
    expect(auditKey(trail.folder).privateKey.equals(made.privateKey)).toBe(true);
    writeFileSync(auditFiles(trail.folder).key, 'x');
    expect(() => auditKey(trail.folder)).toThrow(/audit-key\.pem .* damaged/);
  });

  test('a trail closes records that a crash left open, and covers them', async () => {
    await fillTrail(trail, 3);
    const parts = { ...trail, dataFolder: trail.folder, clock: systemClock, log, limits: auditLimits };
    const opened = await openAuditTrail({ ...parts, ...alone, scope: testScope, key });
    await opened.close();
    expect(signed()).toEqual([['events', 6]]);
    const page = await opened.search.page(testScope, { below: null, limit: 3, from: null, to: null, filters: {} });
    expect(page.items.map((item) => item.outcome)).toEqual(['unknown', 'unknown', 'unknown']);
  });

  test('a shared trail closes records that another process left open soon after the configured time', async () => {
    const simulated = simulatedClock(trail.clock.wallMs());
    const parts = { ...trail, dataFolder: trail.folder, clock: { ...simulated, soon: systemClock.soon }, log };
    const more = { limits: auditLimits, key, scope: testScope, sharedForMs: 631_000 };
    const opened = await openAuditTrail({ ...parts, ...alone, ...more });
    simulated.advance(632_000);
    await trail.database.transaction((transaction) => opened.log.appendIn(transaction, auditEntry()));
    const outcomes = async () => {
      const asked = { below: null, limit: 9, from: null, to: null, filters: {} };
      return (await opened.search.page(testScope, asked)).items.map((item) => item.outcome);
    };
    // Half a second before it may be closed: the check finishes before anything else is stored.
    simulated.advance(630_500);
    await trail.database.commitNothing();
    expect(await outcomes()).toEqual(['accepted']);
    // Checked every 120 s, although a record may stand open for longer.
    const next = async () => {
      simulated.advance(120_000);
      return outcomes();
    };
    await expect.poll(next).toEqual(['unknown', 'accepted']);
    await opened.close();
  });
});
