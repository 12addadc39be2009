/** Refusals of a frame by its receiver, line by line of [data-processing §3]; every patched request has the digest of its content. */
import { describe, expect, test } from 'vitest';
import type { DataProcessingRequest } from '../../api/processing.ts';
import { type PatchOperation, patched } from '../../base/json-patch.ts';
import { checkRequest, type Receiver } from '../../processor-kit/check-request.ts';
import {
  bytesOf,
  loadReceiver,
  loadRequest,
  loadTask,
  processorHeaders,
  redigested,
} from '../../testing/load-fixture.ts';
import type { TaskDeclaration } from '../task/declaration.ts';

const replace = (path: string, value: unknown): PatchOperation => ({ op: 'replace', path: `/frame${path}`, value });
const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path: `/frame${path}`, value });
const remove = (path: string): PatchOperation => ({ op: 'remove', path: `/frame${path}` });

/** The refusal as `code path rule`, or `accepted`. */
function verdict(operations: readonly PatchOperation[], receiver: Partial<Receiver> = {}): string {
  const request = redigested(patched<DataProcessingRequest>(loadRequest, operations));
  const checked = checkRequest({ headers: processorHeaders, body: bytesOf(request) }, { ...loadReceiver, ...receiver });
  if (checked.ok) return 'accepted';
  const { code, details } = checked.refusal.body;
  return [code, ...Object.values(details)].join(' ');
}
const under = (changes: Partial<TaskDeclaration>) => ({ declarations: [{ ...loadTask, ...changes }] });

type Line = readonly [name: string, expected: string, ...operations: PatchOperation[]];
function lines(title: string, ...each: readonly Line[]): void {
  describe(title, () => {
    const rows = each.map(([name, expected, ...operations]) => [name, expected, operations] as const);
    test.each(rows)('%s', (_, expected, operations) => {
      expect(verdict(operations)).toBe(expected);
    });
  });
}

const load = '/history/features/load';
const labels = ['2026-07-11T11:15:00Z', '2026-07-11T11:30:00Z', '2026-07-11T11:45:00Z', '2026-07-11T12:00:00Z'];

lines(
  '[data-processing §3.2] Time invariants',
  [
    '1 labels are interval ends: starts are off the grid',
    'FRAME_INVALID /frame/history/timestamps/0 grid',
    replace('/history/timestamps', ['2026-07-11T11:00:00Z', ...labels.slice(0, 3)]),
  ],
  [
    '2 the final label is as_of',
    'FRAME_INVALID /frame/history/timestamps/3 grid',
    replace('/history/timestamps/3', '2026-07-11T12:00:00.001Z'),
  ],
  ['2 N steps, not one less', 'FRAME_INVALID /frame/history/timestamps length', remove('/history/timestamps/0')],
  [
    '3 the future grid starts one cadence after as_of',
    'FRAME_INVALID /frame/future_covariates/timestamps/0 grid',
    replace('/future_covariates/timestamps/0', '2026-07-11T12:00:00Z'),
  ],
  [
    '3 and advances by exact cadence',
    'FRAME_INVALID /frame/future_covariates/timestamps/1 grid',
    replace('/future_covariates/timestamps/1', '2026-07-11T12:45:00Z'),
  ],
  ['4 a timestamp is never dropped', 'FRAME_INVALID /frame/history/timestamps length', remove('/history/timestamps/1')],
  [
    '4 nor retimed',
    'FRAME_INVALID /frame/history/timestamps/1 grid',
    replace('/history/timestamps/1', '2026-07-11T11:29:59Z'),
  ],
  [
    '5 future target values never appear in future_covariates',
    'FRAME_INVALID /frame/future_covariates/features/load undeclared_feature',
    add('/future_covariates/features/load', {
      value_type: 'number',
      unit: 'kW',
      values: [1, 2],
      quality: ['good', 'good'],
    }),
  ],
  [
    '6 input_watermark is not after as_of',
    'FRAME_INVALID /frame/quality/input_watermark not_after_as_of',
    replace('/quality/input_watermark', '2026-07-11T12:00:00.001Z'),
  ],
  [
    '6 and is the newest source observation',
    'FRAME_INVALID /frame/quality/input_watermark newest_watermark',
    replace('/quality/input_watermark', '2026-07-11T11:59:00Z'),
  ],
  ['a day that does not exist', 'FRAME_INVALID /frame/as_of timestamp', replace('/as_of', '2026-02-30T12:00:00Z')],
  ['a fraction of zero may be written', 'accepted', replace('/as_of', '2026-07-11T12:00:00.000Z')],
);

