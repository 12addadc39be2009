/** Signatures of functions, and what they do. */
import type { FunctionName } from '../../../../src/rules/expression/function-table.ts';

interface FunctionHelp {
  readonly signature: string;
  readonly about: string;
}

export const functionHelp: Readonly<Record<FunctionName, FunctionHelp>> = {
  if: { signature: 'if(condition, then, else)', about: 'one of two values' },
  abs: { signature: 'abs(x)', about: 'x without its sign' },
  min: { signature: 'min(a, b, …)', about: 'the smallest' },
  max: { signature: 'max(a, b, …)', about: 'the largest' },
  round: { signature: 'round(x)', about: 'the nearest whole number' },
  floor: { signature: 'floor(x)', about: 'the whole number below' },
  ceil: { signature: 'ceil(x)', about: 'the whole number above' },
  sqrt: { signature: 'sqrt(x)', about: 'the square root' },
  pow: { signature: 'pow(x, y)', about: 'x to the power of y' },
  exp: { signature: 'exp(x)', about: 'e to the power of x' },
  ln: { signature: 'ln(x)', about: 'the natural logarithm' },
  log10: { signature: 'log10(x)', about: 'the logarithm to base 10' },
  sign: { signature: 'sign(x)', about: '-1, 0 or 1' },
  clamp: { signature: 'clamp(x, low, high)', about: 'x, but at least low and at most high' },
  scale: {
    signature: 'scale(x, from_low, from_high, to_low, to_high)',
    about: 'x mapped from one range to another',
  },
  integrate: {
    signature: 'integrate(x, per_seconds?)',
    about: 'the sum of x over time; per_seconds 3600 makes kWh of kW',
  },
  moving_avg: { signature: 'moving_avg(x, runs)', about: 'the mean of x over the last runs' },
  rate_of_change: { signature: 'rate_of_change(x)', about: 'the change per second' },
  hysteresis: {
    signature: 'hysteresis(x, on_above, off_below)',
    about: '1 above the first, 0 below the second, otherwise unchanged',
  },
  held: { signature: 'held(condition, seconds)', about: 'true once the condition has held that long' },
  rising: { signature: 'rising(condition)', about: 'true in the run in which the condition becomes true' },
  falling: { signature: 'falling(condition)', about: 'true in the run in which the condition becomes false' },
  time_of_day: { signature: 'time_of_day()', about: 'hours since local midnight' },
  weekday: { signature: 'weekday()', about: '1 (Monday) to 7' },
  month: { signature: 'month()', about: '1 to 12' },
};
