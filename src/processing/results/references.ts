/** The naive references of a result [data-processing §8]: from the same frame, at the same instant. */
import type { NormalisedFrame } from '../../api/processing.ts';
import { type NaiveRule, naiveForecast } from '../../contract/kind/fallback.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';

const daySeconds = 86_400;
const none = { season_seconds: null, weeks: null } as const;

const rules = {
  persistence: { ...none, strategy: 'persistence' },
  same_time_yesterday: { ...none, strategy: 'seasonal-naive', season_seconds: daySeconds },
  same_time_last_week: { ...none, strategy: 'seasonal-naive', season_seconds: 7 * daySeconds },
} as const satisfies Record<string, Omit<NaiveRule, 'source_feature'>>;

export type ReferenceName = keyof typeof rules;
export const referenceNames = Object.keys(rules) as readonly ReferenceName[];

/** One series per reference, in the order of `referenceNames`; NaN if the frame lacks the needed values. */
export function referencesOf(
  frame: NormalisedFrame,
  { target, frame: { timezone } }: Pick<TaskDeclaration, 'target' | 'frame'>,
  steps: number,
): readonly Float64Array[] {
  return referenceNames.map((name) =>
    Float64Array.from(
      naiveForecast({ ...rules[name], source_feature: target.name }, frame, timezone, steps),
      (value) => value ?? Number.NaN,
    ),
  );
}
