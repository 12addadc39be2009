/** What drivers get from outside site.yaml, and when it has changed [points §1.3]. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readSite } from '../site/site.ts';
import { sameMaterials } from './driver/index.ts';
import { channelFiles, readMaterials } from './materials.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'setpoint-materials-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const site = readSite(
  `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels:
  - { id: plant, driver: simulated, load_series: load.csv, pv_series: pv.csv, step_interval_ms: 1000, speed: 1,
      battery: { capacity_kwh: 1, max_power_kw: 1, initial_soc_percent: 50, efficiency: 1 }, genset: { rated_kw: 1 } }
  - { id: broker, driver: mqtt, url: "mqtt://broker.example", username_env: USER }
  - { id: derived, driver: virtual }
instances: []
`,
  'site.yaml',
);
const series = (value: number): string =>
  `time,value\n${Array.from({ length: 9 }, (_, day) => `2026-01-0${day + 1}T00:00:00Z,${value}`).join('\n')}\n`;
const read = (user = 'ada') =>
  readMaterials(site, {
    configDir: folder,
    dataDir: folder,
    secret: (name) => (name === 'USER' ? user : undefined),
  });
const changed = (one: ReturnType<typeof read>, other: ReturnType<typeof read>): string[] =>
  site.channels.flatMap(({ id }) => (sameMaterials(id, one, other) ? [] : [id]));

test('the files of a channel are those that are read for it', () => {
  expect(site.channels.map(channelFiles)).toEqual([['load.csv', 'pv.csv'], [], []]);
});

test('a channel has changed if a series or a secret of it has, and only that channel', () => {
  for (const file of ['load.csv', 'pv.csv']) writeFileSync(join(folder, file), series(1));
  const before = read();
  expect(changed(before, read())).toEqual([]);
  expect(changed(before, read('grace'))).toEqual(['broker']);
  writeFileSync(join(folder, 'pv.csv'), series(2));
  expect(changed(before, read())).toEqual(['plant']);
});
