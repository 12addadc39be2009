/** Live values for readers [points §8.3]: what is sent, and how often. */
import { describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { silentLog } from '../base/log.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { TableSample } from '../points/sample.ts';
import { quality } from '../site/quality.ts';
import { readSite } from '../site/site.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { createPointFeed, pushIntervalMs, sampleWaitMs } from './point-feed.ts';

/** Longer than all tests but one take. */
const maxAgeMs = 3000;
const { points } = readSite(
  `schema: svc.site.v1
site: { id: a, name: A, timezone: UTC }
channels: [{ id: derived, driver: virtual }]
instances:
  - id: 1
    name: one
    points:
      - { id: 1, name: a, kind: measurement, unit: kW, channel: derived, max_age_ms: ${maxAgeMs} }
      - { id: 2, name: b, kind: measurement, unit: kW, channel: derived, max_age_ms: ${maxAgeMs} }
`,
  'site.yaml',
);

function setup() {
  const clock = simulatedClock();
  const state = { values: [1, 2] as (number | null)[], samples: 0, online: true };
  const engine: { mode: 'answers' | 'refuses' | 'silent'; answer: () => void } = {
    mode: 'answers',
    answer: () => undefined,
  };
  const feed = createPointFeed({
    site: () => ({ points }),
    clock,
    log: silentLog,
    async sample(): Promise<TableSample> {
      state.samples++;
      if (engine.mode === 'refuses') throw new Fault('engine-unavailable', 'away');
      if (engine.mode === 'silent') await new Promise<void>((resolve) => (engine.answer = resolve));
      return {
        atMs: clock.wallMs(),
        values: state.values,
        quality: state.values.map((value) => (value === null ? quality.bad : quality.good)),
        agesMs: [0, 0],
        online: [state.online],
      };
    },
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(0);
    }
  };
  return { clock, state, engine, feed, settle };
}

describe('[points §8.3] live values', () => {
  test('all at first, then those that changed, at most every 250 ms; one sample serves all readers', async () => {
    const { clock, state, feed, settle } = setup();
    const [first, second]: [unknown[], unknown[]] = [[], []];
    feed.follow(['1:measurement:1', '1:measurement:2'], (values) => first.push(values) > 0);
    const stop = feed.follow(['1:measurement:2'], (values) => second.push(values) > 0);
    await settle();
    expect(first).toMatchObject([
      [
        { point: 1, value: 1, quality: 'good' },
        { point: 2, value: 2 },
      ],
    ]);
    state.values = [1, 5];
    const before = state.samples;
    clock.advance(pushIntervalMs - 1);
    await settle();
    expect(state.samples).toBe(before);
    clock.advance(1);
    await settle();
    expect(state.samples).toBe(before + 1);
    expect([first.at(-1), second.at(-1)]).toMatchObject([[{ point: 2, value: 5 }], [{ point: 2, value: 5 }]]);
    stop();
    state.values = [null, 6];
    state.online = false;
    clock.advance(pushIntervalMs);
    await settle();
    expect(first.at(-1)).toMatchObject([
      { point: 1, value: null, quality: 'offline' },
      { point: 2, value: 6, quality: 'good' },
    ]);
    expect(second).toHaveLength(2);
  });

  test('a slow reader gets the newest value when it can accept it; an unavailable engine is asked again', async () => {
    const { clock, state, engine, feed, settle } = setup();
    const taken: unknown[] = [];
    let hasRoom = false;
    feed.follow(['1:measurement:1'], (values) => hasRoom && taken.push(values) > 0);
    await settle();
    state.values = [7, 2];
    engine.mode = 'refuses';
    clock.advance(pushIntervalMs);
    await settle();
    [hasRoom, engine.mode] = [true, 'answers'];
    clock.advance(pushIntervalMs);
    await settle();
    expect(taken).toMatchObject([[{ value: 7 }]]);
  });

  test.each(['refuses', 'silent'] as const)(
    'while the engine %s, values grow old and are stale in time; the next sample makes them good again',
    async (mode) => {
      const { clock, state, engine, feed, settle } = setup();
      const taken: unknown[] = [];
      feed.follow(['1:measurement:1'], (values) => taken.push(...values) > 0);
      await settle();
      const good = { instance: 1, point_type: 'measurement', point: 1, value: 1, quality: 'good' };
      const observedAt = timeLabel(clock.wallMs());
      expect(taken).toEqual([{ ...good, observed_at: observedAt }]);
      engine.mode = mode;
      const pass = async (ms: number): Promise<void> => {
        for (let passedMs = 0; passedMs < ms; passedMs += pushIntervalMs) {
          clock.advance(pushIntervalMs);
          await settle();
        }
      };
      await pass(maxAgeMs);
      expect(taken).toHaveLength(1);
      await pass(pushIntervalMs + sampleWaitMs);
      const stale = { ...good, value: null, quality: 'stale', observed_at: observedAt };
      expect(taken.slice(1)).toEqual([stale]);
      // While an answer is outstanding, the engine gets no further request.
      expect(state.samples > 2).toBe(mode === 'refuses');
      engine.mode = 'answers';
      engine.answer();
      await pass(pushIntervalMs + sampleWaitMs);
      expect(taken.slice(2)).toMatchObject([good]);
    },
  );

  test('a point that the site does not have is refused by its name', () => {
    expect(() => setup().feed.follow(['1:action:1'], () => true)).toThrow('no point 1:action:1');
  });
});
