/** The handlers of alarms [alarms §4]. */
import { alarmChangesMax, alarms as descriptors } from '../api/alarms.ts';
import { type Answer, actorOf, type CallContext, type HandledCapability, success } from '../api/capability.ts';
import { wholeList } from '../api/page.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { queryWindow, timeLabel } from '../base/timestamp.ts';
import type { AlarmState } from './alarm-state.ts';
import type { AlarmKeeper } from './keeper.ts';
import type { AlarmStore } from './store/alarm-store.ts';

export interface AlarmParts {
  readonly keeper: Pick<AlarmKeeper, 'list' | 'acknowledge' | 'acknowledgeMany' | 'shelve' | 'unshelve'>;
  readonly store: Pick<AlarmStore, 'between'>;
  readonly clock: Clock;
}

const listResource = () => ({ kind: 'automation-alarm', id: 'automation-alarms' });
const resource = (params: Readonly<Record<string, string>>) => ({
  kind: 'automation-alarm',
  id: `automation-alarm:${params['alarm_id'] ?? ''}`,
});

export function alarmCapabilities(parts: AlarmParts): HandledCapability[] {
  return [
    { descriptor: descriptors.list, resource: listResource, handler: async (context) => list(parts, context) },
    { descriptor: descriptors.history, resource: listResource, handler: (context) => history(parts, context) },
    { descriptor: descriptors.acknowledge, resource, handler: (context) => acknowledge(parts, context) },
    {
      descriptor: descriptors.acknowledgeMany,
      resource: listResource,
      handler: (context) => acknowledgeMany(parts, context),
    },
    { descriptor: descriptors.shelve, resource, handler: (context) => shelve(parts, context) },
    { descriptor: descriptors.unshelve, resource, handler: (context) => unshelve(parts, context) },
  ];
}

const order = ['critical', 'high', 'medium', 'low'];

/** By urgency: by priority, then the newest first. */
function list({ keeper }: AlarmParts, { query }: CallContext): Answer {
  const found = keeper
    .list()
    .filter((alarm) => isListed(alarm))
    .filter(({ state }) => query['state'] === undefined || query['state'] === state)
    .filter(({ priority }) => query['priority'] === undefined || query['priority'] === priority)
    .toSorted(
      (one, other) =>
        order.indexOf(one.priority) - order.indexOf(other.priority) || (other.sinceMs ?? 0) - (one.sinceMs ?? 0),
    );
  return success(wholeList(found.map(alarmView)));
}

/** Built-in alarms that were never raised would hide those of the site file. */
export function isListed({ state, count, point }: AlarmState): boolean {
  return state !== 'normal' || count > 0 || point !== null;
}

export function alarmView(alarm: AlarmState) {
  const { id, name, priority, state, message, point, threshold, count, firstOut } = alarm;
  const { sinceMs, acknowledgedBy, shelvedUntilMs } = alarm;
  return {
    id,
    name,
    priority,
    state,
    message,
    point,
    threshold,
    since: sinceMs === null ? null : timeLabel(sinceMs),
    count,
    first_out: firstOut,
    acknowledged_by: acknowledgedBy,
    shelved_until: shelvedUntilMs === null ? null : timeLabel(shelvedUntilMs),
  };
}

async function history({ store, clock }: AlarmParts, { query }: CallContext): Promise<Answer> {
  const { fromMs, toMs } = queryWindow(query, clock.wallMs());
  const { limit } = query;
  const found = await store.between(fromMs, toMs, limit === undefined ? alarmChangesMax + 1 : Number(limit));
  if (found.length > alarmChangesMax) {
    const text = `the window has more than ${alarmChangesMax} changes; ask for a shorter one, or with 'limit' for the newest`;
    throw new Fault('invalid-input', text);
  }
  return success({
    list: found.map(({ id, state, atMs, by, reason }) => ({ id, state, at: timeLabel(atMs), by, reason })),
  });
}

async function acknowledge({ keeper }: AlarmParts, context: CallContext): Promise<Answer> {
  const alarm = await keeper.acknowledge(context.params['alarm_id'] ?? '', actorOf(context));
  return { ...success(alarmView(alarm)), auditDetails: { state: alarm.state } };
}

async function acknowledgeMany({ keeper }: AlarmParts, context: CallContext): Promise<Answer> {
  const { alarm_ids: ids } = context.body as { readonly alarm_ids: readonly string[] };
  const changed = new Set((await keeper.acknowledgeMany(ids, actorOf(context))).map(({ id }) => id));
  const [acknowledged, left] = [ids.filter((id) => changed.has(id)), ids.filter((id) => !changed.has(id))];
  return { ...success({ acknowledged, left }), auditDetails: { acknowledged: acknowledged.length, left } };
}

async function shelve({ keeper, clock }: AlarmParts, context: CallContext): Promise<Answer> {
  const { for_seconds: seconds, reason } = context.body as { readonly for_seconds: number; readonly reason: string };
  const untilMs = clock.wallMs() + seconds * 1000;
  const alarm = await keeper.shelve(context.params['alarm_id'] ?? '', untilMs, actorOf(context), reason);
  return { ...success(alarmView(alarm)), auditDetails: { until: timeLabel(untilMs), reason } };
}

async function unshelve({ keeper }: AlarmParts, context: CallContext): Promise<Answer> {
  const alarm = await keeper.unshelve(context.params['alarm_id'] ?? '', actorOf(context));
  return { ...success(alarmView(alarm)), auditDetails: { state: alarm.state } };
}
