/**
 * The units behind one connection [points §3.1]: pure. A silent unit must not hold up the others: it is skipped
 * for a time that doubles while it stays silent.
 */

export interface Units {
  answered(unit: number, nowMs: number): void;
  /** It did not answer; it is skipped from now on. */
  silent(unit: number, nowMs: number): void;
  /** Whether a request may be sent to it. */
  mayAsk(unit: number, nowMs: number): boolean;
  /** Whether another unit has answered recently, so that the connection works. */
  othersAnswer(unit: number, nowMs: number): boolean;
}

interface State {
  answeredMs: number | undefined;
  silentUntilMs: number;
  pauseMs: number;
}

/** A silent unit costs at most one timeout per this number of timeouts. */
const timeoutsOfPause = 10;
/** For how long an answer shows that the connection works, in timeouts. */
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
