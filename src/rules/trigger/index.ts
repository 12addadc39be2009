/** The registry of trigger kinds, by `type` [rules §3.1]: one file and one line a kind. */
import { interval } from './interval.ts';
import type { TriggerKind, TriggerOf } from './kind.ts';
import { onChange } from './on-change.ts';

const triggerKinds = { interval, on_change: onChange } as const;

export type TriggerType = keyof typeof triggerKinds;
export type Trigger = TriggerOf<(typeof triggerKinds)[TriggerType]>;

export const triggerTypes = Object.keys(triggerKinds) as TriggerType[];

/** The kind for a trigger type. Pass it only triggers of that type. */
export function triggerKind(type: TriggerType): TriggerKind<Trigger>;
export function triggerKind(type: unknown): TriggerKind<Trigger> | undefined;
export function triggerKind(type: unknown): TriggerKind<Trigger> | undefined {
  if (typeof type !== 'string' || !Object.hasOwn(triggerKinds, type)) return undefined;
  return triggerKinds[type as TriggerType];
}
