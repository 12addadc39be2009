/** How the editor shows each kind of trigger, by `type` [rules §3.1]: one file and one line a kind. */
import type { Trigger, TriggerType } from '../../../src/rules/trigger/index.ts';
import { intervalView } from './interval.tsx';
import { onChangeView } from './on-change.tsx';
import type { TriggerView } from './view.ts';

const views: { readonly [T in TriggerType]: TriggerView<Extract<Trigger, { readonly type: T }>> } = {
  interval: intervalView,
  on_change: onChangeView,
};

/** The view for a trigger type. Pass it only triggers of that type. */
export function triggerView(type: TriggerType): TriggerView<Trigger> {
  return views[type];
}
