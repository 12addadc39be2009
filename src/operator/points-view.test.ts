/** Which points a list shows [points §8.1]. */
import { describe, expect, test } from 'vitest';
import type { TableSample } from '../points/sample.ts';
import { quality } from '../site/quality.ts';
import { readSite } from '../site/site.ts';
import { type PointFilter, selected } from './points-view.ts';

const site = readSite(
  `schema: svc.site.v1
site: { id: plant.1, name: Plant, timezone: UTC }
channels: [{ id: derived, driver: virtual }, { id: b, driver: mqtt, url: "mqtt://127.0.0.1:1883" }]
instances:
  - id: 4
    name: Battery
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: derived }
      - { id: 2, name: mode, kind: measurement, unit: "1", channel: b, address: { topic: m, payload: text } }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: derived }
  - id: 5
    name: Grid
    points:
      - { id: 1, name: power, kind: measurement, unit: kW, channel: b, max_age_ms: 1000, address: { topic: g, payload: number } }
`,
  'site.yaml',
);
const mode = site.points.findIndex(({ isText }) => isText);
const sample: TableSample = {
  atMs: 10_000,
  values: [12.5, null, null, 3],
  quality: [quality.good, quality.bad, quality.missing, quality.good],
  agesMs: [5, 5, null, 5000],
  online: [true, true],
};

function shown(filter: PointFilter, said: Readonly<Record<number, string>> = { [mode]: 'idle' }): string[] {
  const texts = new Map(Object.entries(said).map(([index, text]) => [Number(index), text]));
  return selected(site, sample, texts, filter).map(({ point }) => `${point.instance}:${point.kind}:${point.id}`);
}

describe('[points §8.1] the filters of the list', () => {
  test('instance, kind, quality and words, each alone and together', () => {
    expect(shown({})).toHaveLength(4);
    expect(shown({ instance: 5 })).toEqual(['5:measurement:1']);
    expect(shown({ instance: 6 })).toEqual([]);
    expect(shown({ kind: 'action' })).toEqual(['4:action:1']);
    expect(shown({ quality: 'stale' })).toEqual(['5:measurement:1']);
    expect(shown({ quality: 'missing' })).toEqual(['4:action:1']);
    expect(shown({ search: 'BATTERY p' })).toEqual(['4:measurement:1']);
    expect(shown({ search: '4:a' })).toEqual(['4:action:1']);
    expect(shown({ search: 'power', quality: 'good', instance: 4, kind: 'measurement' })).toEqual(['4:measurement:1']);
    expect(shown({ search: 'power', quality: 'good', instance: 5 })).toEqual([]);
  });

  test('text that was read counts as good although it has no number', () => {
    expect(shown({ quality: 'good' })).toEqual(['4:measurement:1', '4:measurement:2']);
    expect(shown({ quality: 'bad' })).toEqual([]);
    expect(shown({ quality: 'bad' }, {})).toEqual(['4:measurement:2']);
  });
});
