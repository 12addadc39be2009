/** Order, labels and colours of alarms: only abnormal states have a colour, and active alarms of high priority the strongest. */

import type { Static } from 'typebox';
import type { alarmEntry } from '../../../src/api/alarms.ts';
import type { Tone } from '../parts/tag.tsx';

export type AlarmView = Static<typeof alarmEntry>;

export type AlarmFilter = 'open' | 'shelved' | 'all';
export const alarmFilters: readonly AlarmFilter[] = ['open', 'shelved', 'all'];

export function conditionHolds({ state }: AlarmView): boolean {
  return state === 'active-unacknowledged' || state === 'active-acknowledged';
}

/** The state of a shelved alarm does not say whether its condition holds. */
export function mayHold(alarm: AlarmView): boolean {
  return conditionHolds(alarm) || alarm.state === 'shelved';
}

export function isWaiting({ state }: AlarmView): boolean {
  return state === 'active-unacknowledged' || state === 'cleared-unacknowledged';
}

/** It needs an operator, or its condition holds. */
export function isOpen(alarm: AlarmView): boolean {
  return conditionHolds(alarm) || isWaiting(alarm);
}

export function shownAlarms(alarms: readonly AlarmView[], filter: AlarmFilter): AlarmView[] {
  if (filter === 'all') return [...alarms];
  return alarms.filter((alarm) => (filter === 'open' ? isOpen(alarm) : alarm.state === 'shelved'));
}

export function stateTone(alarm: AlarmView): Tone {
  if (!conditionHolds(alarm)) return isWaiting(alarm) ? 'info' : 'calm';
  return alarm.priority === 'critical' || alarm.priority === 'high' ? 'bad' : 'warn';
}

const ranks: Readonly<Record<AlarmView['priority'], number>> = { critical: 0, high: 1, medium: 2, low: 3 };

/** The list with the changed alarms in it, in the order of `GET /alarms`: the most urgent first, then the newest. */
export function withChanges(known: readonly AlarmView[], changed: readonly AlarmView[]): AlarmView[] {
  const all = new Map([...known, ...changed].map((alarm) => [alarm.id, alarm]));
  const sinceMs = ({ since }: AlarmView): number => (since === null ? 0 : Date.parse(since));
  return [...all.values()].toSorted((a, b) => ranks[a.priority] - ranks[b.priority] || sinceMs(b) - sinceMs(a));
}
