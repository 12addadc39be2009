/**
 * The stateful functions [rules §5.2]. Each call site has one small array of numbers; an empty array is a
 * site without state. Times are monotonic milliseconds. After a gap of more than `gapMs` (5 periods of the rule)
 * `integrate` adds nothing for the gap, and rates, `held` and edges start again.
 */
import type { StatefulName } from './function-table.ts';

export type SiteState = number[];

/** Advances one call site and returns the function's value. */
export type Advance = (state: SiteState, args: Float64Array, nowMs: number, gapMs: number) => number;

const notANumber = Number.NaN;

/** Calling one of these again with the same arguments gives the same result and does not change its state. */
export const idempotentFunctions: ReadonlySet<string> = new Set<StatefulName>(['hysteresis']);

/** Layout of the states, by function: see the first lines of each. Position 0 of timed ones is the last run. */
export const statefulFunctions: { readonly [N in StatefulName]: Advance } = {
  /** [last run, last x, sum]: trapezoids of x over seconds, divided by per_seconds (default 1). */
  integrate(state, args, nowMs, gapMs) {
    const x = args[0] ?? notANumber;
    const perSeconds = args.length > 1 ? (args[1] ?? notANumber) : 1;
    const lastMs = state[0] ?? notANumber;
    const elapsedMs = nowMs - lastMs;
    let sum = state[2] ?? 0;
    if (elapsedMs <= gapMs) sum += (((state[1] ?? x) + x) / 2) * (elapsedMs / 1000 / perSeconds);
    // A sum that overflowed would stay infinite: the run fails and the state is unchanged.
    if (!Number.isFinite(sum)) return notANumber;
    state[0] = nowMs;
    state[1] = x;
    state[2] = sum;
    return sum;
  },

  /** [x1 … xk], newest last, k at most n: their mean. */
  moving_avg(state, args) {
    const size = args[1] ?? 1;
    state.push(args[0] ?? notANumber);
    if (state.length > size) state.splice(0, state.length - size);
    let sum = 0;
    for (const x of state) sum += x;
    return sum / state.length;
  },

  /** [last run, last x]: change per second; 0 without a previous value. */
  rate_of_change(state, args, nowMs, gapMs) {
    const x = args[0] ?? notANumber;
    const elapsedMs = nowMs - (state[0] ?? notANumber);
    const rate = elapsedMs > 0 && elapsedMs <= gapMs ? (x - (state[1] ?? x)) / (elapsedMs / 1000) : 0;
    state[0] = nowMs;
    state[1] = x;
    return rate;
  },

  /** [on]: on above the upper threshold, off below the lower one, unchanged between; off at first. */
  hysteresis(state, args) {
    const x = args[0] ?? notANumber;
    if (x > (args[1] ?? notANumber)) state[0] = 1;
    else if (x < (args[2] ?? notANumber)) state[0] = 0;
    return state[0] ?? 0;
  },

  /** [last run, true since]: true when the condition was true at every run for that many seconds. */
  held(state, args, nowMs, gapMs) {
    const isTrue = (args[0] ?? 0) !== 0;
    const continuous = nowMs - (state[0] ?? notANumber) <= gapMs;
    const sinceMs = isTrue ? (continuous ? (state[1] ?? nowMs) : nowMs) : notANumber;
    state.length = 0;
    state.push(nowMs);
    if (isTrue) state.push(sinceMs);
    return isTrue && nowMs - sinceMs >= (args[1] ?? notANumber) * 1000 ? 1 : 0;
  },

  /** [last run, last condition]: true in the run in which the condition became true. */
  rising: (state, args, nowMs, gapMs) => edge(state, args, nowMs, gapMs, 1),

  /** [last run, last condition]: true in the run in which the condition became false. */
  falling: (state, args, nowMs, gapMs) => edge(state, args, nowMs, gapMs, 0),
};

function edge(state: SiteState, args: Float64Array, nowMs: number, gapMs: number, towards: 0 | 1): number {
  const condition = (args[0] ?? 0) !== 0 ? 1 : 0;
  const known = nowMs - (state[0] ?? notANumber) <= gapMs;
  const crossed = known && state[1] !== condition && condition === towards;
  state[0] = nowMs;
  state[1] = condition;
  return crossed ? 1 : 0;
}

/** The state after a restart: sums, windows and switch positions survive, everything that depends on elapsed time does not. */
export function afterRestart(name: StatefulName, state: readonly number[]): SiteState {
  switch (name) {
    case 'integrate':
      // A last run in the infinite past makes the first interval a gap.
      return state.length === 0 ? [] : [Number.NEGATIVE_INFINITY, state[1] ?? 0, state[2] ?? 0];
    case 'moving_avg':
    case 'hysteresis':
      return [...state];
    case 'rate_of_change':
    case 'held':
    case 'rising':
    case 'falling':
      return [];
  }
}
