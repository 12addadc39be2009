/**
 * Frame assembly in the most obvious way, for comparison: quadratic, over all rows, sharing nothing with the real one
 * except the shapes of the wire. It follows the text of the contract, not the code.
 */

export interface NaiveRow {
  readonly eventMs: number;
  readonly ingestedMs: number;
  readonly value: number | null;
  readonly uncertain: boolean;
}

export interface NaiveFeature {
  readonly name: string;
  readonly unit: string;
  readonly aggregation: 'mean' | 'sum' | 'min' | 'max' | 'last';
  readonly duplicates: 'latest' | 'reject';
  readonly minimum: number;
  readonly maximum: number;
  readonly outOfRange: 'reject' | 'missing';
  /** In the order of storage. */
  readonly rows: readonly NaiveRow[];
}

export interface NaiveRun {
  readonly issuedMs: number;
  readonly watermarkMs: number;
  readonly cells: ReadonlyMap<number, number | null>;
}

export interface NaiveCase {
  readonly asOfMs: number;
  readonly cadenceMs: number;
  readonly steps: number;
  readonly horizon: number;
  readonly timezone: string;
  readonly skewMs: number;
  readonly history: readonly NaiveFeature[];
  /** The one feature that comes from runs; its range is open. */
  readonly run: { readonly name: string; readonly unit: string; readonly runs: readonly NaiveRun[] };
  readonly missing: 'reject' | 'allow' | { readonly method: 'hold_last' | 'linear'; readonly maxCells: number };
  readonly limits: {
    readonly ageSeconds: number;
    readonly issueAgeSeconds: number;
    readonly gapSeconds: number;
    readonly missingRatio: number;
  };
}

interface Cell {
  readonly value: number | null;
  readonly quality: 'good' | 'uncertain' | 'substituted' | 'missing';
}
interface NaiveSeries {
  readonly segment: 'history' | 'future_covariates';
  readonly name: string;
  readonly unit: string;
  readonly kind: 'history' | 'covariate' | 'calendar';
  readonly labels: readonly number[];
  readonly observed: readonly Cell[];
  readonly cells: readonly Cell[];
  readonly watermarkMs: number | null;
  readonly issuedMs: number | null;
}
/** `rule segment feature first last`, unordered. */
export type NaiveOutcome = { readonly frame: unknown } | { readonly broken: readonly string[] };

const none: Cell = { value: null, quality: 'missing' };
const text = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

export function assembleNaively(given: NaiveCase): NaiveOutcome {
  const { asOfMs, cadenceMs, steps, horizon } = given;
  const past = Array.from({ length: steps }, (_, index) => asOfMs - (steps - 1 - index) * cadenceMs);
  const ahead = Array.from({ length: horizon }, (_, index) => asOfMs + (index + 1) * cadenceMs);
  const broken: string[] = [];
  const say = (rule: string, series?: { segment: string; name: string }, labels: readonly number[] = []): void => {
    const span = labels.length === 0 ? ['-', '-'] : [text(labels[0] ?? 0), text(labels.at(-1) ?? 0)];
    broken.push([rule, series?.segment ?? '-', series?.name ?? '-', ...span].join(' '));
  };
  const series = [
    ...given.history.map((feature) => recorded(feature, past, given, say)),
    quarterHours('history', past, given),
    fromRuns(ahead, given, say),
    quarterHours('future_covariates', ahead, given),
  ];
  for (const one of series) judge(one, given, say);
  const all = series.flatMap((one) => one.cells);
  const ratio = all.filter((cell) => cell.value === null).length / all.length;
  if (ratio > given.limits.missingRatio) say('max_missing_ratio');
  if (broken.length > 0) return { broken };
  return { frame: frameOf(series, past, ahead, ratio, given) };
}

type Say = (rule: string, series?: { segment: string; name: string }, labels?: readonly number[]) => void;

/** The labels in whose intervals the instants lie, in order. */
function labelsOf(instants: readonly number[], labels: readonly number[]): number[] {
  return instants
    .toSorted((one, other) => one - other)
    .map((instant) => labels.find((candidate) => candidate >= instant) ?? 0);
}