lines(
  '[data-processing §3.1] Segment and static features',
  [
    'values have as many entries as timestamps',
    `FRAME_INVALID /frame${load}/values length`,
    remove(`${load}/values/0`),
  ],
  ['so has quality', `FRAME_INVALID /frame${load}/quality length`, remove(`${load}/quality/0`)],
  ['a number series has a unit', `FRAME_INVALID /frame${load}/unit required`, remove(`${load}/unit`)],
  ['the unit of the task', `UNIT_UNSUPPORTED /frame${load}/unit unit`, replace(`${load}/unit`, 'MW')],
  ['a string series has none', `FRAME_INVALID /frame${load}/unit forbidden`, replace(`${load}/value_type`, 'string')],
  ['every declared feature is there', `FRAME_INVALID /frame${load} required`, remove(load)],
  [
    'an undeclared one is not',
    'FRAME_INVALID /frame/history/features/Load undeclared_feature',
    add('/history/features/Load', {
      value_type: 'number',
      unit: 'kW',
      values: [1, 2, 3, 4],
      quality: ['good', 'good', 'good', 'good'],
    }),
  ],
  [
    'declared future covariates are required',
    'FRAME_INVALID /frame/future_covariates required',
    remove('/future_covariates'),
  ],
  ['an empty static_features is allowed', 'accepted', replace('/static_features', {})],
  [
    'undeclared static features are not',
    'FRAME_INVALID /frame/static_features undeclared_feature',
    add('/static_features/x', { value_type: 'number', unit: 'kW', value: 1, quality: 'good' }),
  ],
  ['missing is null', `FRAME_INVALID /frame${load}/quality/0 missing_is_null`, replace(`${load}/quality/0`, 'missing')],
  ['null is missing', `FRAME_INVALID /frame${load}/quality/0 missing_is_null`, replace(`${load}/values/0`, null)],
  ['an unknown quality', `FRAME_INVALID /frame${load}/quality/0 value`, replace(`${load}/quality/0`, 'excellent')],
);

const entry = (index: number, member: string) => `/provenance/${index}/${member}`;

lines(
  '[data-processing §3.5] Provenance entry',
  ['a missing entry', 'FRAME_INVALID /frame/provenance missing_entry', remove('/provenance/4')],
  [
    'a key twice with different metadata',
    'FRAME_INVALID /frame/provenance/9 duplicate_entry',
    add('/provenance/-', {
      segment: 'history',
      feature: 'load',
      source_kind: 'history',
      watermark: '2026-07-11T11:00:00Z',
    }),
  ],
  [
    'exactly one entry per pair: the same twice',
    'FRAME_INVALID /frame/provenance/9 duplicate_entry',
    add('/provenance/-', {
      segment: 'history',
      feature: 'load',
      source_kind: 'history',
      source_ref: 'energy.site.load.active_power',
      watermark: '2026-07-11T12:00:00Z',
    }),
  ],
  [
    'an entry of an absent feature',
    'FRAME_INVALID /frame/provenance/9 absent_feature',
    add('/provenance/-', {
      segment: 'history',
      feature: 'wind',
      source_kind: 'history',
      watermark: '2026-07-11T12:00:00Z',
    }),
  ],
  ['source_ref may be left out', 'accepted', remove('/provenance/0/source_ref')],
  [
    'source_ref is never a path',
    'FRAME_INVALID /frame/provenance/0/source_ref pattern',
    replace(entry(0, 'source_ref'), '/etc/passwd'),
  ],
  [
    'nor an address',
    'FRAME_INVALID /frame/provenance/0/source_ref pattern',
    replace(entry(0, 'source_ref'), 'http://10.0.0.1/x'),
  ],
  [
    'watermark is not after as_of',
    'FRAME_INVALID /frame/provenance/0/watermark not_after_as_of',
    replace(entry(0, 'watermark'), '2026-07-11T12:00:01Z'),
  ],
  [
    'a covariate has its issue time',
    'FRAME_INVALID /frame/provenance/5/issued_at required',
    remove('/provenance/5/issued_at'),
  ],
  [
    'issued_at is not after the watermark',
    'FRAME_INVALID /frame/provenance/5/issued_at not_after_watermark',
    replace(entry(5, 'issued_at'), '2026-07-11T11:50:00.001Z'),
  ],
  [
    'recorded history has no issue time',
    'FRAME_INVALID /frame/provenance/0/issued_at forbidden',
    add('/provenance/0/issued_at', '2026-07-11T11:00:00Z'),
  ],
  [
    'history does not come from a covariate',
    'FRAME_INVALID /frame/provenance/0/source_kind source_kind',
    replace(entry(0, 'source_kind'), 'covariate'),
  ],
  [
    'a recorded feature is not a calendar',
    'FRAME_INVALID /frame/provenance/0/source_kind source_kind',
    replace(entry(0, 'source_kind'), 'calendar'),
  ],
  [
    'a calendar feature is nothing else',
    'FRAME_INVALID /frame/provenance/4/source_kind source_kind',
    replace(entry(4, 'source_kind'), 'history'),
  ],
);

