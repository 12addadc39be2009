/** [data-processing §8] scheduled forecasts: their times, their requests, and their subject. */
import { describe, expect, test } from 'vitest';
import type { ProcessTaskRequest } from '../api/processing.ts';
import { Fault } from '../base/fault.ts';
import { type Log, silentLog } from '../base/log.ts';
import { commissionFaults, type Edit, loadRoute } from '../testing/load-site.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { isScheduled, nextRunMs, runSchedule, type ScheduledRoute, scheduledRequest } from './schedule.ts';

const nowMs = Date.UTC(2026, 6, 11, 12, 0, 1);
const enabled = '    enabled: true\n';

const withSchedule = (text: string): readonly Edit[] => [[enabled, `${enabled}    schedule: { ${text} }\n`]];

function scheduled(text: string, task: readonly Edit[] = []): ScheduledRoute {
  const route = loadRoute({ routes: withSchedule(text), task });
  if (!isScheduled(route)) throw new Error('no schedule');
  return route;
}

describe('the next run', () => {
  const next = (every_seconds: number, offset_seconds: number | undefined, at: string): string =>
    new Date(
      nextRunMs({ every_seconds, ...(offset_seconds !== undefined && { offset_seconds }) }, Date.parse(at)),
    ).toISOString();

  test('is a multiple of the period since the epoch, plus the offset, and always ahead', () => {
    expect(next(900, undefined, '2026-07-11T12:00:00Z')).toBe('2026-07-11T12:15:00.000Z');
    expect(next(900, undefined, '2026-07-11T12:14:59.999Z')).toBe('2026-07-11T12:15:00.000Z');
    expect(next(900, 60, '2026-07-11T12:00:00Z')).toBe('2026-07-11T12:01:00.000Z');
    expect(next(900, 60, '2026-07-11T12:01:00Z')).toBe('2026-07-11T12:16:00.000Z');
    expect(next(86_400, 3600, '2026-07-11T12:00:00Z')).toBe('2026-07-12T01:00:00.000Z');
  });
});

describe('its request', () => {
  test('asks for the newest settled label and the whole horizon of the task', () => {
    const request = scheduledRequest(scheduled('every_seconds: 900'), nowMs);
    expect(request).toEqual({
      task_id: 'energy.site-load-forecast',
      expected_task_revision: 1,
      binding_id: 'energy.example-site',
      expected_binding_revision: 1,
      as_of: '2026-07-11T12:00:00Z',
      options: { kind: 'forecast', horizon_steps: 288 },
    });
    const early = scheduledRequest(
      scheduled('every_seconds: 900', [['settle_seconds: 0', 'settle_seconds: 2']]),
      nowMs,
    );
    expect(early.as_of).toBe('2026-07-11T11:45:00Z');
  });

  test('has the members of the schedule', () => {
    const own = scheduled('every_seconds: 900, horizon_steps: 1, quantiles: [0.5]', [
      ['max_quantiles: 0', 'max_quantiles: 1'],
    ]);
    expect(scheduledRequest(own, nowMs).options).toEqual({ kind: 'forecast', horizon_steps: 1, quantiles: [0.5] });
  });

  test.each([
    [1, [0.5]],
    [2, [0.1, 0.9]],
    [3, [0.1, 0.5, 0.9]],
    [4, [0.1, 0.2, 0.8, 0.9]],
    [9, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]],
    [99, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]],
  ])('deciles as far as %i quantiles go', (most, expected) => {
    const own = scheduled('every_seconds: 900', [['max_quantiles: 0', `max_quantiles: ${most}`]]);
    expect(scheduledRequest(own, nowMs).options.quantiles).toEqual(expected);
  });
});

describe('commissioning refuses', () => {
  const faults = (text: string): string => commissionFaults({ routes: withSchedule(text) }).join('\n');

  test('members that the task does not allow', () => {
    expect(faults('every_seconds: 900, offset_seconds: 900')).toContain('must be less than every_seconds, 900');
    expect(faults('every_seconds: 900, horizon_steps: 289')).toContain("must be at most the task's 288");
    expect(faults('every_seconds: 900, quantiles: [0.5]')).toContain('must be at most 0');
  });

  test('a period of more than a day', () => {
    expect(() => faults('every_seconds: 86401')).toThrow('86400');
    expect(() => loadRoute({ routes: withSchedule('every_seconds: 86400') })).not.toThrow();
  });

  test('a route that needs confirmation', () => {
    const routes = [
      ...withSchedule('every_seconds: 900'),
      [enabled, `${enabled}    confirmation: required\n`],
    ] as const;
    expect(commissionFaults({ routes }).join()).toContain('a route that needs confirmation cannot have a schedule');
  });
});

