/** Channels as an operator sees them [points §8.5]. */
import { expect, test } from 'vitest';
import { quality } from '../site/quality.ts';
import { readSite } from '../site/site.ts';
import { tankSite } from '../testing/tank-site.ts';
import { channelEntries } from './channels.ts';

const sample = {
  atMs: 10_000,
  values: [1, null, 2, null],
  quality: [quality.good, quality.missing, quality.good, quality.missing],
  agesMs: [4000, null, 1000, null],
  online: [true],
};
const counts = { sent: 1, failed: 2, dropped: 3, read: 4, unread: 5, late: 6 };
const traffic = [{ ...counts, lastReadMs: 8500 }];
const error = (index: number, atMs: number) => ({ index, code: 'refused' as const, message: `at ${atMs}`, atMs });

test('[points §8.5] the newest reading, the newest error with its point, and the counters of the device layer', () => {
  const states = [{ id: 'derived', state: 'refusing' as const }];
  const errors = [error(1, 500), error(3, 800), error(0, 700)];
  expect(channelEntries(tankSite, sample, { states, traffic, errors })).toEqual([
    {
      channel: 'derived',
      driver: 'virtual',
      polled: false,
      traced: false,
      state: 'refusing',
      points: 4,
      last_reading_at: '1970-01-01T00:00:08.500Z',
      last_error: {
        code: 'refused',
        message: 'at 800',
        at: '1970-01-01T00:00:00.800Z',
        instance: 1,
        point_type: 'action',
        point: 2,
      },
      traffic: counts,
    },
  ]);
});

test('[points §8.5] a standby has the state from the sample, and no counters', () => {
  const nothing = { states: [], traffic: [], errors: [] };
  const [entry] = channelEntries(tankSite, sample, nothing);
  expect(entry).toMatchObject({ state: 'online', traffic: null, last_error: null });
  expect(entry?.last_reading_at).toBe('1970-01-01T00:00:09.000Z');
  // A failed read of a second ago is not a reading of a second ago.
  const failing = { ...sample, quality: [quality.good, quality.missing, quality.bad, quality.missing] };
  expect(channelEntries(tankSite, failing, nothing)[0]?.last_reading_at).toBe('1970-01-01T00:00:06.000Z');
  const never = { ...nothing, traffic: [{ ...counts, lastReadMs: null }] };
  expect(channelEntries(tankSite, sample, never)[0]?.last_reading_at).toBeNull();
  expect(channelEntries(tankSite, null, nothing)[0]).toMatchObject({ state: 'offline', last_reading_at: null });
});

test('[points §8.5] each channel has its own points, state, readings, errors and counters', () => {
  const site = readSite(
    `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels:
  - { id: b, driver: mqtt, url: "mqtt://127.0.0.1:1883" }
  - { id: plc, driver: modbus-tcp, host: h, port: 502, unit_id: 1, poll_interval_ms: 200, timeout_ms: 500, word_order: big }
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: b, address: { topic: level } }
      - { id: 2, name: flow, kind: measurement, unit: m, channel: plc, address: { table: holding, register: 1, type: int16 } }
      - { id: 3, name: heat, kind: measurement, unit: m, channel: plc, address: { table: holding, register: 2, type: int16 } }
`,
    'site.yaml',
  );
  const entries = channelEntries(
    site,
    { ...sample, values: [1, 2, 3], quality: [quality.good, quality.good, quality.good], online: [false, true] },
    {
      states: [{ id: 'plc', state: 'refusing' as const }],
      traffic: [
        { ...counts, lastReadMs: 1000 },
        { ...counts, sent: 9, lastReadMs: 2000 },
      ],
      errors: [error(2, 800), error(0, 900), error(1, 800)],
    },
  );
  expect(entries).toMatchObject([
    { channel: 'b', polled: false, traced: true, state: 'offline', points: 1, traffic: { sent: 1 } },
    { channel: 'plc', polled: true, traced: true, state: 'refusing', points: 2, traffic: { sent: 9 } },
  ]);
  expect(entries.map(({ last_reading_at: at }) => at)).toEqual([
    '1970-01-01T00:00:01.000Z',
    '1970-01-01T00:00:02.000Z',
  ]);
  // Of two errors of one moment the later in the list is the newer.
  expect(entries.map(({ last_error: last }) => last?.point)).toEqual([1, 2]);
});
