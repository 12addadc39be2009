/** The frame of the contract's fixture, its cases of history and calendar, and the contract's sentences about frames. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type NormalisedFrame, processingFrameSchema } from '../../api/processing.ts';
import { decoder } from '../../base/decode.ts';
import { Fault } from '../../base/fault.ts';
import { checkFrame } from '../../contract/validate/frame.ts';
import type { HistoryRow } from '../../historian/historian.ts';
import { quality } from '../../site/quality.ts';
import { type DatabaseEngine, engines } from '../../testing/engines.ts';
import { historyOn, type TestHistory } from '../../testing/histories.ts';
import { loadRequest } from '../../testing/load-fixture.ts';
import {
  type AssembleChanges,
  assembleLoad,
  atPlace,
  commissionFaults,
  fixtureFile,
  fixtureRows,
  humiditySeries,
  type LoadEdits,
  loadRoute,
  loadSeries,
  rainSeries,
  row,
  temperatureSeries,
} from '../../testing/load-site.ts';
import type { LiveSample, WatchedPoint } from '../source/live-state.ts';
import type { Assembly } from './assemble.ts';
import type { Reason } from './reason.ts';

let store: TestHistory;
/** The store that the tests of one `describe` share. */
function rig(engine: DatabaseEngine): void {
  const history = historyOn(engine);
  beforeAll(() => {
    store = history();
  });
}

/** Stores these rows and no others. */
async function fill(rows: readonly HistoryRow[]): Promise<void> {
  await store.clear();
  await store.historian.append(rows);
}

async function assemble(
  rows: readonly HistoryRow[],
  edits: LoadEdits = {},
  changes: AssembleChanges = {},
): Promise<Assembly> {
  await fill(rows);
  return assembleLoad(store, loadRoute(edits), changes);
}

async function frameOf(...call: Parameters<typeof assemble>): Promise<NormalisedFrame> {
  const assembled = await assemble(...call);
  if (!assembled.ok) throw new Error(JSON.stringify(assembled.reasons));
  return assembled.frame;
}

async function reasonsOf(...call: Parameters<typeof assemble>): Promise<readonly Reason[]> {
  const assembled = await assemble(...call);
  if (assembled.ok) throw new Error('the frame should have been refused');
  return assembled.reasons;
}

const without = (series: HistoryRow['series'], time?: string): HistoryRow[] =>
  fixtureRows().filter((each) => !(each.series === series && (time === undefined || each.eventMs === atPlace(time))));
const valuesOf = (frame: NormalisedFrame, name: string, segment: 'history' | 'future_covariates' = 'history') =>
  frame[segment]?.features[name]?.values;
const qualityOf = (frame: NormalisedFrame, name: string, segment: 'history' | 'future_covariates' = 'history') =>
  frame[segment]?.features[name]?.quality;
const provenanceOf = (frame: NormalisedFrame, name: string, segment = 'history') =>
  frame.provenance.find((entry) => entry.feature === name && entry.segment === segment);

const policy = (text: string): LoadEdits => ({ task: [['missing_policy: reject', `missing_policy: ${text}`]] });
/** Quality limits that accept anything, so that each rule can be tested alone. */
const lenient = [
  ['max_gap_seconds: 1800', 'max_gap_seconds: 864000'],
  ['max_missing_ratio: 0', 'max_missing_ratio: 1'],
  ['max_input_age_seconds: 900', 'max_input_age_seconds: 86400'],
] as const;
const allowing = { task: [...lenient, ['missing_policy: reject', 'missing_policy: allow']] } as const;

describe.each(engines)('the fixture, on %s', (engine) => {
  rig(engine);

  test('[data-processing §3] its frame follows from its declarations and raw data, member for member', async () => {
    expect(await frameOf(fixtureRows())).toEqual(loadRequest.frame);
  });

  test('[data-processing §3.1] an assembled frame fits the schema and passes the receiver', async () => {
    const frame = await frameOf(fixtureRows());
    expect(decoder(processingFrameSchema)(frame)).toMatchObject({ ok: true });
    expect(checkFrame(frame, loadRoute().task, { kind: 'forecast', horizon_steps: 2 })).toBeNull();
  });
});

