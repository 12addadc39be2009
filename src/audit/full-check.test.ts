/** The check of every stored event beside the running service [audit §7], on both engines. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import {
  auditEntry,
  fillTrail,
  type TestTrail,
  testAuditKey,
  testScope,
  testSigner,
  testTrail,
} from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { FullCheck } from './full-check.ts';
import { auditLimits } from './limits.ts';
import { createAuditLog } from './log.ts';
import { closeOpenRecords } from './open-records.ts';
import { createRetention } from './retention.ts';
import { type AuditKey, keyName } from './statement.ts';

const owner = { log: 'events', ...testScope } as const;

describe.each(engines)('the full check on %s', (engine) => {
  let trail: TestTrail;
  let key: AuditKey;
  beforeEach(async () => {
    trail = await testTrail(engine);
    key = testAuditKey();
  });
  afterEach(() => trail.close());

  /** A clock on which pauses take no time; the requested pauses are added up. */
  const impatient = (inPause: () => Promise<void> = async () => undefined) => {
    let pausedMs = 0;
    const after = (ms: number, task: () => void) => {
      pausedMs += ms;
      void inPause().then(() => systemClock.soon(task));
      return { cancel: () => undefined };
    };
    return { clock: { ...trail.clock, after }, paused: () => pausedMs };
  };
  const signer = () => testSigner(trail, { key });
  const checked = async (of = signer(), inPause?: () => Promise<void>) => {
    const { clock } = impatient(inPause);
    const parts = { database: trail.database, clock, log: silentLog, limits: auditLimits, breaks: of.breaks };
    await new FullCheck({ ...parts, key: keyName(key.publicKey), heads: () => of.checkpointer.heads() }).check();
    return of.breaks.list();
  };

  test('[audit §7] reports nothing for an intact log, also after retention', async () => {
    expect(auditLimits.full_check_interval_ms).toBe(86_400_000);
    await fillTrail(trail, 700);
    const log = createAuditLog({ ...trail, scope: testScope });
    await closeOpenRecords({ ...trail, scope: testScope });
    const of = signer();
    await of.checkpointer.cover(owner);
    expect(await checked(of)).toEqual([]);
    trail.clock.setWall(trail.clock.wallMs() + 10 * 86_400_000);
    const { eventId } = await log.append(auditEntry());
    await log.append(auditEntry({ outcome: 'succeeded', acceptedEventId: eventId }));
    const limits = { ...auditLimits, retention_days: 5 };
    await createRetention({ ...trail, log: silentLog, limits, key, checkpointer: of.checkpointer }).sweep();
    await of.checkpointer.cover(owner);
    expect(await checked(of)).toEqual([]);
  });

  test.each([
    [`UPDATE audit_event SET subject_id = 'eve' WHERE sequence = 40`, 40],
    [`UPDATE audit_details SET details = '{}' WHERE sequence = 300`, 300],
    ['DELETE FROM audit_details WHERE sequence = 9; DELETE FROM audit_event WHERE sequence = 9', 9],
  ])('[audit §7] %s is found long behind the last checkpoint', async (damage, sequence) => {
    await fillTrail(trail, 400);
    const of = signer();
    await of.checkpointer.cover(owner);
    await trail.tamper(damage);
    await of.checkpointer.cover(owner);
    expect(of.breaks.list()).toEqual([]);
    expect(await checked(of)).toMatchObject([{ origin: 'setpoint/test/tenant-1/project-1/events', sequence }]);
  });

  test('[audit §7] events recorded and signed during the check are not reported', async () => {
    const access = { ...owner, log: 'access' } as const;
    await fillTrail(trail, 700);
    await fillTrail(trail, 3, 'access');
    const of = signer();
    for (const each of [owner, access]) await of.checkpointer.cover(each);
    const found = await checked(of, async () => {
      for (const each of [owner, access]) {
        await fillTrail(trail, 2, each.log);
        await of.checkpointer.cover(each);
      }
    });
    expect(found).toEqual([]);
    expect(of.checkpointer.signedSize(access)).toBeGreaterThan(3);
  });

  test('[audit §7] works a twentieth of the time', async () => {
    await fillTrail(trail, 400);
    const { clock, paused } = impatient();
    const { breaks, checkpointer } = signer();
    await checkpointer.cover(owner);
    let nowMs = 0;
    // Each reading of the clock is 2 ms later than the one before: a slice of work takes 2 ms.
    const ticking = { ...clock, monotonicMs: () => (nowMs += 2) };
    const parts = { database: trail.database, clock: ticking, log: silentLog, limits: auditLimits, breaks };
    await new FullCheck({ ...parts, key: '', heads: () => [] }).check();
    expect(paused()).toBeCloseTo(2 * 2 * 19);
  });
});