describe('the timer', () => {
  function running(
    call: (request: ProcessTaskRequest) => Promise<void>,
    { isOwn = () => true, every = 900 }: { readonly isOwn?: () => boolean; readonly every?: number } = {},
  ) {
    const clock = simulatedClock(nowMs);
    const written: string[] = [];
    const log: Log = {
      ...silentLog,
      warn: (message, fields) => void written.push(`${message} ${JSON.stringify(fields)}`),
    };
    const timer = runSchedule({
      routes: [scheduled(`every_seconds: ${every}, offset_seconds: 5`)],
      clock,
      log,
      isOwn,
      call,
    });
    const advance = async (minutes: number): Promise<void> => {
      for (let minute = 0; minute < minutes; minute++) {
        clock.advance(60_000);
        await Promise.resolve();
      }
    };
    return { advance, clock, jumpWall: clock.jumpWall, lines: () => written, timer };
  }

  test('runs each period, until it is cancelled', async () => {
    const asked: string[] = [];
    const { advance, timer } = running(async ({ as_of }) => void asked.push(as_of));
    await advance(31);
    expect(asked).toEqual(['2026-07-11T12:00:00Z', '2026-07-11T12:15:00Z', '2026-07-11T12:30:00Z']);
    timer.cancel();
    await advance(31);
    expect(asked).toHaveLength(3);
  });

  test('runs at its time, to the millisecond', async () => {
    const atMs: number[] = [];
    const { clock, timer } = running(async () => void atMs.push(clock.wallMs()));
    for (let second = 0; second < 3600; second += 40) {
      clock.advance(40_000);
      await Promise.resolve();
    }
    timer.cancel();
    expect(atMs.map((ms) => new Date(ms).toISOString())).toEqual([
      '2026-07-11T12:00:05.000Z',
      '2026-07-11T12:15:05.000Z',
      '2026-07-11T12:30:05.000Z',
      '2026-07-11T12:45:05.000Z',
    ]);
  });

  test('runs now when asked, and at its times as before', async () => {
    const asked: string[] = [];
    const { advance, timer } = running(async ({ as_of }) => void asked.push(as_of));
    await timer.runNow();
    expect(asked).toEqual(['2026-07-11T12:00:00Z']);
    await advance(16);
    expect(asked).toEqual(['2026-07-11T12:00:00Z', '2026-07-11T12:00:00Z', '2026-07-11T12:15:00Z']);
    // The service is stopping.
    timer.cancel();
    await timer.runNow();
    expect(asked).toHaveLength(3);
  });

  test('a timer that fires a moment early waits for its time', async () => {
    const simulated = simulatedClock(nowMs);
    const earlyMs = 3;
    const clock = {
      ...simulated,
      after: (ms: number, task: () => void) => simulated.after(ms > 10 ? ms - earlyMs : ms, task),
    };
    const asked: string[] = [];
    const call = async ({ as_of }: ProcessTaskRequest): Promise<void> => void asked.push(as_of);
    const timer = runSchedule({
      routes: [scheduled('every_seconds: 900')],
      clock,
      log: silentLog,
      isOwn: () => true,
      call,
    });
    for (let minute = 0; minute < 16; minute++) simulated.advance(60_000);
    timer.cancel();
    expect(asked).toEqual(['2026-07-11T12:15:00Z']);
  });

  test('a clock that is set while a route waits moves its next run within a minute', async () => {
    const asked: string[] = [];
    const { advance, jumpWall } = running(async ({ as_of }) => void asked.push(as_of), { every: 86_400 });
    // The machine started with a wrong date; a time server then corrects it, to three minutes before a run.
    jumpWall(-400 * 86_400_000);
    await advance(1);
    jumpWall(400 * 86_400_000 + (11 * 60 + 55) * 60_000);
    await advance(1);
    asked.length = 0;
    await advance(4);
    expect(asked).toEqual(['2026-07-12T00:00:00Z']);
  });

  test('a clock that is set back does not hold up the next run until its old time', async () => {
    const asked: string[] = [];
    const { advance, jumpWall } = running(async ({ as_of }) => void asked.push(as_of), { every: 86_400 });
    jumpWall(-86_400_000 + (11 * 60 + 55) * 60_000);
    await advance(6);
    expect(asked).toEqual(['2026-07-11T00:00:00Z']);
  });

  test('a run that fell due while the machine was suspended is made up once', async () => {
    const asked: string[] = [];
    const { advance, jumpWall } = running(async ({ as_of }) => void asked.push(as_of), { every: 900 });
    await advance(1);
    jumpWall(2 * 3_600_000);
    await advance(2);
    expect(asked).toEqual(['2026-07-11T12:00:00Z', '2026-07-11T14:00:00Z']);
  });

  test('does nothing while another process controls', async () => {
    let asked = 0;
    const { advance } = running(async () => void asked++, { isOwn: () => false });
    await advance(31);
    expect(asked).toBe(0);
  });

  test('which forecasts failed: unknown before the first run, and while another process controls', async () => {
    let isOwn = true;
    let fails = true;
    const { advance, timer } = running(
      async () => {
        if (fails) throw new Fault('processing-unavailable', 'no result is available now');
      },
      { isOwn: () => isOwn },
    );
    expect(timer.failed()).toBeNull();
    await advance(1);
    expect(timer.failed()).toEqual([
      { task: 'energy.site-load-forecast', binding: 'energy.example-site', reason: 'no result is available now' },
    ]);
    fails = false;
    await advance(15);
    expect(timer.failed()).toEqual([]);
    isOwn = false;
    await advance(15);
    expect(timer.failed()).toBeNull();
  });

  test('skips a run while the previous one is running, and continues after a failure; both are logged', async () => {
    const ends: ((error?: Error) => void)[] = [];
    const { advance, lines } = running(
      () =>
        new Promise((resolve, reject) => void ends.push((error) => (error === undefined ? resolve() : reject(error)))),
    );
    await advance(20);
    expect(ends).toHaveLength(1);
    expect(lines().join()).toContain('skipped a scheduled forecast');
    ends[0]?.(new Fault('processing-unavailable', 'no result is available now'));
    await advance(15);
    expect(ends).toHaveLength(2);
    expect(lines().join()).toContain('processing-unavailable');
  });
});
