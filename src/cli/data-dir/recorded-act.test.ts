/** Commands that change the data dir beside a service [platform §3]: only they conclude their records, however long they take. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAuditLog } from '../../audit/log.ts';
import { closeOpenRecords } from '../../audit/open-records.ts';
import { inProgressEveryMs, inProgressForMs } from '../../audit/store/in-progress.ts';
import { systemClock } from '../../base/clock.ts';
import { type TestTrail, testScope, testTrail } from '../../testing/audit-trail.ts';
import { engines } from '../../testing/engines.ts';
import { type SimulatedClock, simulatedClock } from '../../testing/simulated-clock.ts';
import { type BeginActs, recordedActs } from './recorded-act.ts';

const act = (id: string) =>
  ({
    action: 'history.import',
    resource: { kind: 'history-series', resourceId: `history-series:${id}` },
    confirmation: 'not-required',
  }) as const;

describe.each(engines)('the acts of a command on %s', (engine) => {
  let trail: TestTrail;
  let clock: SimulatedClock;
  let begin: BeginActs;
  beforeEach(async () => {
    trail = await testTrail(engine);
    clock = Object.assign(simulatedClock(trail.clock.wallMs()), { soon: systemClock.soon });
    begin = recordedActs(trail.database, createAuditLog({ ...trail, clock, scope: testScope }), clock);
  });
  afterEach(() => trail.close());
  /** What a service does when it starts. */
  const start = () => closeOpenRecords({ ...trail, clock, scope: testScope });
  const outcomes = async () =>
    (await trail.rows('SELECT resource_id, outcome FROM audit_event ORDER BY sequence')).map((row) =>
      Object.values(row).join(' '),
    );
  const untilMs = async () => Number((await trail.rows('SELECT until_ms FROM audit_in_progress'))[0]?.['until_ms']);

  test('are left open by a service that starts in between, for as long as the command runs', async () => {
    const end = await begin([act('1'), act('2')], { file: 'a.csv' });
    for (let passedMs = 0; passedMs < 3 * inProgressForMs; passedMs += inProgressEveryMs) {
      expect(await start()).toBe(0);
      clock.advance(inProgressEveryMs);
      await expect.poll(untilMs).toBe(clock.wallMs() + inProgressForMs);
    }
    await end('succeeded', { rows: 3 });
    expect(await start()).toBe(0);
    expect(await outcomes()).toEqual([
      'history-series:1 accepted',
      'history-series:2 accepted',
      'history-series:1 succeeded',
      'history-series:2 succeeded',
    ]);
    expect(await trail.rows('SELECT * FROM audit_in_progress')).toEqual([]);
    clock.advance(inProgressForMs);
    expect(await trail.rows('SELECT * FROM audit_in_progress')).toEqual([]);
  });
});