describe('[data-processing §3.4] calendar watermarks do not advance the aggregate', () => {
  test('observations that end earlier set the watermark', () => {
    const earlier = [0, 1, 2, 3].map((index) => replace(entry(index, 'watermark'), '2026-07-11T11:55:00Z'));
    expect(verdict([...earlier, replace('/quality/input_watermark', '2026-07-11T11:55:00Z')])).toBe('accepted');
    expect(verdict(earlier)).toBe('FRAME_INVALID /frame/quality/input_watermark newest_watermark');
  });
});

lines(
  '[data-processing §3.4] Aggregate quality: recomputed, not believed',
  ['missing_ratio', 'FRAME_INVALID /frame/quality/missing_ratio recomputed', replace('/quality/missing_ratio', 0.1)],
  [
    'substituted_samples',
    'FRAME_INVALID /frame/quality/substituted_samples recomputed',
    replace('/quality/substituted_samples', 1),
  ],
  [
    'max_gap_seconds',
    'FRAME_INVALID /frame/quality/max_gap_seconds recomputed',
    replace('/quality/max_gap_seconds', 1800),
  ],
  [
    'live_tail_included',
    'FRAME_INVALID /frame/quality/live_tail_included recomputed',
    replace('/quality/live_tail_included', true),
  ],
);

describe('[data-processing §4.7] Live tail', () => {
  const live = [replace(entry(0, 'source_kind'), 'history_and_live'), replace('/quality/live_tail_included', true)];
  const refused = 'FRAME_INVALID /frame/provenance/0/source_kind live_tail';
  const frame = { ...loadTask.frame, live_tail: 'allowed' } as const;
  const last = { ...loadTask.alignment, aggregation: 'last' } as const;

  test('only where the task allows it, for `last`; rejected for mean, sum, min and max', () => {
    expect(verdict(live)).toBe(refused);
    expect(verdict(live, under({ frame, alignment: last }))).toBe('accepted');
    for (const aggregation of ['mean', 'sum', 'min', 'max'] as const)
      expect(verdict(live, under({ frame, alignment: { ...loadTask.alignment, aggregation } }))).toBe(refused);
    expect(verdict(live, under({ alignment: last }))).toBe(refused);
  });
});

describe('[processor §4]: quality beyond the task is refused at frame validation', () => {
  const allow = { ...loadTask.alignment, missing_policy: 'allow' } as const;
  const missingCell = [
    replace(`${load}/values/1`, null),
    replace(`${load}/quality/1`, 'missing'),
    replace('/quality/missing_ratio', 1 / 28),
    replace('/quality/max_gap_seconds', 1800),
  ];

  test('null only where the missing policy allows it', () => {
    expect(verdict(missingCell)).toBe('QUALITY_REJECTED /frame/quality/missing_ratio missing_policy');
    const quality = { ...loadTask.quality, max_missing_ratio: 1 / 28 };
    expect(verdict(missingCell, under({ alignment: allow, quality }))).toBe('accepted');
  });

  test('max_missing_ratio and max_gap_seconds: at the bound accepted, beyond it refused', () => {
    const quality = { ...loadTask.quality, max_missing_ratio: 0.04, max_gap_seconds: 1800 };
    expect(verdict(missingCell, under({ alignment: allow, quality }))).toBe('accepted');
    const ratio = under({ alignment: allow, quality: { ...quality, max_missing_ratio: 0.035 } });
    expect(verdict(missingCell, ratio)).toBe('QUALITY_REJECTED /frame/quality/missing_ratio max_missing_ratio');
    const gap = under({ alignment: allow, quality: { ...quality, max_gap_seconds: 1799 } });
    expect(verdict(missingCell, gap)).toBe('QUALITY_REJECTED /frame/quality/max_gap_seconds max_gap_seconds');
  });

  test('max_input_age_seconds holds for each history feature', () => {
    const old = (watermark: string) => [replace(entry(3, 'watermark'), watermark)];
    expect(verdict(old('2026-07-11T11:45:00Z'))).toBe('accepted');
    expect(verdict(old('2026-07-11T11:44:59.999Z'))).toBe(
      'QUALITY_REJECTED /frame/provenance/3/watermark max_input_age_seconds',
    );
  });

  test('max_issue_age_seconds holds for each covariate', () => {
    const aged = (seconds: number) =>
      verdict([], under({ quality: { ...loadTask.quality, max_issue_age_seconds: seconds } }));
    expect(aged(1200)).toBe('accepted');
    expect(aged(1199)).toBe('QUALITY_REJECTED /frame/provenance/5/issued_at max_issue_age_seconds');
  });

  test('numeric constraints', () => {
    expect(verdict([replace('/history/features/humidity/values/0', 100)])).toBe('accepted');
    expect(verdict([replace('/history/features/humidity/values/0', 100.1)])).toBe(
      'QUALITY_REJECTED /frame/history/features/humidity/values/0 range',
    );
    expect(verdict([replace('/history/features/quarter_hour/values/0', 45.5)])).toBe(
      'QUALITY_REJECTED /frame/history/features/quarter_hour/values/0 range',
    );
  });
});
