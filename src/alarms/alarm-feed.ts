/** Alarms for readers of the live stream [alarms §4.3]: first the listed ones, then each change. */
import type { Feed, FeedReader } from '../automation/live-stream.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { AlarmState } from './alarm-state.ts';
import { alarmView, isListed } from './capabilities.ts';
import type { AlarmKeeper } from './keeper.ts';

/** Pause before a slow reader receives the changes. */
const retryMs = 250;

export function createAlarmFeed(keeper: Pick<AlarmKeeper, 'list' | 'onChange'>, clock: Clock): Feed {
  return {
    follow(channels, push) {
      const known = new Set(keeper.list().map(({ id }) => id));
      const unknown = channels?.find((id) => !known.has(id));
      if (unknown !== undefined) throw new Fault('invalid-input', `message /data/channels: unknown alarm ${unknown}`);
      const wanted = channels === undefined ? null : new Set(channels);
      const reader = new AlarmReader(push, clock);
      const stop = keeper.onChange((changed) => reader.take(changed.filter(({ id }) => wanted?.has(id) ?? true)));
      reader.take(keeper.list().filter((alarm) => wanted?.has(alarm.id) ?? isListed(alarm)));
      return () => {
        stop();
        reader.stop();
      };
    },
  };
}

class AlarmReader {
  readonly #push: FeedReader;
  readonly #clock: Clock;
  /** The newest state of each alarm that the reader has not received. */
  readonly #waiting = new Map<string, AlarmState>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(push: FeedReader, clock: Clock) {
    this.#push = push;
    this.#clock = clock;
  }

  take(changed: readonly AlarmState[]): void {
    for (const alarm of changed) this.#waiting.set(alarm.id, alarm);
    // After the answer to the subscription.
    if (this.#timer === undefined) this.#timer = this.#clock.after(0, () => this.#send());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #send(): void {
    this.#timer = undefined;
    if (this.#stopped || this.#waiting.size === 0) return;
    if (this.#push([...this.#waiting.values()].map(alarmView))) this.#waiting.clear();
    else this.#timer = this.#clock.after(retryMs, () => this.#send());
  }
}
