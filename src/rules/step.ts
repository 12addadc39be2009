/** The value that a write sends: fitted to range, step and register of its point [rules §7.3]. */
import type { PointFacts, RegisterFacts } from '../site/catalogue.ts';
import { engineeringValue, rawValue, wholeInverse } from '../site/scaling.ts';
import { roundHalfAway } from './expression/function-table.ts';

/** How far beyond a bound a computed value may lie, relative to the bound: what arithmetic adds, not what was meant. */
const relativeTolerance = 1e-9;

type Bounds = Pick<PointFacts, 'min' | 'max'>;

/** The value that the point takes in place of `value`, or null when `value` lies outside the range. */
export function settled(value: number, point: Pick<PointFacts, 'min' | 'max' | 'step' | 'register'>): number | null {
  if (!withinPoint(value, point)) return null;
  const clamped = Math.min(Math.max(value, point.min ?? value), point.max ?? value);
  const stepped = point.step === undefined ? clamped : nearestMultiple(clamped, point.step, point);
  if (stepped === null || point.register === undefined) return stepped;
  return nearestInside(registerValues(stepped, point.register), point);
}

/** Whether a value lies in the point's range, before it is rounded. */
export function withinPoint(value: number, { min, max }: Bounds): boolean {
  if (min !== undefined && value < min - relativeTolerance * Math.abs(min)) return false;
  return max === undefined || value <= max + relativeTolerance * Math.abs(max);
}

/** The nearest multiple of `step` in the range, half away from zero, or else a neighbour of it; null when none lies there. */
function nearestMultiple(value: number, step: number, bounds: Bounds): number | null {
  const count = countOf(value, step);
  const nearest = multipleOf(count, step);
  if (isInside(nearest, bounds)) return withoutSign(nearest);
  return nearestInside([multipleOf(count - 1, step), multipleOf(count + 1, step)], bounds);
}

/** The first of the values, nearest first, that lies in the range; null when none does. */
function nearestInside(values: readonly number[], bounds: Bounds): number | null {
  const inside = values.find((value) => isInside(value, bounds));
  return inside === undefined ? null : withoutSign(inside);
}

function isInside(value: number, { min, max }: Bounds): boolean {
  return Number.isFinite(value) && (min === undefined || value >= min) && (max === undefined || value <= max);
}

/** -0 would be written as such, and a register has no use for it. */
function withoutSign(value: number): number {
  return value === 0 ? 0 : value;
}

/**
 * A step such as 0.1 has no exact double, so its multiples are formed as quotients by its whole inverse, which are the
 * nearest doubles of the decimals meant (0.3, not 0.30000000000000004). A step without a whole inverse is multiplied,
 * and the noise of that is cut off. Not finite only where the value is too large to have a multiple at all.
 */
function multipleOf(count: number, step: number): number {
  const inverse = wholeInverse(step);
  if (inverse !== null) return count / inverse;
  return Number.isInteger(step) ? count * step : Number((count * step).toPrecision(15));
}

function countOf(value: number, step: number): number {
  const inverse = wholeInverse(step);
  return roundHalfAway(inverse === null ? value / step : value * inverse);
}

/** The values that the register can hold next to `value`, in the point's unit, nearest first. */
function registerValues(value: number, { scale, offset, whole, low, high }: RegisterFacts): readonly number[] {
  const raw = rawValue(value, { scale, offset });
  if (!withinPoint(raw, { min: low, max: high })) return [];
  const held = whole ? [Math.round(raw), Math.round(raw) - 1, Math.round(raw) + 1] : [Math.fround(raw)];
  // The intended value is returned as written where the register holds just that: 0.3, not 3 * 0.1.
  return held
    .filter((each) => each >= low && each <= high)
    .map((each) =>
      Math.abs(each - raw) <= Math.abs(raw) * relativeTolerance ? value : engineeringValue(each, { scale, offset }),
    );
}
