/**
 * Faults of a site: `--fault shift:HOURS:x2` (or `x0.5`, `+1` for a step by the mean) moves the level since HOURS before the
 * origin, `--fault lost:half` (or `random`, `all`) takes the first covariate away over the horizon, `--fault glitch:3` makes the
 * newest value three times the largest.
 */
import { SeededStream } from '../../src/base/seeded.ts';
import type { ScoreCase } from './score-data.ts';

type Change = (value: number) => number;

export function withFault(own: ScoreCase, fault: string, seed: number): ScoreCase {
  const [kind, first = '', second = ''] = fault.split(':');
  if (kind === 'shift') return withShift(own, Number(first), second);
  if (kind === 'lost') return withLoss(own, first, seed);
  if (kind === 'glitch') return withGlitch(own, Number(first));
  throw new Error(`no fault ${fault}`);
}

function changeOf(own: ScoreCase, how: string): Change {
  const amount = Number(how.slice(1));
  if (how.startsWith('x')) return (value) => value * amount;
  const known = own.sample.target.filter((value) => !Number.isNaN(value));
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  return (value) => value + amount * mean;
}

function withShift(own: ScoreCase, hours: number, how: string): ScoreCase {
  const { sample, actual } = own;
  const change = changeOf(own, how);
  const since = sample.count - Math.round((hours * 3_600_000) / sample.cadenceMs);
  const target = sample.target.map((value, cell) => (cell < since ? value : change(value)));
  return { ...own, sample: { ...sample, target }, actual: actual.map(change) };
}

function withLoss(own: ScoreCase, how: string, seed: number): ScoreCase {
  const { sample } = own;
  const { count, horizon } = sample;
  const stream = new SeededStream(seed + 1);
  const isLost = (step: number): boolean =>
    how === 'all' || (how === 'half' ? step >= horizon / 2 : stream.next() < 0.5);
  const covariates = sample.covariates.map(({ name, values }, place) => ({
    name,
    values:
      place > 0 ? values : values.map((value, cell) => (cell >= count && isLost(cell - count) ? Number.NaN : value)),
  }));
  return { ...own, sample: { ...sample, covariates } };
}

function withGlitch(own: ScoreCase, times: number): ScoreCase {
  const target = own.sample.target.slice();
  const most = target.reduce((high, value) => (value > high ? value : high), 0);
  target[target.length - 1] = times * most;
  return { ...own, sample: { ...own.sample, target } };
}