describe.each(engines)('[data-processing §4.2] History reads and the cases H, on %s', (engine) => {
  rig(engine);

  /** The two labels 11:00 and 11:15 as the end of the window. */
  const two = async (rows: readonly HistoryRow[], aggregation = 'mean', duplicates = 'latest') => {
    const frame = await frameOf(
      [...rows, ...[temperatureSeries, humiditySeries, rainSeries].map((series) => row(series, '11:15:00', 1))],
      {
        task: [
          ...allowing.task,
          ['aggregation: mean', `aggregation: ${aggregation}`],
          ['duplicate_policy: latest\n  feature', `duplicate_policy: ${duplicates}\n  feature`],
          ['history_steps: 4', 'history_steps: 2'],
        ],
        binding: [['path: ../weather-nwp.json', 'path: ../weather-nwp-1115.json']],
      },
      { asOfMs: atPlace('11:15:00') },
    );
    return { values: valuesOf(frame, 'load'), watermark: provenanceOf(frame, 'load')?.watermark, frame };
  };
  const three = [row(loadSeries, '10:50:00', 10), row(loadSeries, '10:55:00', 20), row(loadSeries, '11:05:00', 30)];

  test.each([
    ['H01', 'mean', [15, 30]],
    ['H03', 'sum', [30, 30]],
    ['H04', 'min', [10, 30]],
    ['H05', 'max', [20, 30]],
    ['H06', 'last', [20, 30]],
  ])('%s: %s', async (_name, aggregation, values) => {
    expect(await two(three, aggregation)).toMatchObject({ values, watermark: '2026-07-11T11:05:00Z' });
  });

  test('H07: a row exactly on the lower edge of the first bucket is not read', async () => {
    const { values } = await two([row(loadSeries, '10:45:00', 5), row(loadSeries, '11:15:00', 6)]);
    expect(values).toEqual([null, 6]);
  });

  test('[data-processing §3.2] Time invariants 1: a row at t belongs to label t, one a millisecond later to the next', async () => {
    const { values } = await two([row(loadSeries, '11:00:00', 1), row(loadSeries, '11:00:00.001', 2)], 'sum');
    expect(values).toEqual([1, 2]);
  });

  test('H09: of two rows of one instant, latest uses the newest', async () => {
    const rows = [row(loadSeries, '10:50:00', 10), row(loadSeries, '10:50:00', 30), row(loadSeries, '10:55:00', 20)];
    expect((await two(rows)).values).toEqual([25, null]);
  });

  test('H11: when the newest is NULL the instant contributes nothing', async () => {
    const rows = [row(loadSeries, '10:50:00', 10), row(loadSeries, '10:50:00', null), row(loadSeries, '10:55:00', 20)];
    expect((await two(rows)).values).toEqual([20, null]);
  });

  test('H13: the watermark is the newest numeric row, not a NULL and not the label', async () => {
    const rows = [row(loadSeries, '11:07:30', 1), row(loadSeries, '11:14:30', null)];
    expect((await two(rows)).watermark).toBe('2026-07-11T11:07:30Z');
  });

  test('H15: thirty rows of one bucket', async () => {
    const rows = Array.from({ length: 30 }, (_, index) =>
      row(loadSeries, '10:45:00', index + 1, {
        eventMs: atPlace('10:45:00') + (index + 1) * 30_000,
        ingestedMs: atPlace('11:00:00'),
      }),
    );
    expect((await two(rows)).values).toEqual([15.5, null]);
  });

  test('[data-processing §4.2] empty buckets stay missing: null with its quality, never 0', async () => {
    const { frame } = await two([row(loadSeries, '11:15:00', 0)]);
    expect([valuesOf(frame, 'load'), qualityOf(frame, 'load')]).toEqual([
      [null, 0],
      ['missing', 'good'],
    ]);
  });

  test('[data-processing §3.2] Time invariants 2: no read goes beyond the cutoff, whatever is stored after it', async () => {
    const later = [row(loadSeries, '12:00:00.001', 9999), row(loadSeries, '12:15:00', 9999)];
    expect(await frameOf([...fixtureRows(), ...later])).toEqual(loadRequest.frame);
  });
});

describe.each(engines)('[data-processing §4.11] units and counters, on %s', (engine) => {
  rig(engine);
  const others = (): HistoryRow[] => without(loadSeries);
  const loads = [818, 820, 835, 840];
  const labels = ['11:15:00', '11:30:00', '11:45:00', '12:00:00'];

  test('the load recorded in W is the same frame', async () => {
    const rows = [...others(), ...labels.map((label, at) => row(loadSeries, label, (loads[at] ?? 0) * 1000))];
    const frame = await frameOf(rows, {
      site: [['name: active_power, kind: measurement, unit: kW', 'name: active_power, kind: measurement, unit: W']],
      binding: [['active_power: { point: 1, unit: kW', 'active_power: { point: 1, unit: W']],
    });
    expect(frame).toEqual(loadRequest.frame);
  });

  test('the load as the difference of an energy counter is the same frame; beside a new beginning a cell is missing', async () => {
    const edits: LoadEdits = {
      task: allowing.task,
      site: [
        [
          'name: active_power, kind: measurement, unit: kW',
          'name: active_power, kind: measurement, counter: true, unit: kWh',
        ],
      ],
      binding: [['active_power: { point: 1, unit: kW', 'active_power: { point: 1, unit: kWh']],
    };
    let count = 1000;
    const counted = (label: string, load: number) => row(loadSeries, label, (count += load / 4));
    const rows = [row(loadSeries, '11:00:00', count), ...labels.map((label, at) => counted(label, loads[at] ?? 0))];
    expect(valuesOf(await frameOf([...others(), ...rows], edits), 'load')).toEqual(loads);
    const anew = rows.map((each) =>
      each.eventMs >= atPlace('11:45:00') ? { ...each, value: (each.value ?? 0) - 1400 } : each,
    );
    expect(valuesOf(await frameOf([...others(), ...anew], edits), 'load')).toEqual([818, 820, null, 840]);
  });

  test('a counter needs the mean, and no other difference of units is taken', () => {
    const binding: NonNullable<LoadEdits['binding']> = [
      ['active_power: { point: 1, unit: kW', 'active_power: { point: 1, unit: kWh'],
    ];
    const site = (more: string): NonNullable<LoadEdits['site']> => [
      ['name: active_power, kind: measurement, unit: kW', `name: active_power, kind: measurement, ${more}unit: kWh`],
    ];
    expect(commissionFaults({ binding, site: site('') })).toEqual([
      expect.stringContaining('is kW here and kWh in binding'),
    ]);
    const last: NonNullable<LoadEdits['task']> = [['aggregation: mean', 'aggregation: last']];
    expect(commissionFaults({ binding, site: site('counter: true, '), task: last })).toContainEqual(
      expect.stringContaining('a counter needs aggregation mean, not last'),
    );
  });
});