function recorded(feature: NaiveFeature, labels: readonly number[], given: NaiveCase, say: Say): NaiveSeries {
  const place = { segment: 'history', name: feature.name } as const;
  const from = (labels[0] ?? 0) - given.cadenceMs;
  const window = feature.rows.filter((row) => row.eventMs > from && row.eventMs <= given.asOfMs);
  const honest = window.filter((row) => row.eventMs - row.ingestedMs <= given.skewMs);
  const instants = [...new Set(honest.map((row) => row.eventMs))].toSorted((one, other) => one - other);
  const twice = instants.find((instant) => honest.filter((row) => row.eventMs === instant).length > 1);
  if (feature.duplicates === 'reject' && twice !== undefined) {
    say('duplicate_sample', place, labelsOf([twice], labels));
  }
  const ahead = window.filter((row) => row.eventMs - row.ingestedMs > given.skewMs).map((row) => row.eventMs);
  if (window.length > 0 && ahead.length / window.length > 0.001) say('clock_skew', place, labelsOf(ahead, labels));
  // Of rows with the same instant, the one ingested last, then the one stored last.
  const standing = instants.flatMap((instant) => {
    let newest: NaiveRow | undefined;
    for (const row of honest)
      if (row.eventMs === instant && (newest === undefined || row.ingestedMs >= newest.ingestedMs)) newest = row;
    return newest === undefined || newest.value === null ? [] : [{ ...newest, value: newest.value }];
  });
  const fits = (value: number): boolean => value >= feature.minimum && value <= feature.maximum;
  const used = standing.filter((row) => fits(row.value));
  const wild = standing.filter((row) => !fits(row.value)).map((row) => row.eventMs);
  if (feature.outOfRange === 'reject' && wild.length > 0) say('range', place, labelsOf(wild, labels));
  const reduced = labels.map((label): Cell => {
    const rows = used.filter((row) => row.eventMs > label - given.cadenceMs && row.eventMs <= label);
    if (rows.length === 0) return none;
    const value = reduce(
      rows.map((row) => row.value),
      feature.aggregation,
    );
    return { value, quality: rows.some((row) => row.uncertain) ? 'uncertain' : 'good' };
  });
  const outside = labels.filter((_, index) => {
    const value = reduced[index]?.value ?? null;
    return value !== null && !fits(value);
  });
  if (feature.outOfRange === 'reject' && outside.length > 0) say('range', place, outside);
  const observed = reduced.map((cell) => (cell.value !== null && !fits(cell.value) ? none : cell));
  return {
    ...place,
    unit: feature.unit,
    kind: 'history',
    labels,
    observed,
    cells: fill(observed, given.missing, fits),
    watermarkMs: used.length === 0 ? null : Math.max(...used.map((row) => row.eventMs)),
    issuedMs: null,
  };
}

function reduce(values: readonly number[], aggregation: NaiveFeature['aggregation']): number {
  const sum = values.reduce((total, value) => total + value, 0);
  if (aggregation === 'sum') return sum;
  if (aggregation === 'mean') return sum / values.length;
  if (aggregation === 'min') return Math.min(...values);
  if (aggregation === 'max') return Math.max(...values);
  return values.at(-1) ?? 0;
}

function fill(cells: readonly Cell[], policy: NaiveCase['missing'], fits: (value: number) => boolean): Cell[] {
  if (typeof policy === 'string') return [...cells];
  return cells.map((cell, index) => {
    if (cell.value !== null) return cell;
    let first = index;
    while (first > 0 && cells[first - 1]?.value === null) first--;
    let last = index;
    while (last < cells.length - 1 && cells[last + 1]?.value === null) last++;
    const before = cells[first - 1]?.value ?? null;
    const after = cells[last + 1]?.value ?? null;
    if (last - first + 1 > policy.maxCells || before === null) return cell;
    if (policy.method === 'hold_last') return { value: before, quality: 'substituted' };
    if (after === null) return cell;
    const value = before + ((after - before) * (index - first + 1)) / (last - first + 2);
    return fits(value) ? { value, quality: 'substituted' } : cell;
  });
}

function quarterHours(segment: NaiveSeries['segment'], labels: readonly number[], given: NaiveCase): NaiveSeries {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: given.timezone, hour: '2-digit', minute: '2-digit' });
  const cells = labels.map((label): Cell => {
    const [hour = '', minute = ''] = format.format(label).split(':');
    return { value: Number(hour) * 4 + Math.floor(Number(minute) / 15), quality: 'good' };
  });
  const name = 'quarter_hour';
  const { asOfMs: watermarkMs } = given;
  return { segment, name, unit: '1', kind: 'calendar', labels, observed: cells, cells, watermarkMs, issuedMs: null };
}

