/** The handlers of points, overrides and limits [points §7], [points §8]. */
import { type Answer, actorOf, type CallContext, type HandledCapability, success } from '../api/capability.ts';
import { pagePosition, wholeList } from '../api/page.ts';
import { points as descriptors } from '../api/points.ts';
import type { PointAuthority } from '../automation/authority-keeper.ts';
import type { EngineClient } from '../automation/engine-client.ts';
import { type AuthorityReader, segmentOf } from '../automation/store/authority-store.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import { queryWindow, timeLabel } from '../base/timestamp.ts';
import type { DeviceLayer } from '../devices/device-layer.ts';
import type { HistoryReader } from '../historian/historian.ts';
import type { HistoryLimits } from '../historian/limits.ts';
import type { TableSample } from '../points/sample.ts';
import type { Grant } from '../rules/authority.ts';
import type { OwnerSegment } from '../rules/ownership.ts';
import { type PointFacts, pointRefOf, type SiteCatalogue } from '../site/catalogue.ts';
import type { Site, SitePoint } from '../site/site.ts';
import { pointResourceId } from './grant-endings.ts';
import { grantView, type LimitRequest, limitOf, type OverrideRequest, overrideOf } from './grants.ts';
import { rulesOfPoint } from './point-rules.ts';
import { type Named, ownerView, type PointKnowledge, pointEntry, selected } from './points-view.ts';
import { trendOf, trendRange } from './trend.ts';

export interface OperatorParts {
  readonly clock: Clock;
  readonly site: () => Site;
  readonly catalogue: () => SiteCatalogue;
  readonly engine: Pick<EngineClient, 'ask' | 'grant'>;
  readonly store: Pick<RuleStore, 'names' | 'heads' | 'engineRules'>;
  readonly ownership: AuthorityReader;
  readonly history: HistoryReader;
  readonly limits: Pick<HistoryLimits, 'trend_timeout_ms'>;
  /** Live values, here or where the leader has them; null when they cannot be had. */
  readonly sample: () => Promise<TableSample | null>;
  readonly devices: Pick<DeviceLayer, 'errors' | 'texts'>;
}

const defaultPageSize = 100;
/** Segments of one answer; a window with more is refused. */
export const segmentsMaximum = 10_000;

const pointResource = (params: Readonly<Record<string, string>>) => ({
  kind: 'automation-point',
  id: pointResourceId(params['instance'] ?? '', params['point'] ?? ''),
});
const listResource = () => ({ kind: 'automation-point', id: 'automation-points' });

export function operatorCapabilities(parts: OperatorParts): HandledCapability[] {
  return [
    { descriptor: descriptors.list, resource: listResource, handler: (context) => list(parts, context) },
    { descriptor: descriptors.series, resource: listResource, handler: (context) => series(parts, context) },
    { descriptor: descriptors.rules, resource: listResource, handler: (context) => rules(parts, context) },
    { descriptor: descriptors.override, resource: pointResource, handler: (context) => override(parts, context) },
    { descriptor: descriptors.limit, resource: pointResource, handler: (context) => limit(parts, context) },
    {
      descriptor: descriptors.overrides,
      resource: listResource,
      handler: async () =>
        success(wholeList((await parts.engine.ask('grants', null)).map((grant) => grantView(grant)))),
    },
    {
      descriptor: descriptors.release,
      resource: (params) => pointResource(pointOfGrant(params)),
      handler: (context) => release(parts, context),
    },
    { descriptor: descriptors.ownership, resource: pointResource, handler: (context) => ownership(parts, context) },
  ];
}

async function list(parts: OperatorParts, { query }: CallContext): Promise<Answer> {
  const page = Number(query['page'] ?? 1);
  const pageSize = Number(query['page_size'] ?? defaultPageSize);
  const [sample, said] = await Promise.all([parts.sample(), parts.devices.texts()]);
  const texts = new Map(said.map(({ index, text }) => [index, text]));
  const { instance, kind, quality, search } = query;
  const found = selected(parts.site(), sample, texts, {
    ...(instance === undefined ? {} : { instance: Number(instance) }),
    ...(kind === undefined ? {} : { kind }),
    ...(quality === undefined ? {} : { quality }),
    ...(search === undefined ? {} : { search }),
  });
  const shown = found.slice((page - 1) * pageSize, page * pageSize);
  const actions = shown.flatMap(({ point }) => (point.kind === 'action' ? [point] : []));
  const authority = await authorityOf(parts, actions);
  // After the results of commands: a failed one never appears without its error.
  const errors = await parts.devices.errors();
  const owners = [...(authority?.values() ?? [])].map(({ owner }) => owner);
  const knowledge: PointKnowledge = {
    authority,
    errors: new Map(errors.map((error) => [error.index, error])),
    nameOf: await namesOf(parts, owners),
  };
  return success({
    list: shown.map((each) => pointEntry(parts.site(), each, sample, knowledge)),
    ...pagePosition(found.length, page, pageSize),
  });
}

/** The list works without the engine; members that only the engine knows are null. */
async function authorityOf(
  { engine }: OperatorParts,
  points: readonly SitePoint[],
): Promise<ReadonlyMap<number, PointAuthority> | null> {
  if (points.length === 0) return new Map();
  try {
    const known = await engine.ask('authority', {
      points: points.map(({ instance, kind, id }) => ({ instance, point_type: kind, point: id })),
    });
    return new Map(points.flatMap(({ index }, at) => (known[at] ? [[index, known[at]]] : [])));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return null;
  }
}

