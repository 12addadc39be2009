/**
 * The functions of the expression language [rules §5.1]: names, argument counts and the pure ones' arithmetic.
 * Stateful and time-aware functions are named here and implemented in `stateful.ts`.
 */

interface FunctionFacts<K extends 'pure' | 'stateful' | 'clock'> {
  readonly minimumArguments: number;
  readonly maximumArguments: number;
  readonly kind: K;
}

const facts = <K extends 'pure' | 'stateful' | 'clock'>(
  minimumArguments: number,
  maximumArguments: number,
  kind: K,
): FunctionFacts<K> => ({
  minimumArguments,
  maximumArguments,
  kind,
});

const argumentsMaximum = 16;

export const functionTable = {
  if: facts(3, 3, 'pure'),
  abs: facts(1, 1, 'pure'),
  min: facts(1, argumentsMaximum, 'pure'),
  max: facts(1, argumentsMaximum, 'pure'),
  round: facts(1, 1, 'pure'),
  floor: facts(1, 1, 'pure'),
  ceil: facts(1, 1, 'pure'),
  sqrt: facts(1, 1, 'pure'),
  pow: facts(2, 2, 'pure'),
  exp: facts(1, 1, 'pure'),
  ln: facts(1, 1, 'pure'),
  log10: facts(1, 1, 'pure'),
  sign: facts(1, 1, 'pure'),
  clamp: facts(3, 3, 'pure'),
  scale: facts(5, 5, 'pure'),
  integrate: facts(1, 2, 'stateful'),
  moving_avg: facts(2, 2, 'stateful'),
  rate_of_change: facts(1, 1, 'stateful'),
  hysteresis: facts(3, 3, 'stateful'),
  held: facts(2, 2, 'stateful'),
  rising: facts(1, 1, 'stateful'),
  falling: facts(1, 1, 'stateful'),
  time_of_day: facts(0, 0, 'clock'),
  weekday: facts(0, 0, 'clock'),
  month: facts(0, 0, 'clock'),
} as const;

export type FunctionName = keyof typeof functionTable;
type NamesOfKind<K> = { [N in FunctionName]: (typeof functionTable)[N]['kind'] extends K ? N : never }[FunctionName];
export type StatefulName = NamesOfKind<'stateful'>;
export type ClockName = NamesOfKind<'clock'>;
export type PureName = Exclude<NamesOfKind<'pure'>, 'if'>;

export function isFunctionName(name: string): name is FunctionName {
  return Object.hasOwn(functionTable, name);
}

/** Rounds half away from zero: round(-2.5) is -3. */
export function roundHalfAway(x: number): number {
  return x < 0 ? -Math.round(-x) : Math.round(x);
}

/** The value of a pure function; not finite if it has none (a root of -1, a scale over an empty range). */
export const pureFunctions: { readonly [N in PureName]: (...args: number[]) => number } = {
  abs: (x = Number.NaN) => Math.abs(x),
  min: (...args) => Math.min(...args),
  max: (...args) => Math.max(...args),
  round: (x = Number.NaN) => roundHalfAway(x),
  floor: (x = Number.NaN) => Math.floor(x),
  ceil: (x = Number.NaN) => Math.ceil(x),
  sqrt: (x = Number.NaN) => Math.sqrt(x),
  pow: (x = Number.NaN, y = Number.NaN) => x ** y,
  exp: (x = Number.NaN) => Math.exp(x),
  ln: (x = Number.NaN) => Math.log(x),
  log10: (x = Number.NaN) => Math.log10(x),
  sign: (x = Number.NaN) => Math.sign(x),
  // An empty interval has no value: silently preferring one bound would hide a wrong parameter.
  clamp: (x = Number.NaN, low = Number.NaN, high = Number.NaN) =>
    low <= high ? Math.min(Math.max(x, low), high) : Number.NaN,
  scale: (x = Number.NaN, inLow = Number.NaN, inHigh = Number.NaN, outLow = Number.NaN, outHigh = Number.NaN) =>
    outLow + ((x - inLow) * (outHigh - outLow)) / (inHigh - inLow),
};