function fromRuns(labels: readonly number[], given: NaiveCase, say: Say): NaiveSeries {
  const { name, unit, runs } = given.run;
  const place = { segment: 'future_covariates', name, unit, kind: 'covariate', labels } as const;
  const covering = runs.filter((run) => run.issuedMs <= given.asOfMs && labels.every((label) => run.cells.has(label)));
  let chosen: NaiveRun | undefined;
  for (const run of covering) {
    if (run.watermarkMs > given.asOfMs) continue;
    if (chosen === undefined || run.issuedMs > chosen.issuedMs) chosen = run;
    else if (run.issuedMs === chosen.issuedMs && run.watermarkMs > chosen.watermarkMs) chosen = run;
  }
  if (chosen === undefined) {
    say('covariate_unavailable', place, labels);
    if (covering.length > 0) say('issue_time', place);
    const cells = labels.map(() => none);
    return { ...place, observed: cells, cells, watermarkMs: null, issuedMs: null };
  }
  const { cells: values, issuedMs, watermarkMs } = chosen;
  if (given.asOfMs - issuedMs > given.limits.issueAgeSeconds * 1000) say('max_issue_age_seconds', place);
  const observed = labels.map((label): Cell => {
    const value = values.get(label) ?? null;
    return value === null ? none : { value, quality: 'good' };
  });
  return { ...place, observed, cells: fill(observed, given.missing, () => true), watermarkMs, issuedMs };
}

function judge(series: NaiveSeries, given: NaiveCase, say: Say): void {
  const { labels, cells, observed, watermarkMs } = series;
  const missing = labels.filter((_, index) => cells[index]?.value === null);
  const rule = series.segment === 'history' ? 'history_unavailable' : 'covariate_unavailable';
  if (watermarkMs === null && series.kind === 'history') say(rule, series, labels);
  if (watermarkMs !== null && given.missing === 'reject' && missing.length > 0) say(rule, series, missing);
  if (series.segment === 'history') {
    const seen = labels.filter((_, index) => observed[index]?.value !== null);
    const start = (labels[0] ?? 0) - given.cadenceMs;
    const ends = [start, ...seen, given.asOfMs];
    const gaps = ends.slice(1).map((end, index) => ({ from: ends[index] ?? 0, to: end }));
    const widest = gaps.reduce((best, gap) => (gap.to - gap.from > best.to - best.from ? gap : best));
    if (widest.to - widest.from > given.limits.gapSeconds * 1000) {
      const inside = labels.filter((label) => label > widest.from && (label < widest.to || !seen.includes(label)));
      say(
        'max_gap_seconds',
        series,
        widest.to - widest.from > given.cadenceMs ? inside.filter((label) => label <= widest.to) : [],
      );
    }
  }
  if (series.kind === 'history' && watermarkMs !== null && given.asOfMs - watermarkMs > given.limits.ageSeconds * 1000)
    say('max_input_age_seconds', series);
}

function frameOf(
  series: readonly NaiveSeries[],
  past: readonly number[],
  ahead: readonly number[],
  ratio: number,
  given: NaiveCase,
): unknown {
  const segment = (name: NaiveSeries['segment'], labels: readonly number[]) => ({
    timestamps: labels.map(text),
    features: Object.fromEntries(
      series
        .filter((one) => one.segment === name)
        .map((one) => [
          one.name,
          {
            value_type: 'number',
            unit: one.unit,
            values: one.cells.map((cell) => cell.value),
            quality: one.cells.map((cell) => cell.quality),
          },
        ]),
    ),
  });
  const gap = (one: NaiveSeries): number => {
    const seen = past.filter((_, index) => one.observed[index]?.value !== null);
    if (seen.length === 0) return given.steps * given.cadenceMs;
    const ends = [given.asOfMs - given.steps * given.cadenceMs, ...seen, given.asOfMs];
    return Math.max(given.cadenceMs, ...ends.slice(1).map((end, index) => end - (ends[index] ?? 0)));
  };
  const marks = series.filter((one) => one.kind !== 'calendar').map((one) => one.watermarkMs ?? 0);
  const history = series.filter((one) => one.segment === 'history');
  return {
    schema: 'svc.processing-frame.v1',
    as_of: text(given.asOfMs),
    cadence_seconds: given.cadenceMs / 1000,
    history: segment('history', past),
    future_covariates: segment('future_covariates', ahead),
    static_features: {},
    quality: {
      input_watermark: text(Math.max(...marks)),
      missing_ratio: ratio,
      max_gap_seconds: Math.max(...history.map(gap)) / 1000,
      live_tail_included: false,
      substituted_samples: series.flatMap((one) => one.cells).filter((cell) => cell.quality === 'substituted').length,
    },
    provenance: series.map((one) => ({
      segment: one.segment,
      feature: one.name,
      source_kind: one.kind,
      watermark: text(one.watermarkMs ?? 0),
      ...(one.issuedMs === null ? {} : { issued_at: text(one.issuedMs) }),
    })),
  };
}
