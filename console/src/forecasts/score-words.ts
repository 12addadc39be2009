/** Scores in words: errors, and their ratio to those of the references. */
import type { ScoreGroup } from '../../../src/api/processing-results.ts';
import { shownNumber, withUnit } from '../parts/number.ts';
import { forecastWords } from '../strings/forecasts.ts';

const words = forecastWords.scores;

const digits = 3;
const rounded = (value: number): number => Number(value.toPrecision(digits));

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

export function factsOf(group: ScoreGroup, unit: string): [string, string][] {
  const { mae, bias, interval, coverage, skill } = group;
  const amount = (value: number | null): string => (value === null ? '–' : withUnit(rounded(value), unit));
  const span = interval === null ? '' : ` (${words.between(amount(interval.low), amount(interval.high))})`;
  return [
    [words.error, `${amount(mae)}${span}`],
    [words.bias, amount(bias)],
    ...Object.entries(coverage).map(([band, share]): [string, string] => [words.band(band), percent(share)]),
    [words.persistence, againstText(skill.persistence)],
    [words.yesterday, againstText(skill.same_time_yesterday)],
    [words.lastWeek, againstText(skill.same_time_last_week)],
    [words.points, shownNumber(group.n)],
    [words.results, words.resultCounts(group.produced, group.fallback, group.unavailable)],
  ];
}

/** Compared with a reference; the skill is 1 − error / error of the reference. */
export function againstText(skill: number | null): string {
  if (skill === null) return '–';
  if (skill >= 0) return words.better(percent(skill));
  return skill >= -1 ? words.worse(percent(-skill)) : words.times(shownNumber(rounded(1 - skill)));
}
