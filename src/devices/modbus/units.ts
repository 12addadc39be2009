/**
 * The units behind one connection [points §3.1]: pure. One that says nothing must not hold up the others: it is left alone
 * for a time that doubles while it stays silent.
 */

export interface Units {
  answered(unit: number, nowMs: number): void;
  /** Nothing came from it; it is left alone from now on. */
  silent(unit: number, nowMs: number): void;
  /** Whether it may be asked. */
  mayAsk(unit: number, nowMs: number): boolean;
  /** Whether another one has answered lately, so that the connection is of use. */
  othersAnswer(unit: number, nowMs: number): boolean;
}

interface State {
  answeredMs: number | undefined;
  silentUntilMs: number;
  pauseMs: number;
}

/** A unit that is silent costs at most one timeout in so many. */
const timeoutsOfPause = 10;
/** How long an answer shows that the connection works, in timeouts. */
const timeoutsOfLife = 20;

export function createUnits(timeoutMs: number, pauseMaximumMs: number): Units {
  const states = new Map<number, State>();
  const firstPauseMs = Math.min(timeoutsOfPause * timeoutMs, pauseMaximumMs);
  const stateOf = (unit: number): State => {
    const known = states.get(unit) ?? { answeredMs: undefined, silentUntilMs: 0, pauseMs: firstPauseMs };
    states.set(unit, known);
    return known;
  };
  return {
    answered(unit, nowMs) {
      const state = stateOf(unit);
      state.answeredMs = nowMs;
      state.silentUntilMs = 0;
      state.pauseMs = firstPauseMs;
    },
    silent(unit, nowMs) {
      const state = stateOf(unit);
      state.silentUntilMs = nowMs + state.pauseMs;
      state.pauseMs = Math.min(state.pauseMs * 2, pauseMaximumMs);
    },
    mayAsk: (unit, nowMs) => nowMs >= stateOf(unit).silentUntilMs,
    othersAnswer: (unit, nowMs) =>
      [...states].some(
        ([other, { answeredMs }]) =>
          other !== unit && answeredMs !== undefined && nowMs - answeredMs <= timeoutsOfLife * timeoutMs,
      ),
  };
}
