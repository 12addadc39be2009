/**
 * Inputs that a rule itself influenced when they were recorded [rules §10.2]: in a backtest they follow the recorded writes, not those of
 * the candidate.
 */
import type { PointFacts, PointKind } from '../../site/catalogue.ts';

export interface FeedbackInput {
  readonly instance: number;
  readonly point_type: PointKind;
  readonly point: number;
  /** Rules that write it, or an actuator of its instance. */
  readonly written_by: readonly number[];
}

/**
 * An input is fed back when a rule writes it, or when it is a measurement of an instance one of whose actuators this rule writes:
 * whether the equipment responds there is unknown.
 */
export function feedbackOf(
  ruleId: number,
  inputs: readonly PointFacts[],
  written: readonly PointFacts[],
  writers: ReadonlyMap<number, readonly number[]>,
): FeedbackInput[] {
  const instances = new Set(
    written.filter(({ point_type: kind }) => kind === 'action').map(({ instance }) => instance),
  );
  const own = new Set(written.map(({ index }) => index));
  return inputs.flatMap(({ index, instance, point_type, point }) => {
    const by = new Set(writers.get(index) ?? []);
    if (own.has(index) || (point_type === 'measurement' && instances.has(instance))) by.add(ruleId);
    if (by.size === 0) return [];
    return [{ instance, point_type, point, written_by: [...by].toSorted((a, b) => a - b) }];
  });
}