/** Rules by the name that they have now; an override or a limit by its reason. */
async function namesOf({ store }: OperatorParts, owners: readonly Named[]): Promise<PointKnowledge['nameOf']> {
  const ruleIds = new Set(owners.filter(({ kind }) => kind === 'rule').map(({ id }) => Number(id)));
  const rules = ruleIds.size === 0 ? new Map<number, string>() : await store.names([...ruleIds]);
  return ({ kind, id, name }) => (kind === 'rule' ? (rules.get(Number(id)) ?? `rule ${id}`) : name);
}

function actionPoint(parts: OperatorParts, { params }: CallContext): PointFacts {
  return anyPoint(parts, { ...params, point_type: 'action' });
}

async function series(parts: OperatorParts, { params, query }: CallContext): Promise<Answer> {
  const { from = '', to = '', buckets } = query;
  const range = trendRange(from, to, buckets === undefined ? undefined : Number(buckets));
  const { instance, point, point_type: type, unit } = anyPoint(parts, params);
  const kind = type === 'action' ? { kind: type } : {};
  const list = await trendOf(
    parts.history,
    { instance, point, ...kind },
    range,
    parts.clock,
    parts.limits.trend_timeout_ms,
  );
  const span = { from: timeLabel(range.fromMs), to: timeLabel(range.toMs) };
  return success({ ...span, bucket_seconds: range.bucketMs / 1000, unit, buckets: list });
}

function anyPoint({ catalogue }: OperatorParts, params: CallContext['params']): PointFacts {
  const [instance, point] = [Number(params['instance']), Number(params['point'])];
  const type = params['point_type'] === 'action' ? 'action' : 'measurement';
  const found = catalogue().point({ instance, point_type: type, point });
  if (found === undefined)
    throw new Fault('not-found', `the site has no ${type} point ${point} of instance ${instance}`);
  return found;
}

async function rules(parts: OperatorParts, { params }: CallContext): Promise<Answer> {
  return success(await rulesOfPoint(parts, anyPoint(parts, params), parts.catalogue()));
}

function circumstances({ clock }: OperatorParts, context: CallContext) {
  return { id: newId(), nowMs: clock.wallMs(), by: actorOf(context) };
}

async function override(parts: OperatorParts, context: CallContext): Promise<Answer> {
  const point = actionPoint(parts, context);
  const grant = overrideOf(point, context.body as OverrideRequest, circumstances(parts, context));
  const { granted, replaced } = await parts.engine.grant(grant);
  const replaces = replaced === null ? {} : { replaces: grantView(replaced) };
  return { ...success(grantView(granted)), auditDetails: { ...grantView(granted), ...replaces } };
}

async function limit(parts: OperatorParts, context: CallContext): Promise<Answer> {
  const point = actionPoint(parts, context);
  const grant = limitOf(point, context.body as LimitRequest, circumstances(parts, context));
  const { granted } = await parts.engine.grant(grant);
  return { ...success(grantView(granted)), auditDetails: grantView(granted) };
}

function pointOfGrant(params: Readonly<Record<string, string>>): { readonly instance: string; readonly point: string } {
  const [instance = '', point = ''] = (params['override_id'] ?? '').split('.');
  return { instance, point };
}

async function release(parts: OperatorParts, context: CallContext): Promise<Answer> {
  const id = context.params['override_id'] ?? '';
  const grant: Grant | null = await parts.engine.ask('release', { id });
  if (grant === null) throw new Fault('not-found', 'no override or limit of this id is in force');
  return { ...success(grantView(grant, 'released')), auditDetails: { before: grantView(grant) } };
}

async function ownership(parts: OperatorParts, context: CallContext): Promise<Answer> {
  const point = actionPoint(parts, context);
  const { fromMs, toMs } = queryWindow(context.query, parts.clock.wallMs());
  const [[known], stored] = await Promise.all([
    parts.engine.ask('authority', { points: [pointRefOf(point)] }),
    parts.ownership.segments(`${point.instance}:action:${point.point}`, fromMs, toMs, segmentsMaximum + 1),
  ]);
  const segments = joined(stored.map(segmentOf), known?.segments ?? [], fromMs, toMs);
  if (segments.length > segmentsMaximum)
    throw new Fault('invalid-input', `the window has more than ${segmentsMaximum} segments; ask for a shorter one`);
  const next = known?.next ?? null;
  const everybody = segments.flatMap(({ owner, contenders }) => [owner, ...contenders]);
  const nameOf = await namesOf(parts, next === null ? everybody : [...everybody, next.owner]);
  return success({
    segments: segments.map(({ fromMs: from, toMs: to, owner, value, contenders }) => ({
      from: timeLabel(from),
      to: to === null ? null : timeLabel(to),
      owner: ownerView(owner, nameOf),
      value,
      contenders: contenders.map((each) => ({ ...each, name: nameOf(each) })),
    })),
    next:
      next === null
        ? null
        : { owner: ownerView(next.owner, nameOf), at: next.atMs === null ? null : timeLabel(next.atMs) },
  });
}

/** The stored account, brought up to date with what the engine has not stored yet. */
function joined(
  stored: readonly OwnerSegment[],
  newest: readonly OwnerSegment[],
  fromMs: number,
  toMs: number,
): OwnerSegment[] {
  const firstMs = newest[0]?.fromMs ?? Number.POSITIVE_INFINITY;
  return [...stored.filter((segment) => segment.fromMs < firstMs), ...newest].filter(
    (segment) => segment.fromMs < toMs && (segment.toMs === null || segment.toMs > fromMs),
  );
}
