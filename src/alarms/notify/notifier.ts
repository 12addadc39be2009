/**
 * Delivers changes of alarms to their receivers [alarms §5]: each change at least once and in order, from the stored history, so
 * that a restart or a takeover loses none. A receiver that is unreachable delays neither the others nor control.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type Repeated, repeatedly } from '../../base/repeatedly.ts';
import { timeLabel } from '../../base/timestamp.ts';
import type { AlarmState } from '../alarm-state.ts';
import type { AlarmLimits } from '../limits.ts';
import type { FailingReceiver } from '../site-now.ts';
import type { AlarmEntry, AlarmStore } from '../store/alarm-store.ts';
import type { Notification } from './send.ts';
import type { NotifyTarget } from './targets.ts';

export interface NotifierParts {
  readonly targets: readonly NotifyTarget[];
  readonly store: Pick<AlarmStore, 'after' | 'lastSequence' | 'taken' | 'take'>;
  /** Current alarms, for their names and messages. */
  readonly alarm: (id: string) => AlarmState | undefined;
  /** Throws if the receiver did not accept it. */
  readonly send: (target: NotifyTarget, notification: Notification) => Promise<void>;
  readonly site: string;
  readonly controls: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: AlarmLimits;
}

/** Changes read at once for one receiver. */
const readAtOnce = 100;

export class Notifier {
  readonly #receivers: readonly Receiver[];
  readonly #loops: Repeated[] = [];
  readonly #parts: NotifierParts;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
    this.#receivers = parts.targets.map((target) => new Receiver(target, parts));
  }

  open(): void {
    const { clock, limits, log } = this.#parts;
    const refusal = 'cannot read changes of alarms; retrying';
    for (const receiver of this.#receivers)
      this.#loops.push(repeatedly(clock, limits.interval_ms, log, () => receiver.deliver(), refusal));
  }

  /** There are new changes. */
  wake(): void {
    for (const loop of this.#loops) loop.now();
  }

  /** Null until each receiver has been sent what waits for it, by a process that controls. */
  failing(): readonly FailingReceiver[] | null {
    const outcomes = this.#receivers.map((receiver) => receiver.outcome());
    const isKnown = outcomes.every((outcome) => outcome !== null);
    return isKnown ? outcomes.filter((outcome) => outcome !== 'accepted') : null;
  }

  stop(): void {
    for (const loop of this.#loops) loop.cancel();
  }
}

class Receiver {
  readonly #target: NotifyTarget;
  readonly #parts: NotifierParts;
  #failures = 0;
  #notBeforeMs = 0;
  /** Of the last delivery: the reason of its failure, or accepted if nothing waits; null before. */
  #outcome: FailingReceiver | 'accepted' | null = null;

  constructor(target: NotifyTarget, parts: NotifierParts) {
    this.#target = target;
    this.#parts = parts;
  }

  outcome(): FailingReceiver | 'accepted' | null {
    return this.#outcome;
  }

  /** Sends pending changes in order until a delivery fails. */
  async deliver(): Promise<void> {
    const { store, controls, clock } = this.#parts;
    // Another process sends: what it finds is not known here.
    if (!controls()) this.#outcome = null;
    if (!controls() || clock.monotonicMs() < this.#notBeforeMs) return;
    let taken = await this.#position();
    for (;;) {
      const waiting = await store.after(taken, readAtOnce);
      for (const entry of waiting) {
        if (!controls() || !(await this.#sent(entry))) return;
        taken = entry.sequence;
        await store.take(this.#target.name, taken);
      }
      if (waiting.length < readAtOnce) {
        this.#outcome = 'accepted';
        return;
      }
    }
  }

  /** A new receiver starts with future changes; one that was unavailable for too long misses the oldest changes. */
  async #position(): Promise<number> {
    const { store, limits, log } = this.#parts;
    const last = await store.lastSequence();
    const taken = await store.taken(this.#target.name);
    const from = Math.max(taken ?? last, last - limits.notify_waiting_max);
    if (taken !== null && from > taken)
      log.error('a notification receiver was unavailable for too long: skipping alarm changes', {
        receiver: this.#target.shown,
        changes: from - taken,
      });
    if (from !== taken) await store.take(this.#target.name, from);
    return from;
  }

  async #sent(entry: AlarmEntry): Promise<boolean> {
    const { site, send, alarm, log, clock, limits } = this.#parts;
    const { id, state, atMs } = entry;
    const facts = alarm(id);
    const notification: Notification = {
      alarm: id,
      state,
      site,
      at: timeLabel(atMs),
      name: facts?.name ?? id,
      priority: facts?.priority ?? 'medium',
      message: facts?.message ?? null,
    };
    try {
      await send(this.#target, notification);
      if (this.#failures > 0)
        log.info('a notification receiver accepts notifications again', { receiver: this.#target.shown });
      this.#failures = 0;
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#failures === 0)
        log.warn('a notification receiver does not accept notifications; retrying', {
          receiver: this.#target.shown,
          reason,
        });
      const pauseMs = Math.min(limits.notify_retry_ms * 2 ** this.#failures, limits.notify_retry_max_ms);
      this.#failures++;
      this.#outcome = { receiver: this.#target.shown, reason };
      this.#notBeforeMs = clock.monotonicMs() + pauseMs;
      return false;
    }
  }
}