describe.each(engines)('[data-processing §3.2] Time invariants, on %s', (engine) => {
  rig(engine);

  test('2, 3: N labels end exactly at as_of, the future begins one cadence later', async () => {
    const frame = await frameOf(fixtureRows());
    expect(frame.history.timestamps).toEqual([
      '2026-07-11T11:15:00Z',
      '2026-07-11T11:30:00Z',
      '2026-07-11T11:45:00Z',
      '2026-07-11T12:00:00Z',
    ]);
    expect(frame.future_covariates?.timestamps).toEqual(['2026-07-11T12:15:00Z', '2026-07-11T12:30:00Z']);
  });

  test('[data-processing §3.2] history length equals history_steps exactly, however little is stored', async () => {
    const frame = await frameOf(
      [
        row(loadSeries, '11:52:00', 1),
        ...[temperatureSeries, humiditySeries, rainSeries].map((series) => row(series, '11:52:00', 1)),
      ],
      { task: [...allowing.task, ['history_steps: 4', 'history_steps: 672']] },
    );
    expect(frame.history.timestamps.length).toBe(672);
    expect(valuesOf(frame, 'load')?.filter((value) => value !== null)).toEqual([1]);
  });

  test('4: a source gap stays an explicit missing sample, and no label is dropped', async () => {
    const frame = await frameOf(without(loadSeries, '11:30:00'), allowing);
    expect(valuesOf(frame, 'load')).toEqual([818, null, 835, 840]);
    expect(frame.quality.missing_ratio).toBe(1 / 28);
  });

  test('6: the aggregate watermark is the newest observation, not the cutoff and not the request', async () => {
    const early = fixtureRows().map((each) => ({ ...each, eventMs: each.eventMs - 30_000 }));
    const frame = await frameOf(early);
    expect(frame.quality.input_watermark).toBe('2026-07-11T11:59:30Z');
    expect(provenanceOf(frame, 'quarter_hour')?.watermark).toBe('2026-07-11T12:00:00Z');
  });

  test('5: the target is never a future feature, and the declaration cannot make it one', async () => {
    const frame = await frameOf(fixtureRows());
    expect(Object.keys(frame.future_covariates?.features ?? {})).not.toContain('load');
  });

  test('[data-processing §3.1] future_covariates is omitted, not empty, if the task declares none', async () => {
    const frame = await frameOf(fixtureRows(), {
      task: [[futureInputs(), '']],
    });
    expect('future_covariates' in frame).toBe(false);
  });
});

/** The fixture's future inputs as text. */
function futureInputs(): string {
  const text = fixtureFile('load/tasks/site-load-forecast.yaml');
  return text.slice(text.indexOf('  future_covariates:'), text.indexOf('alignment:'));
}

