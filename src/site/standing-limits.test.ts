/** Standing limits of the site file, and what is wrong with them [points §7.2]. */
import { describe, expect, test } from 'vitest';
import { YamlError } from '../base/yaml.ts';
import { readSite } from './site.ts';
import { standingLimitsMaximum } from './standing-limits.ts';

const site = (limits: string): string => `schema: svc.site.v1
site: { id: a, name: A, timezone: UTC }
channels: [{ id: derived, driver: virtual }]
instances:
  - id: 1
    name: one
    points:
      - { id: 1, name: signal, kind: measurement, unit: kW, channel: derived }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: derived }
limits:
${limits}`;

const faultsOf = (limits: string): readonly string[] => {
  try {
    readSite(site(limits), 'site.yaml');
    return [];
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return error.message.split('\n');
  }
};
const target = 'target: { instance: 1, point: 1 }';

describe('[points §7.2] standing limits of site.yaml', () => {
  test('a number, or a reading with its failsafe', () => {
    const text = `  - { ${target}, max: 5 }
  - { ${target}, max_from: { instance: 1, point: 1 }, failsafe: { value: 2, after_ms: 1000 } }`;
    expect(readSite(site(text), 'site.yaml').limits).toEqual([
      { id: 'limits[0]', targetIndex: 1, min: undefined, max: { value: 5 }, failsafe: undefined },
      {
        id: 'limits[1]',
        targetIndex: 1,
        min: undefined,
        max: { from: { index: 0, maxAgeMs: expect.any(Number) } },
        failsafe: { value: 2, afterMs: 1000 },
      },
    ]);
  });

  test.for([
    [`  - { target: { instance: 1, point: 2 }, max: 5 }`, 'unknown action point 2 of instance 1'],
    [
      `  - { ${target}, max_from: { instance: 2, point: 1 }, failsafe: { value: 0, after_ms: 0 } }`,
      'unknown measurement point 1',
    ],
    [`  - { ${target}, max: 5, max_from: { instance: 1, point: 1 }, failsafe: { value: 0, after_ms: 0 } }`, 'not both'],
    [`  - { ${target} }`, 'a limit needs min, max, min_from or max_from'],
    [`  - { ${target}, max: 5, failsafe: { value: 0, after_ms: 0 } }`, 'failsafe goes with'],
    [`  - { ${target}, max_from: { instance: 1, point: 1 } }`, 'failsafe goes with'],
  ])('%s is refused', ([limits, reason]) => {
    expect(faultsOf(limits ?? '')).toEqual([expect.stringContaining(reason ?? '')]);
  });

  test('as many as `standingLimitsMaximum`', () => {
    const many = (count: number): string => `  - { ${target}, max: 5 }\n`.repeat(count);
    expect(faultsOf(many(standingLimitsMaximum))).toEqual([]);
    expect(faultsOf(many(standingLimitsMaximum + 1))).toHaveLength(1);
  });
});
