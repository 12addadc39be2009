import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AlarmState,
  type AlarmStateName,
  acknowledged,
  isActive,
  normalAlarm,
  observed,
  shelved,
} from './alarm-state.ts';

const facts = { id: 'a', name: 'A', priority: 'high', message: null, point: null, threshold: null } as const;
const by = { kind: 'user', id: 'ada' };

/** ISA-18.2 a second time, as a table of words that shares no code with the product. */
class NaiveAlarm {
  active = false;
  acknowledged = true;
  occurrence: number | null = null;
  count = 0;
  shelvedUntil: number | null = null;
  countedWhileShelved = false;

  get word(): AlarmStateName {
    if (this.shelvedUntil !== null) return 'shelved';
    if (this.active) return this.acknowledged ? 'active-acknowledged' : 'active-unacknowledged';
    return this.acknowledged ? 'normal' : 'cleared-unacknowledged';
  }

  see(holds: boolean, now: number): void {
    if (this.shelvedUntil !== null && now < this.shelvedUntil) return;
    const ends = this.shelvedUntil !== null;
    this.shelvedUntil = null;
    if (ends) {
      const isNew = holds && !this.countedWhileShelved;
      this.active = holds;
      this.acknowledged = !holds;
      if (isNew) this.begin(now);
      return;
    }
    if (holds && !this.active) {
      this.begin(now);
      this.acknowledged = false;
    }
    this.active = holds;
  }

  begin(now: number): void {
    this.count++;
    this.occurrence = now;
  }

  acknowledge(): boolean {
    if (this.shelvedUntil !== null || (this.acknowledged && !this.active)) return false;
    this.acknowledged = true;
    return true;
  }

  shelve(until: number): void {
    if (this.shelvedUntil === null) this.countedWhileShelved = this.active;
    this.shelvedUntil = until;
  }
}

type Step =
  | { readonly kind: 'see'; readonly holds: boolean; readonly after: number }
  | { readonly kind: 'acknowledge' }
  | { readonly kind: 'shelve'; readonly for: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('see' as const), holds: fc.boolean(), after: fc.integer({ min: 0, max: 40 }) }),
    fc.record({ kind: fc.constant('acknowledge' as const) }),
    fc.record({ kind: fc.constant('shelve' as const), for: fc.integer({ min: 1, max: 60 }) }),
  ),
  { maxLength: 60 },
);

describe('[alarms §3] states of an alarm', () => {
  test('every history is that of the naive alarm', () => {
    fc.assert(
      fc.property(steps, (history: Step[]) => {
        let now = 0;
        let alarm: AlarmState = normalAlarm(facts);
        const naive = new NaiveAlarm();
        for (const step of history) {
          if (step.kind === 'see') {
            now += step.after;
            alarm = observed(alarm, { holds: step.holds, nowMs: now, othersActive: false });
            naive.see(step.holds, now);
          } else if (step.kind === 'acknowledge') {
            const next = acknowledged(alarm, by);
            expect(next !== null).toBe(naive.acknowledge());
            alarm = next ?? alarm;
          } else {
            alarm = shelved(alarm, now + step.for);
            naive.shelve(now + step.for);
          }
          expect([alarm.state, alarm.count, alarm.sinceMs]).toEqual([naive.word, naive.count, naive.occurrence]);
        }
      }),
      { numRuns: 10_000 },
    );
  });

  test('first-out is an alarm that occurs while no other is active; an acknowledgement belongs to one occurrence', () => {
    const first = observed(normalAlarm(facts), { holds: true, nowMs: 1, othersActive: false });
    const second = observed(normalAlarm(facts), { holds: true, nowMs: 1, othersActive: true });
    expect([first.firstOut, second.firstOut, isActive(first)]).toEqual([true, false, true]);
    const seen = acknowledged(first, by);
    expect(seen?.acknowledgedBy).toEqual(by);
    const cleared = observed(seen ?? first, { holds: false, nowMs: 2, othersActive: false });
    const again = observed(cleared, { holds: true, nowMs: 3, othersActive: true });
    expect([again.acknowledgedBy, again.firstOut, again.count]).toEqual([null, false, 2]);
  });

  test('a shelved alarm is unshelved at its time, not a millisecond earlier, and is not counted again', () => {
    const active = observed(normalAlarm(facts), { holds: true, nowMs: 1, othersActive: false });
    const away = shelved(active, 100);
    const before = observed(away, { holds: true, nowMs: 99, othersActive: false });
    expect(before).toBe(away);
    const back = observed(away, { holds: true, nowMs: 100, othersActive: false });
    expect([back.state, back.count, back.sinceMs]).toEqual(['active-unacknowledged', 1, 1]);
    expect(observed(away, { holds: false, nowMs: 100, othersActive: false }).state).toBe('normal');
  });
});