describe.each(engines)('[data-processing §5.1] the cutoff and the options, on %s', (engine) => {
  rig(engine);

  test('as_of may be now; a millisecond later is refused', async () => {
    await frameOf(fixtureRows(), {}, { nowMs: atPlace('12:00:00') });
    await expect(assemble(fixtureRows(), {}, { nowMs: atPlace('11:59:59.999') })).rejects.toMatchObject({
      code: 'invalid-input',
    });
  });

  test('as_of is a multiple of the cadence since the epoch', async () => {
    await expect(assemble(fixtureRows(), {}, { asOfMs: atPlace('11:59:00') })).rejects.toMatchObject({
      code: 'invalid-input',
    });
  });

  test('[data-processing §3.2] no label lies before the epoch: the first cutoff with a whole window, and one cadence earlier', async () => {
    const firstMs = 3 * 900_000;
    expect(await reasonsOf([], {}, { asOfMs: firstMs })).toContainEqual(
      expect.objectContaining({ rule: 'history_unavailable', first_label: '1970-01-01T00:00:00Z' }),
    );
    await expect(assemble([], {}, { asOfMs: firstMs - 900_000 })).rejects.toMatchObject({ code: 'invalid-input' });
  });

  test('settle_seconds: that old is settled, a millisecond younger is not_settled', async () => {
    const settling: LoadEdits = { task: [['settle_seconds: 0', 'settle_seconds: 60']] };
    await frameOf(fixtureRows(), settling, { nowMs: atPlace('12:01:00') });
    expect(await reasonsOf(fixtureRows(), settling, { nowMs: atPlace('12:00:59.999') })).toEqual([
      {
        rule: 'not_settled',
        segment: null,
        feature: null,
        observed: 59.999,
        limit: 60,
        first_label: '2026-07-11T12:00:00Z',
        last_label: '2026-07-11T12:00:00Z',
      },
    ]);
  });

  test('horizon_steps and quantiles up to the limits of the task', async () => {
    const wide: LoadEdits = {
      task: [
        ['horizon_steps: 288', 'horizon_steps: 2'],
        ['max_quantiles: 0', 'max_quantiles: 1'],
      ],
    };
    await frameOf(fixtureRows(), wide, { options: { quantiles: [0.5] } });
    await expect(assemble(fixtureRows(), wide, { options: { horizon_steps: 3 } })).rejects.toBeInstanceOf(Fault);
    await expect(assemble(fixtureRows(), wide, { options: { quantiles: [0.1, 0.5] } })).rejects.toBeInstanceOf(Fault);
  });

  test('max_frame_cells: that many cells pass, one more is frame-too-large', async () => {
    const cells = 4 * 5 + 2 * 4;
    await frameOf(fixtureRows(), { routes: [['max_frame_cells: 5000', `max_frame_cells: ${cells}`]] });
    await expect(
      assemble(fixtureRows(), { routes: [['max_frame_cells: 5000', `max_frame_cells: ${cells - 1}`]] }),
    ).rejects.toMatchObject({ code: 'frame-too-large', status: 413 });
  });
});

describe.each(engines)('[data-processing §3.4] Aggregate quality, on %s', (engine) => {
  rig(engine);

  test('H19: no gap at all is one cadence', async () => {
    expect((await frameOf(fixtureRows())).quality.max_gap_seconds).toBe(900);
  });

  test('max_gap_seconds at its limit passes, beyond it names feature, figures and labels', async () => {
    const rows = without(loadSeries, '11:30:00');
    const one = { task: [['max_missing_ratio: 0', 'max_missing_ratio: 1'], ...(policy('allow').task ?? [])] } as const;
    expect((await frameOf(rows, one)).quality.max_gap_seconds).toBe(1800);
    const reasons = await reasonsOf(rows, { task: [...one.task, ['max_gap_seconds: 1800', 'max_gap_seconds: 1799']] });
    expect(reasons).toEqual([
      {
        rule: 'max_gap_seconds',
        segment: 'history',
        feature: 'load',
        observed: 1800,
        limit: 1799,
        first_label: '2026-07-11T11:30:00Z',
        last_label: '2026-07-11T11:30:00Z',
      },
    ]);
  });

  test('max_missing_ratio at its limit passes, beyond it has no feature', async () => {
    const rows = without(loadSeries, '11:30:00');
    const ratio = 1 / 28;
    const edits = (limit: number): LoadEdits => ({
      task: [
        ['max_missing_ratio: 0', `max_missing_ratio: ${limit}`],
        ['missing_policy: reject', 'missing_policy: allow'],
      ],
    });
    expect((await frameOf(rows, edits(ratio))).quality.missing_ratio).toBe(ratio);
    expect(await reasonsOf(rows, edits(ratio - 1e-9))).toEqual([
      { rule: 'max_missing_ratio', segment: null, feature: null, observed: ratio, limit: ratio - 1e-9 },
    ]);
  });

  test('max_input_age_seconds at its limit passes, a millisecond older is refused, per feature', async () => {
    const aged = (ms: number): HistoryRow[] =>
      fixtureRows().map((each) => (each.series === loadSeries ? { ...each, eventMs: each.eventMs - ms } : each));
    const edits: LoadEdits = {
      task: [
        ['max_input_age_seconds: 900', 'max_input_age_seconds: 600'],
        ['history_steps: 4', 'history_steps: 3'],
      ],
    };
    await frameOf(aged(600_000), edits);
    expect(await reasonsOf(aged(600_001), edits)).toEqual([
      { rule: 'max_input_age_seconds', segment: 'history', feature: 'load', observed: 600.001, limit: 600 },
    ]);
  });

  test('[data-processing §4.4] missing_policy reject names the missing cells; every broken rule is reported at once', async () => {
    const reasons = await reasonsOf(without(rainSeries, '11:45:00'));
    expect(reasons).toContainEqual({
      rule: 'history_unavailable',
      segment: 'history',
      feature: 'rain',
      observed: 1,
      limit: 0,
      first_label: '2026-07-11T11:45:00Z',
      last_label: '2026-07-11T11:45:00Z',
    });
    expect(reasons.map((reason) => reason.rule)).toEqual(['history_unavailable', 'max_missing_ratio']);
  });

  test('a feature that was never observed has no watermark and is refused even where missing is allowed', async () => {
    const reasons = await reasonsOf(without(loadSeries), allowing);
    expect(reasons.map(({ rule, feature }) => [rule, feature])).toEqual([['history_unavailable', 'load']]);
  });

  test('uncertain rows make their cell uncertain', async () => {
    const rows = fixtureRows().map((each) =>
      each.series === loadSeries && each.eventMs === atPlace('11:45:00')
        ? { ...each, quality: quality.uncertain }
        : each,
    );
    expect(qualityOf(await frameOf(rows), 'load')).toEqual(['good', 'good', 'uncertain', 'good']);
  });
});

