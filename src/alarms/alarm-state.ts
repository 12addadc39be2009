/**
 * States of an alarm after ISA-18.2 [alarms §3]: pure steps of one alarm. A step without a change returns the
 * given state object.
 */
import type { PointRef } from '../site/catalogue.ts';
import type { AlarmPriority, AlarmThreshold } from '../site/site-alarms.ts';

export const alarmStates = [
  'active-unacknowledged',
  'active-acknowledged',
  'cleared-unacknowledged',
  'normal',
  'shelved',
] as const;
export type AlarmStateName = (typeof alarmStates)[number];

/** The actor of an audit event. */
export interface AlarmActor {
  readonly kind: string;
  readonly id: string;
}

/** Name and text of an alarm. Stored with its state: the alarm may no longer be defined when it is acknowledged. */
export interface AlarmFacts {
  readonly id: string;
  readonly name: string;
  readonly priority: AlarmPriority;
  readonly message: string | null;
  readonly point: PointRef | null;
  /** For an alarm that the site file defines. */
  readonly threshold: AlarmThreshold | null;
}

export interface AlarmState extends AlarmFacts {
  readonly state: AlarmStateName;
  /** Wall milliseconds at which its last occurrence began; null before the first. */
  readonly sinceMs: number | null;
  /** Occurrences. */
  readonly count: number;
  /** No other alarm was active when it occurred. */
  readonly firstOut: boolean;
  readonly acknowledgedBy: AlarmActor | null;
  readonly shelvedUntilMs: number | null;
  /** It was active when it was shelved: the same occurrence is not counted again. */
  readonly shelvedActive: boolean;
}

export function normalAlarm(facts: AlarmFacts): AlarmState {
  return {
    ...facts,
    state: 'normal',
    sinceMs: null,
    count: 0,
    firstOut: false,
    acknowledgedBy: null,
    shelvedUntilMs: null,
    shelvedActive: false,
  };
}

export function isActive({ state }: Pick<AlarmState, 'state'>): boolean {
  return state === 'active-unacknowledged' || state === 'active-acknowledged';
}

/** One observation of an alarm's condition. */
export interface ConditionSeen {
  readonly holds: boolean;
  readonly nowMs: number;
  /** Another alarm is active. */
  readonly othersActive: boolean;
}

export function observed(alarm: AlarmState, seen: ConditionSeen): AlarmState {
  switch (alarm.state) {
    case 'active-unacknowledged':
      return seen.holds ? alarm : { ...alarm, state: 'cleared-unacknowledged' };
    case 'active-acknowledged':
      return seen.holds ? alarm : { ...alarm, state: 'normal' };
    case 'cleared-unacknowledged':
    case 'normal':
      return seen.holds ? occurred(alarm, seen) : alarm;
    case 'shelved':
      return unshelved(alarm, seen);
  }
}

function occurred(alarm: AlarmState, { nowMs, othersActive }: ConditionSeen): AlarmState {
  return {
    ...alarm,
    state: 'active-unacknowledged',
    sinceMs: nowMs,
    count: alarm.count + 1,
    firstOut: !othersActive,
    acknowledgedBy: null,
  };
}

function unshelved(alarm: AlarmState, seen: ConditionSeen): AlarmState {
  if (alarm.shelvedUntilMs !== null && seen.nowMs < alarm.shelvedUntilMs) return alarm;
  const ended = { ...alarm, shelvedUntilMs: null, shelvedActive: false };
  if (!seen.holds) return { ...ended, state: 'normal' };
  if (!alarm.shelvedActive) return occurred(ended, seen);
  return { ...ended, state: 'active-unacknowledged', acknowledgedBy: null };
}

/** Null for an alarm that is normal or shelved: it cannot be acknowledged. */
export function acknowledged(alarm: AlarmState, by: AlarmActor): AlarmState | null {
  switch (alarm.state) {
    case 'active-unacknowledged':
      return { ...alarm, state: 'active-acknowledged', acknowledgedBy: by };
    case 'cleared-unacknowledged':
      return { ...alarm, state: 'normal', acknowledgedBy: by };
    case 'active-acknowledged':
      return alarm;
    case 'normal':
    case 'shelved':
      return null;
  }
}

export function shelved(alarm: AlarmState, untilMs: number): AlarmState {
  const shelvedActive = alarm.state === 'shelved' ? alarm.shelvedActive : isActive(alarm);
  return { ...alarm, state: 'shelved', shelvedUntilMs: untilMs, shelvedActive };
}
