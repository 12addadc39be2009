/** The account of ownership in answers: stored and newest segments joined, bounded [points §7.3]; the list of points. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { CallContext } from '../api/capability.ts';
import { points } from '../api/points.ts';
import type { SegmentRow } from '../automation/store/authority-store.ts';
import type { PointError } from '../devices/device-channel.ts';
import { quality } from '../site/quality.ts';
import { testCatalogue } from '../testing/site-builder.ts';
import { tankSite } from '../testing/tank-site.ts';
import { type OperatorParts, operatorCapabilities, segmentsMaximum } from './capabilities.ts';

const owner = { kind: 'rule', id: '7', name: '', untilMs: null };
const state = JSON.stringify({ owner, value: 1, contenders: [] });
const row = (fromMs: number, toMs: number | null): SegmentRow => ({ point: '', from_ms: fromMs, to_ms: toMs, state });

async function asked(
  stored: readonly SegmentRow[],
  newest: readonly object[],
  query: Readonly<Record<string, string>>,
) {
  const parts = {
    clock: { wallMs: () => 100_000 },
    catalogue: () => testCatalogue(),
    store: { names: async () => new Map([[7, 'Seven']]) },
    engine: { ask: async () => [{ segments: newest, next: null }] },
    ownership: {
      segments: async (_point: string, _from: number, _to: number, limit: number) => stored.slice(0, limit),
    },
  } as unknown as OperatorParts;
  const bound = operatorCapabilities(parts).find(({ descriptor }) => descriptor === points.ownership);
  const context = { params: { instance: '1', point: '1' }, query } as unknown as CallContext;
  const answer = (await bound?.handler(context))?.data as { data: { segments: { from: string; to: string | null }[] } };
  return answer.data.segments.map(({ from, to }) => [Date.parse(from), to === null ? null : Date.parse(to)]);
}

test('[points §7.3] segments that the engine has not stored yet replace stored ones of the same time', async () => {
  const newest = [
    { fromMs: 20, toMs: 30, owner, value: 1, contenders: [] },
    { fromMs: 30, toMs: null, owner, value: 1, contenders: [] },
  ];
  const stored = [row(0, 20), row(20, null)];
  expect(await asked(stored, newest, {})).toEqual([
    [0, 20],
    [20, 30],
    [30, null],
  ]);
  const window = { from: '1970-01-01T00:00:00.025Z', to: '1970-01-01T00:00:00.030Z' };
  expect(await asked([row(20, null)], newest, window)).toEqual([[20, 30]]);
});

test('[points §7.3] as many segments as an answer may have, one more, and an invalid time', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => row(at, at + 1));
  expect(await asked(many(segmentsMaximum), [], {})).toHaveLength(segmentsMaximum);
  await expect(asked(many(segmentsMaximum + 1), [], {})).rejects.toThrow(/more than 10000 segments; ask for a shorter/);
  await expect(asked([], [], { from: 'yesterday' })).rejects.toThrow(/query \/from: must be RFC 3339 UTC/);
});

test('[points §8.1] a command that failed while the list is read is shown with its error', async () => {
  const pump = 1;
  const errors: PointError[] = [];
  const command = { value: 5, written: 5, atMs: 1000, result: 'failed', by: 'rule 7' };
  const parts = {
    site: () => tankSite,
    sample: async () => null,
    store: { names: async () => new Map() },
    devices: { errors: async () => [...errors], texts: async () => [] },
    engine: {
      ask: async () => {
        await nextTurn();
        errors.push({ index: pump, code: 'refused', message: 'exception 4', atMs: 1000 });
        return [{ owner: { ...owner, kind: 'none' }, value: null, command }];
      },
    },
  } as unknown as OperatorParts;
  const bound = operatorCapabilities(parts).find(({ descriptor }) => descriptor === points.list);
  const answer = await bound?.handler({
    params: {},
    query: { kind: 'action', page_size: '1' },
  } as unknown as CallContext);
  expect(answer?.data).toMatchObject({
    data: { list: [{ last_command: { result: 'failed' }, last_error: { code: 'refused' } }] },
  });
});

test('[points §3.1] a text point shows its text, with the quality of the message', async () => {
  const sample = {
    atMs: 1000,
    values: tankSite.points.map(() => null),
    quality: tankSite.points.map(() => quality.bad),
    agesMs: tankSite.points.map(() => 5),
    online: tankSite.channels.map(() => true),
  };
  const spoken = { value: null, text: 'heating', quality: 'good' };
  const parts = {
    site: () => tankSite,
    sample: async () => sample,
    store: { names: async () => new Map() },
    devices: { errors: async () => [], texts: async () => [{ index: 0, text: 'heating' }] },
    engine: { ask: async () => [] },
  } as unknown as OperatorParts;
  const bound = operatorCapabilities(parts).find(({ descriptor }) => descriptor === points.list);
  const answer = await bound?.handler({ params: {}, query: {} } as unknown as CallContext);
  expect(answer?.data).toMatchObject({
    data: { list: tankSite.points.map((_, at) => (at === 0 ? spoken : { text: null, quality: 'bad' })) },
  });
});