describe.each(engines)('[data-processing §4.5] duplicates, clocks, ranges, on %s', (engine) => {
  rig(engine);

  const twice = [...fixtureRows(), row(loadSeries, '11:30:00', 821)];

  test('duplicate_sample under reject, with the label of the instant', async () => {
    const edits: LoadEdits = { task: [['duplicate_policy: latest\n  feature', 'duplicate_policy: reject\n  feature']] };
    expect(await reasonsOf(twice, edits)).toEqual([
      {
        rule: 'duplicate_sample',
        segment: 'history',
        feature: 'load',
        observed: '2026-07-11T11:30:00Z',
        limit: null,
        first_label: '2026-07-11T11:30:00Z',
        last_label: '2026-07-11T11:30:00Z',
      },
    ]);
    expect(valuesOf(await frameOf(twice), 'load')).toEqual([818, 821, 835, 840]);
  });

  test('a sample from a clock that runs ahead never enters; more than `skewed_ratio` (0.1%) of a window is clock_skew', async () => {
    const many = (count: number): HistoryRow[] =>
      Array.from({ length: count }, (_, index) => {
        const eventMs = atPlace('11:30:00') + index + 1;
        return row(loadSeries, '11:30:00', 835, { eventMs, ingestedMs: eventMs });
      });
    const ahead = row(loadSeries, '11:40:00', 9999, { ingestedMs: atPlace('11:39:54.999') });
    const rows = (count: number): HistoryRow[] => [...without(loadSeries, '11:45:00'), ...many(count), ahead];
    // With the other three labels of the window and the one ahead: 1000 rows, then 999.
    expect(valuesOf(await frameOf(rows(996)), 'load')).toEqual([818, 820, 835, 840]);
    expect(await reasonsOf(rows(995))).toEqual([
      {
        rule: 'clock_skew',
        segment: 'history',
        feature: 'load',
        observed: 1 / 999,
        limit: 0.001,
        first_label: '2026-07-11T11:45:00Z',
        last_label: '2026-07-11T11:45:00Z',
      },
    ]);
  });

  test('max_source_skew_seconds is inclusive', async () => {
    const ahead = row(loadSeries, '11:40:00', 835, { ingestedMs: atPlace('11:39:55') });
    expect(valuesOf(await frameOf([...without(loadSeries, '11:45:00'), ahead]), 'load')).toEqual([818, 820, 835, 840]);
  });

  const humid = [...without(humiditySeries, '11:45:00'), row(humiditySeries, '11:45:00', 100.1)];

  test('out_of_range missing (the default): the value counts as missing', async () => {
    expect(valuesOf(await frameOf(humid, allowing), 'humidity')).toEqual([65, 64, null, 62]);
    const edge = [...without(humiditySeries, '11:45:00'), row(humiditySeries, '11:45:00', 100)];
    expect(valuesOf(await frameOf(edge), 'humidity')).toEqual([65, 64, 100, 62]);
  });

  test('out_of_range reject: a reason with the labels of the rows', async () => {
    const rejecting: LoadEdits = {
      task: [
        ...allowing.task,
        ['range: { minimum: 0, maximum: 100 }', 'out_of_range: reject, range: { minimum: 0, maximum: 100 }'],
      ],
    };
    // Two rows: their times are reported, as for any other rule.
    const rows = [...humid, row(humiditySeries, '11:16:00', -1)];
    expect(await reasonsOf(rows, rejecting)).toEqual([
      {
        rule: 'range',
        segment: 'history',
        feature: 'humidity',
        observed: 2,
        limit: 0,
        first_label: '2026-07-11T11:30:00Z',
        last_label: '2026-07-11T11:45:00Z',
      },
    ]);
  });

  test('the range holds for raw rows first and for cells after: a sum of good rows may leave it', async () => {
    const rows = [...fixtureRows(), row(rainSeries, '11:50:00', 3), row(rainSeries, '11:55:00', 3)];
    const edits: LoadEdits = {
      task: [
        ...allowing.task,
        ['name: rain, unit: mm, range: { minimum: 0 }', 'name: rain, unit: mm, range: { minimum: 0, maximum: 5 }'],
      ],
    };
    expect(valuesOf(await frameOf(rows, edits), 'rain')).toEqual([0, 0, 0, null]);
  });
});

