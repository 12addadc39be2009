/** Accepted records without a conclusion [platform §3]: a crash left them open, and they end as `unknown`. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { silentLog } from '../base/log.ts';
import { dayMs } from '../base/timestamp.ts';
import { auditEntry, fillTrail, type TestTrail, testScope, testTrail } from '../testing/audit-trail.ts';
import { engines } from '../testing/engines.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { type AuditLog, createAuditLog } from './log.ts';
import { closeOpenRecords, OpenRecords } from './open-records.ts';
import { InProgress, inProgressForMs } from './store/in-progress.ts';

describe.each(engines)('open audit records on %s', (engine) => {
  let trail: TestTrail;
  let log: AuditLog;
  beforeEach(async () => {
    trail = await testTrail(engine);
    log = createAuditLog({ ...trail, scope: testScope });
  });
  afterEach(() => trail.close());
  const close = (olderThanMs?: number, signal?: AbortSignal): Promise<number> =>
    closeOpenRecords({ ...trail, scope: testScope }, olderThanMs, signal);
  const closedThrough = async () => (await trail.rows('SELECT closed_through FROM audit_chain'))[0]?.['closed_through'];

  test('are closed as unknown, once', async () => {
    const done = await log.append(auditEntry());
    await log.append(auditEntry({ outcome: 'succeeded', acceptedEventId: done.eventId }));
    const open = await log.append(auditEntry({ correlationId: 'correlation-2' }));
    expect([await close(), await close()]).toEqual([1, 0]);
    const last = await trail.database.query
      .selectFrom('audit_event')
      .selectAll()
      .orderBy('sequence', 'desc')
      .executeTakeFirstOrThrow();
    expect([last.outcome, last.accepted_event_id, last.correlation_id, last.sequence]).toEqual([
      'unknown',
      open.eventId,
      'correlation-2',
      4,
    ]);
  });

  test('stay open for as long as another process may be at work on them, at its edge', async () => {
    // The longest call that a route may allow, and the margin.
    const sharedForMs = 631_000;
    const begunMs = trail.clock.wallMs();
    await log.append(auditEntry());
    trail.clock.setWall(begunMs + 1);
    await log.append(auditEntry());
    trail.clock.setWall(begunMs + sharedForMs - 1);
    expect(await close(sharedForMs)).toBe(0);
    trail.clock.setWall(begunMs + sharedForMs);
    expect(await close(sharedForMs)).toBe(1);
    trail.clock.setWall(begunMs + sharedForMs + 1);
    expect([await close(sharedForMs), await close(sharedForMs)]).toEqual([1, 0]);
    expect(await trail.rows('SELECT sequence FROM audit_event ORDER BY sequence')).toHaveLength(4);
  });

  test('of an act in progress stay open until `inProgressForMs` after its process last renewed it, at its edge', async () => {
    const act = new InProgress(trail.database, trail.clock, 'correlation-1');
    const begunMs = trail.clock.wallMs();
    await act.renew();
    await log.append(auditEntry());
    await log.append(auditEntry({ correlationId: 'correlation-2' }));
    // A service that starts closes all others.
    expect([await close(), await closedThrough()]).toEqual([1, 0]);
    trail.clock.setWall(begunMs + 3_600_000);
    await act.renew();
    trail.clock.setWall(begunMs + 3_600_000 + inProgressForMs - 1);
    expect([await close(), await close(631_000), await close(Number.POSITIVE_INFINITY)]).toEqual([0, 0, 0]);
    trail.clock.setWall(begunMs + 3_600_000 + inProgressForMs);
    // Even by a check that closes nothing else: another process accepted it.
    expect([await close(Number.POSITIVE_INFINITY), await closedThrough()]).toEqual([1, 3]);
    expect(await trail.rows('SELECT * FROM audit_in_progress')).toEqual([]);
  });

  test('those of an act in progress are concluded by its process, which then removes its claim', async () => {
    const act = new InProgress(trail.database, trail.clock, 'correlation-1');
    await act.renew();
    const { eventId } = await log.append(auditEntry());
    await log.append(auditEntry({ outcome: 'succeeded', acceptedEventId: eventId }));
    await act.end();
    expect([await close(), await closedThrough()]).toEqual([0, 2]);
    expect(await trail.rows('SELECT * FROM audit_in_progress')).toEqual([]);
  });

  test('are closed behind one that a clock, set back since, makes young', async () => {
    const begunMs = trail.clock.wallMs();
    await log.append(auditEntry());
    trail.clock.setWall(begunMs - 3_600_000);
    await log.append(auditEntry());
    trail.clock.setWall(begunMs - 3_600_000 + 631_000);
    expect([await close(631_000), await close(631_000), await closedThrough()]).toEqual([1, 0, 0]);
    trail.clock.setWall(begunMs + 631_000);
    expect([await close(631_000), await close(631_000)]).toEqual([1, 0]);
  });

  test('are closed if their time is more than a day ahead, at its edge', async () => {
    const begunMs = trail.clock.wallMs();
    await log.append(auditEntry());
    trail.clock.setWall(begunMs - dayMs);
    expect(await close(631_000)).toBe(0);
    trail.clock.setWall(begunMs - dayMs - 1);
    expect([await close(631_000), await closedThrough()]).toEqual([1, 1]);
  });

  test('of an act in progress are closed if a wrong clock has claimed it for more than a day, at its edge', async () => {
    const begunMs = trail.clock.wallMs();
    await new InProgress(trail.database, trail.clock, 'correlation-1').renew();
    await log.append(auditEntry());
    trail.clock.setWall(begunMs + inProgressForMs - dayMs);
    expect([await close(), await close(Number.POSITIVE_INFINITY)]).toEqual([0, 0]);
    trail.clock.setWall(begunMs + inProgressForMs - dayMs - 1);
    expect([await close(Number.POSITIVE_INFINITY), await close()]).toEqual([1, 0]);
  });

  test('are searched in windows, each in its own transaction, and an interrupted search continues where it ended', async () => {
    await fillTrail(trail, 5001);
    const stop = new AbortController();
    const asked = { ...trail, scope: testScope, onAppended: () => stop.abort() };
    expect(await closeOpenRecords(asked, 0, stop.signal)).toBe(5000);
    expect(await closedThrough()).toBe(5000);
    const commits: number[] = [];
    expect(await closeOpenRecords({ ...asked, onAppended: (events) => commits.push(events) })).toBe(1);
    expect(commits).toEqual([1]);
    expect([await close(), await closedThrough()]).toEqual([0, 10_002]);
  });

  test('those of this process stay open while it runs, and concluded ones are not read again', async () => {
    const clock = { ...simulatedClock(trail.clock.wallMs()), soon: systemClock.soon };
    await log.append(auditEntry());
    const records = new OpenRecords({ ...trail, clock, log: silentLog, scope: testScope, sharedForMs: null });
    await records.open();
    expect(await closedThrough()).toBe(1);
    const { eventId } = await log.append(auditEntry());
    await log.append(auditEntry({ outcome: 'succeeded', acceptedEventId: eventId }));
    await log.append(auditEntry());
    clock.advance(119_999);
    await trail.database.commitNothing();
    expect(await closedThrough()).toBe(1);
    clock.advance(1);
    // The record closed at the start is the second of five; the last one is still in progress.
    await expect.poll(closedThrough).toBe(4);
    clock.advance(10 * 120_000);
    await records.close();
    expect(await trail.rows(`SELECT sequence FROM audit_event WHERE outcome = 'unknown'`)).toEqual([{ sequence: 2 }]);
  });
});
