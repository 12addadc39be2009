/**
 * The distributions of a horizon, for a sample on the grid of its seasons: first the doubtful parts of the sample are found, then every
 * step is forecast from the inputs that are known for it.
 */
import { dayMs } from '../base/timestamp.ts';
import { expectationOf } from './expectation.ts';
import { type Explanation, type Share, type ShiftSeen, sharesOf } from './explanation.ts';
import { type Ground, groundOf } from './ground.ts';
import { findShift, type LevelShift, onNewLevel } from './level-shift.ts';
import { mixtureOf } from './levels.ts';
import { lostInputs, staleInputs, withoutInputs } from './lost-inputs.ts';
import { doubtedCells, withoutNewest } from './newest-cells.ts';
import { fitRegression, predictRegression, type RegressionFit } from './regression.ts';
import type { Sample } from './sample.ts';
import { forecastSeries } from './series/combination.ts';

/** The fit of a part of a history, or a cached one of exactly the same part. */
export type RecallFit = (part: Sample, make: () => RegressionFit) => RegressionFit;

export interface Outlook {
  /** One distribution at the levels per step. */
  readonly rows: readonly Float64Array[];
  readonly explanation: Explanation;
}

/** `seen` is the ground of the sample, which the caller needs too. */
export function outlookOf(seen: Ground, recall: RecallFit): Outlook {
  const { sample, perDay } = seen;
  if (perDay === 0) throw new Error('the cadence does not divide a day');
  const expected = expectationOf(seen, sample.count);
  const doubted = doubtedCells(seen, expected);
  const believed = withoutNewest(sample, doubted);
  const shift = findShift(doubted === 0 ? seen : groundOf(believed), expected);
  const known = shift === null ? forecastKnown(believed, recall) : forecastShifted(believed, shift, recall);
  return {
    rows: known.rows,
    explanation: {
      models: known.models,
      inputs: known.inputs,
      shift: shift === null ? null : shiftSeen(sample, shift),
      lost: lostInputs(sample).map(({ name, how, steps }) => ({
        name,
        how,
        steps: steps.filter((flag) => flag === 1).length,
      })),
      stale: staleInputs(sample),
      doubted,
    },
  };
}

function shiftSeen({ count, cadenceMs }: Sample, { cell, kind, amount, share }: LevelShift): ShiftSeen {
  return { hours: ((count - cell) * cadenceMs) / 3_600_000, kind, amount, share };
}

interface Known {
  readonly rows: readonly Float64Array[];
  readonly models: readonly Share[];
  readonly inputs: readonly Share[];
}

/** On the new level; while the shift is young, the old one remains possible. */
function forecastShifted(sample: Sample, shift: LevelShift, recall: RecallFit): Known {
  const moved = forecastKnown(onNewLevel(sample, shift), recall);
  if (shift.share === 1) return moved;
  const stayed = forecastKnown(sample, recall);
  const rows = moved.rows.map((row, step) => mixtureOf(row, stayed.rows[step] as Float64Array, shift.share));
  return { ...moved, rows };
}

/** The weight of a filled gap: half, because the weather of the days around it determines only part of it. */
const closedShare = 0.5;

/** Steps whose inputs are lost are half forecast without those inputs, and wholly where nothing of the horizon is known. */
function forecastKnown(sample: Sample, recall: RecallFit): Known {
  const lost = lostInputs(sample);
  if (lost.length === 0) return forecastWhole(sample, recall);
  const less = forecastWhole(withoutInputs(sample, new Set(lost.map(({ name }) => name))), recall);
  const isLost = (step: number): boolean => lost.some(({ steps }) => steps[step] === 1);
  if (less.rows.every((_, step) => isLost(step))) return less;
  const whole = forecastWhole(sample, recall);
  const rows = whole.rows.map((row, step) =>
    isLost(step) ? mixtureOf(row, less.rows[step] as Float64Array, closedShare) : row,
  );
  return { ...whole, rows };
}

/** Cells per day up to which the single-series models are fast enough. */
const seriesDayMax = 48;

function forecastWhole(sample: Sample, recall: RecallFit): Known {
  const ground = groundOf(sample);
  if (sample.covariates.length === 0 && ground.perDay <= seriesDayMax) {
    const own = forecastSeries(ground.filled, sample.horizon, ground.perDay);
    if (own !== null) return { ...own, inputs: [] };
  }
  const part = fittingPart(sample);
  const fit = recall(part, () => fitRegression(groundOf(part)));
  const endCell = (part.startMs - sample.startMs) / sample.cadenceMs + part.count;
  const names = fit.candidates.map(({ name }) => name);
  return {
    rows: predictRegression(fit, ground, sample.count - endCell),
    models: sharesOf(names, fit.weights),
    inputs: fit.inputs,
  };
}

/**
 * The part of a local history that fits may use: whole days up to the last midnight, from the first midnight that the frame
 * of any hour of that day would still hold. All requests of one day therefore share one fit.
 */
export function fittingPart(sample: Sample): Sample {
  const { startMs, cadenceMs, count, target } = sample;
  const endMs = startMs + (count - 1) * cadenceMs;
  const first = Math.round((Math.ceil(startMs / dayMs) * dayMs - startMs) / cadenceMs) + 1;
  const last = Math.floor((Math.floor(endMs / dayMs) * dayMs - startMs) / cadenceMs);
  return {
    ...sample,
    startMs: startMs + first * cadenceMs,
    count: last + 1 - first,
    target: target.slice(first, last + 1),
    covariates: sample.covariates.map(({ name, values }) => ({ name, values: values.slice(first, last + 1) })),
  };
}