describe.each(engines)('[data-processing §4.4] missing policies in the frame, on %s', (engine) => {
  rig(engine);

  test('hold_last fills up to max_cells, labels and counts; a filled cell does not close a gap', async () => {
    const frame = await frameOf(without(loadSeries, '11:30:00'), policy('{ method: hold_last, max_cells: 1 }'));
    expect(valuesOf(frame, 'load')).toEqual([818, 818, 835, 840]);
    expect(qualityOf(frame, 'load')).toEqual(['good', 'substituted', 'good', 'good']);
    expect(frame.quality).toMatchObject({ substituted_samples: 1, missing_ratio: 0, max_gap_seconds: 1800 });
  });

  test('a run longer than max_cells is not filled at all', async () => {
    const rows = without(loadSeries).concat(row(loadSeries, '11:15:00', 818), row(loadSeries, '12:00:00', 840));
    const edits: LoadEdits = {
      task: [...lenient, ['missing_policy: reject', 'missing_policy: { method: hold_last, max_cells: 1 }']],
    };
    expect(valuesOf(await frameOf(rows, edits), 'load')).toEqual([818, null, null, 840]);
  });
});

describe.each(engines)('[data-processing §4.7] Live tail, on %s', (engine) => {
  rig(engine);

  const tailTask: LoadEdits = {
    task: [
      ['live_tail: forbidden', 'live_tail: allowed'],
      [
        '- { name: rain, aggregation: sum',
        '- { name: load, aggregation: last, duplicate_policy: latest }\n    - { name: rain, aggregation: sum',
      ],
    ],
  };
  const live = (sample: LiveSample | null) => ({
    sample: ({ pointIndex }: WatchedPoint) => (pointIndex === 0 ? sample : null),
  });
  const fresh: LiveSample = { value: 900, observedMs: atPlace('12:00:00'), uncertain: false };

  test('replaces only the final cell of a last feature, with its own quality', async () => {
    const frame = await frameOf(fixtureRows(), tailTask, { live: live(fresh) });
    expect(valuesOf(frame, 'load')).toEqual([818, 820, 835, 900]);
    expect(frame.quality.live_tail_included).toBe(true);
    expect(provenanceOf(frame, 'load')).toMatchObject({ source_kind: 'history_and_live' });
  });

  test('where nothing of the feature was stored the source is live alone', async () => {
    const edits: LoadEdits = { task: [...allowing.task, ...(tailTask.task ?? [])] };
    const frame = await frameOf(without(loadSeries), edits, { live: live(fresh) });
    expect([valuesOf(frame, 'load'), provenanceOf(frame, 'load')?.source_kind]).toEqual([
      [null, null, null, 900],
      'live',
    ]);
  });

  test('forbidden: live state is not looked at', async () => {
    expect(await frameOf(fixtureRows(), {}, { live: live(fresh) })).toEqual(loadRequest.frame);
  });

  test.each<[string, LiveSample | null]>([
    ['no usable value', null],
    ['a millisecond after the cutoff', { ...fresh, observedMs: atPlace('12:00:00.001') }],
    ['on the lower edge of the last interval', { ...fresh, observedMs: atPlace('11:45:00') }],
    ['older than what is stored', { ...fresh, observedMs: atPlace('11:59:59.999') }],
  ])('not used: %s', async (_name, sample) => {
    const frame = await frameOf(fixtureRows(), tailTask, { live: live(sample) });
    expect([valuesOf(frame, 'load'), frame.quality.live_tail_included]).toEqual([[818, 820, 835, 840], false]);
  });

  test('an uncertain sample stays uncertain', async () => {
    const frame = await frameOf(fixtureRows(), tailTask, { live: live({ ...fresh, uncertain: true }) });
    expect(qualityOf(frame, 'load')).toEqual(['good', 'good', 'good', 'uncertain']);
  });
});

