/** How the editor shows each kind of trigger, by `type` [rules §3.1]: one file and one line a kind. */
import type { TriggerType } from '../../../src/rules/trigger/index.ts';
import { intervalView } from './interval.tsx';
import { onChangeView } from './on-change.tsx';
import type { TriggerView } from './view.ts';

const views: Readonly<Record<TriggerType, TriggerView>> = {
  interval: intervalView,
  on_change: onChangeView,
};

export function triggerView(type: TriggerType): TriggerView {
  return views[type];
}
