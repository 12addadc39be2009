/** Labels and colours of alarms: only abnormal states have a colour, and active alarms of high priority the strongest. */
import type { Tone } from '../parts/tag.tsx';
import type { AlarmView } from './alarm-queries.ts';

export type AlarmFilter = 'open' | 'shelved' | 'all';
export const alarmFilters: readonly AlarmFilter[] = ['open', 'shelved', 'all'];

export function conditionHolds({ state }: AlarmView): boolean {
  return state === 'active-unacknowledged' || state === 'active-acknowledged';
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