describe.each(engines)('[data-processing §3.5] Provenance, on %s', (engine) => {
  rig(engine);

  test('one entry for each populated segment and feature, calendars included', async () => {
    const frame = await frameOf(fixtureRows());
    const keys = frame.provenance.map((entry) => `${entry.segment}/${entry.feature}`);
    const populated = [
      ...Object.keys(frame.history.features).map((name) => `history/${name}`),
      ...Object.keys(frame.future_covariates?.features ?? {}).map((name) => `future_covariates/${name}`),
    ];
    expect(keys.toSorted()).toEqual(populated.toSorted());
  });

  test('[data-processing §3.5] source_ref is left out for a remote processor unless the route keeps it', async () => {
    const remote = (more: string): LoadEdits => ({
      task: [['output: {', 'egress: { remote_allowed: true }\noutput: {']],
      binding: [['remote_egress_allowed: false', 'remote_egress_allowed: true']],
      routes: [
        ['endpoint: http://127.0.0.1:8989/', 'endpoint: https://forecast.example.com/'],
        ['boundary: local', 'boundary: remote'],
        ['max_concurrency: 1', `max_concurrency: 1\n    remote_preapproved: true${more}`],
      ],
    });
    const left = await frameOf(fixtureRows(), remote(''));
    expect(left.provenance.every((entry) => entry.source_ref === undefined)).toBe(true);
    expect(left.provenance.every((entry) => entry.source_kind !== undefined && entry.watermark !== undefined)).toBe(
      true,
    );
    const kept = await frameOf(fixtureRows(), remote('\n    egress_source_ref: true'));
    expect(kept).toEqual(loadRequest.frame);
  });
});

