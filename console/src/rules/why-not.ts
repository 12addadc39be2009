/** Why a rule is not running now, with what is missing: how far a point has moved, how long the cooldown lasts, when it is due. */
import { withUnit } from '../parts/number.ts';
import type { ShownStatus } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { reasonsOf } from './rule-words.ts';

const words = t.rules.whyNot;

interface NamedPoint {
  readonly label: string;
  readonly unit: string;
}

type StatusPoint = ShownStatus['points'][number];
/** Undefined for a point that is not known here. */
type NameOfPoint = (point: StatusPoint) => NamedPoint | undefined;

/** How far each watched point is from running the rule; empty for a rule with an interval trigger. */
export function distancesOf({ points }: ShownStatus, nameOf: NameOfPoint): string[] {
  return points.map((point) => {
    const { label, unit } = nameOf(point) ?? { label: `${point.instance}:${point.point}`, unit: '' };
    const { current_value: now, distance, threshold } = point;
    if (now === null) return words.missing(label);
    if (distance === null || threshold === null || threshold === 0) return words.valued(label, withUnit(now, unit));
    return words.moved(label, withUnit(now, unit), withUnit(distance, unit), withUnit(threshold, unit));
  });
}

/** All of it, a sentence a line. */
export function whyNot(
  status: ShownStatus,
  parts: { readonly nameOfPoint: NameOfPoint; readonly nameOfRule: (id: number) => string; readonly nowMs: number },
): string[] {
  const { cooldown_until: cooldown, next_due_at: due } = status;
  const secondsTo = (at: string): number => Math.max(0, Math.ceil((Date.parse(at) - parts.nowMs) / 1000));
  return [
    ...reasonsOf(status, parts.nameOfRule),
    ...(cooldown === null || secondsTo(cooldown) === 0 ? [] : [words.cooldown(secondsTo(cooldown))]),
    ...(due === null ? [] : [words.due(secondsTo(due))]),
    ...distancesOf(status, parts.nameOfPoint),
  ];
}
