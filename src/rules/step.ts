/** Rounding of a written value to its point's step (decisions §2.5, writes). */
import { roundHalfAway } from './expression/function-table.ts';

/**
 * The nearest multiple of `step`, half away from zero. A step such as 0.1 has no exact double, so its multiples are
 * formed as quotients by its whole inverse, which are the nearest doubles of the decimals meant (0.3, not
 * 0.30000000000000004). A step without a whole inverse is multiplied, and the noise of that is cut off. Not finite only
 * where the value is too large to have a multiple at all.
 */
export function toStep(value: number, step: number | undefined): number {
  if (step === undefined) return value;
  const inverse = Math.round(1 / step);
  const rounded =
    inverse >= 1 && 1 / inverse === step
      ? roundHalfAway(value * inverse) / inverse
      : Number.isInteger(step)
        ? roundHalfAway(value / step) * step
        : Number((roundHalfAway(value / step) * step).toPrecision(15));
  // -0 would be written as such, and a register has no use for it.
  return rounded === 0 ? 0 : rounded;
}
