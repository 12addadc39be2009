/** When shelvings end [alarms §3]: at their time, or once as much time has passed. A wall clock that is set back does not extend them. */
import { shelveSecondsMax } from '../api/alarms.ts';
import type { Clock } from '../base/clock.ts';
import type { AlarmState } from './alarm-state.ts';

interface Ending {
  readonly untilMs: number;
  readonly monotonicMs: number;
}

export class Shelvings {
  readonly #clock: Clock;
  /** By alarm, as this process first saw its shelving. */
  readonly #endings = new Map<string, Ending>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The alarm as it is now: its shelving ends now at the latest when its time has passed. */
  now(alarm: AlarmState): AlarmState {
    const { id, shelvedUntilMs: untilMs } = alarm;
    if (untilMs === null) {
      this.#endings.delete(id);
      return alarm;
    }
    const wallMs = this.#clock.wallMs();
    const monotonicMs = this.#clock.monotonicMs();
    let ending = this.#endings.get(id);
    if (ending?.untilMs !== untilMs) {
      // The clock may have been set back before a start too.
      const leftMs = Math.min(untilMs - wallMs, shelveSecondsMax * 1000);
      ending = { untilMs, monotonicMs: monotonicMs + leftMs };
      this.#endings.set(id, ending);
    }
    return monotonicMs < ending.monotonicMs || untilMs <= wallMs ? alarm : { ...alarm, shelvedUntilMs: wallMs };
  }
}