describe.each(engines)('[data-processing §4.8] covariates, on %s', (engine) => {
  rig(engine);

  const withRuns = async (runs: unknown, edits: LoadEdits = {}): Promise<Assembly> => {
    await fill(fixtureRows());
    const path = join(store.folder, 'runs.json');
    writeFileSync(path, JSON.stringify({ schema: 'svc.covariate-runs.v1', runs }));
    const binding = [['path: ../weather-nwp.json', `path: ${path}`], ...(edits.binding ?? [])] as const;
    return assembleLoad(store, loadRoute({ ...edits, binding }));
  };
  const run = (issued: string, watermark: string, temperature: number, times = ['12:15:00', '12:30:00']) => ({
    issued_at: `2026-07-11T${issued}Z`,
    watermark: `2026-07-11T${watermark}Z`,
    valid_times: times.map((time) => `2026-07-11T${time}Z`),
    fields: Object.fromEntries(
      [
        ['air_temperature', 'Cel', temperature],
        ['relative_humidity', '%', 50],
        ['precipitation', 'mm', 0],
      ].map(([name, unit, value]) => [
        name,
        { unit, values: times.map(() => value), quality: times.map(() => 'good') },
      ]),
    ),
  });
  const future = (assembled: Assembly) => {
    if (!assembled.ok) throw new Error(JSON.stringify(assembled.reasons));
    return [
      valuesOf(assembled.frame, 'temp_avg', 'future_covariates'),
      qualityOf(assembled.frame, 'temp_avg', 'future_covariates'),
      provenanceOf(assembled.frame, 'temp_avg', 'future_covariates')?.issued_at,
    ];
  };
  const rules = (assembled: Assembly) =>
    assembled.ok ? [] : [...new Set(assembled.reasons.map((reason) => reason.rule))];

  test('the newest run issued at or before as_of; one issued exactly at as_of counts', async () => {
    const runs = [run('11:00:00', '11:10:00', 1), run('12:00:00', '12:00:00', 3), run('11:40:00', '11:50:00', 2)];
    expect(future(await withRuns(runs))).toEqual([[3, 3], ['good', 'good'], '2026-07-11T12:00:00Z']);
  });

  test('a run issued after as_of, or with a later watermark, is not used', async () => {
    const runs = [
      run('11:00:00', '11:10:00', 1),
      run('12:00:00.001', '12:00:00.001', 9),
      run('11:50:00', '12:00:01', 8),
    ];
    expect(future(await withRuns(runs))).toEqual([[1, 1], ['good', 'good'], '2026-07-11T11:00:00Z']);
  });

  test('no run, only a later one, or none that is long enough: covariate_unavailable for each feature', async () => {
    for (const runs of [[], [run('12:00:01', '12:00:01', 1)], [run('11:00:00', '11:10:00', 1, ['12:15:00'])]]) {
      const assembled = await withRuns(runs);
      expect(rules(assembled)).toContain('covariate_unavailable');
      const named = assembled.ok ? [] : assembled.reasons.filter(({ rule }) => rule === 'covariate_unavailable');
      expect(named.map(({ feature, first_label, last_label }) => [feature, first_label, last_label])).toEqual(
        ['temp_avg', 'humidity', 'rain'].map((name) => [name, '2026-07-11T12:15:00Z', '2026-07-11T12:30:00Z']),
      );
    }
  });

  test('a run whose watermark lies after as_of is reported as issue_time too', async () => {
    expect(rules(await withRuns([run('11:50:00', '12:00:01', 8)]))).toContain('issue_time');
  });

  test('max_issue_age_seconds at its limit passes, beyond it is refused', async () => {
    const edits: LoadEdits = {
      task: [['max_gap_seconds: 1800', 'max_issue_age_seconds: 3600\n  max_gap_seconds: 1800']],
    };
    expect(rules(await withRuns([run('11:00:00', '11:00:00', 1)], edits))).toEqual([]);
    expect(rules(await withRuns([run('10:59:59.999', '11:00:00', 1)], edits))).toEqual(['max_issue_age_seconds']);
  });

  test('previous_run: an older run that still covers the grid is labelled and counted', async () => {
    const edits: LoadEdits = {
      binding: [['max_file_bytes: 4194304', 'max_file_bytes: 4194304\n    fallback: previous_run']],
    };
    const runs = [run('11:00:00', '11:10:00', 1), run('11:40:00', '11:50:00', 2, ['12:15:00'])];
    const assembled = await withRuns(runs, edits);
    expect(future(assembled)).toEqual([[1, 1], ['substituted', 'substituted'], '2026-07-11T11:00:00Z']);
    expect(assembled.ok && assembled.frame.quality.substituted_samples).toBe(6);
  });

  test('persistence_day: the recorded values of the last whole day, labelled as such', async () => {
    const day = 86_400_000;
    const rows = fixtureRows().concat(
      [temperatureSeries, humiditySeries, rainSeries].flatMap((series) => [
        row(series, '12:15:00', 21, { eventMs: atPlace('12:15:00') - day, ingestedMs: atPlace('12:15:00') - day }),
        row(series, '12:30:00', 22, { eventMs: atPlace('12:30:00') - day, ingestedMs: atPlace('12:30:00') - day }),
      ]),
    );
    await fill(rows);
    const path = join(store.folder, 'runs.json');
    writeFileSync(path, JSON.stringify({ schema: 'svc.covariate-runs.v1', runs: [] }));
    const route = loadRoute({
      binding: [
        ['path: ../weather-nwp.json', `path: ${path}`],
        ['max_file_bytes: 4194304', 'max_file_bytes: 4194304\n    fallback: persistence_day'],
      ],
    });
    const assembled = await assembleLoad(store, route);
    expect(future(assembled)).toEqual([[21, 22], ['substituted', 'substituted'], undefined]);
    if (!assembled.ok) throw new Error('refused');
    expect(provenanceOf(assembled.frame, 'temp_avg', 'future_covariates')).toEqual({
      segment: 'future_covariates',
      feature: 'temp_avg',
      source_kind: 'history',
      source_ref: 'weather.observed.air_temperature',
      watermark: '2026-07-11T12:00:00Z',
    });
    expect(assembled.frame.quality.substituted_samples).toBe(6);
    expect(checkFrame(assembled.frame, route.task, { kind: 'forecast', horizon_steps: 2 })).toBeNull();
  });

  test('a missing, invalid or oversized run file is source-unavailable and names no path', async () => {
    const broken: [string, string | null][] = [
      ['missing', null],
      ['invalid', '{'],
      ['another unit', JSON.stringify({ schema: 'svc.covariate-runs.v1', runs: [] }).replace('v1', 'v2')],
      ['oversized', ' '.repeat(101)],
    ];
    for (const [, text] of broken) {
      await fill(fixtureRows());
      const path = join(store.folder, 'runs.json');
      rmSync(path, { force: true });
      if (text !== null) writeFileSync(path, text);
      const route = loadRoute({
        binding: [
          ['path: ../weather-nwp.json', `path: ${path}`],
          ['max_file_bytes: 4194304', 'max_file_bytes: 100'],
        ],
      });
      const failure: unknown = await assembleLoad(store, route).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'source-unavailable', status: 503 });
      expect(JSON.stringify([failure instanceof Fault ? [failure.message, failure.details] : null])).not.toContain(
        path,
      );
    }
  });

  test('a run in another unit is a broken source: nothing is converted', async () => {
    const runs = [run('11:00:00', '11:10:00', 1)].map(
      (each) => JSON.parse(JSON.stringify(each).replace('Cel', 'K')) as unknown,
    );
    await expect(withRuns(runs)).rejects.toMatchObject({ code: 'source-unavailable' });
  });
});

describe.each(engines)('the store and the deadline, on %s', (engine) => {
  rig(engine);

  test('[data-processing §4.2] a missing history store makes only that request unavailable; a later one recovers', async () => {
    expect(await assemble(fixtureRows())).toMatchObject({ ok: true });
    const putBack = await store.moveAway();
    await expect(assembleLoad(store, loadRoute())).rejects.toMatchObject({ code: 'source-unavailable', status: 503 });
    await putBack();
    expect(await assembleLoad(store, loadRoute())).toMatchObject({ ok: true });
  });

  test('the deadline ends the assembly with its own reason', async () => {
    const late = new Fault('deadline-exceeded', 'the deadline has passed');
    await expect(assemble(fixtureRows(), {}, { signal: AbortSignal.abort(late) })).rejects.toBe(late);
  });
});
