/**
 * Points and rules as Home Assistant discovers them [points §3.5]: pure. A message is a topic and what the broker keeps there.
 * They can be seen there, and not commanded. Source: Home Assistant, MQTT discovery.
 */
import { valueOf } from '../points/point-value.ts';
import type { TableSample } from '../points/sample.ts';
import type { Site, SitePoint } from '../site/site.ts';

export interface PublishedRule {
  readonly id: number;
  readonly name: string;
  /** Such as `waiting`; null while no engine answers. */
  readonly state: string | null;
}

export type Messages = ReadonlyMap<string, string>;

/** A sensor without a value: Home Assistant shows it as unknown. */
const unknown = 'None';
const deviceClasses: readonly (readonly [RegExp, string])[] = [
  [/^[kMG]?W$/, 'power'],
  [/^[kMG]?Wh$/, 'energy'],
  [/^[mk]?V$/, 'voltage'],
  [/^[mk]?A$/, 'current'],
  [/^Hz$/, 'frequency'],
  [/^(°C|C|Cel)$/, 'temperature'],
];

export function homeAssistantStatusTopic(site: Pick<Site, 'id'>): string {
  return `setpoint/${site.id}/status`;
}

/** Where a broker may retain messages of this site, also of points and rules that it had before. */
export function publishedFilters(site: Pick<Site, 'id'>): readonly string[] {
  return [configTopic(site, '+'), `setpoint/${site.id}/+/+/+`, ruleTopic(site, '+')];
}

const ownObject = /^(\d+_(measurement|action)_\d+|rule_\d+)$/;
const ownState = /^(\d+\/(measurement|action)\/\d+|rule\/\d+)$/;

/** True for the topic of a point or rule of this site; others may publish beside them. */
export function isPublishedTopic(site: Pick<Site, 'id'>, topic: string): boolean {
  const [before = '', after = ''] = configTopic(site, ' ').split(' ');
  if (topic.startsWith(before) && topic.endsWith(after))
    return ownObject.test(topic.slice(before.length, -after.length));
  const states = `setpoint/${site.id}/`;
  return topic.startsWith(states) && ownState.test(topic.slice(states.length));
}

/** The discovery message of a sensor, with or without a value. */
export function discoveryMessages(
  site: Pick<Site, 'id' | 'name' | 'points' | 'instances'>,
  rules: readonly PublishedRule[],
): Messages {
  const instances = new Map(site.instances.map(({ id, name }) => [id, name]));
  const availability = { availability_topic: homeAssistantStatusTopic(site) };
  const points = site.points.map((point): [string, string] => {
    const { instance, kind, id, name, unit } = point;
    const device = {
      identifiers: [`setpoint_${site.id}_${instance}`],
      name: instances.get(instance) ?? '',
      manufacturer: 'Setpoint',
    };
    const object = `${instance}_${kind}_${id}`;
    const config = { name, ...unitOf(point, unit), state_topic: pointTopic(site, point), ...availability, device };
    return [configTopic(site, object), JSON.stringify({ unique_id: `setpoint_${site.id}_${object}`, ...config })];
  });
  const device = { identifiers: [`setpoint_${site.id}_rules`], name: `${site.name} rules`, manufacturer: 'Setpoint' };
  const described = rules.map((rule): [string, string] => {
    const config = { name: rule.name, state_topic: ruleTopic(site, rule.id), ...availability, device };
    const unique = `setpoint_${site.id}_rule_${rule.id}`;
    return [configTopic(site, `rule_${rule.id}`), JSON.stringify({ unique_id: unique, ...config })];
  });
  return new Map([...points, ...described]);
}

function unitOf({ isText, counter }: SitePoint, unit: string): Readonly<Record<string, string>> {
  if (isText) return {};
  const known = deviceClasses.find(([pattern]) => pattern.test(unit))?.[1];
  return {
    ...(unit === '1' ? {} : { unit_of_measurement: unit }),
    ...(known === undefined ? {} : { device_class: known }),
    // Energy that is not counted up has no class that fits.
    ...(counter ? { state_class: 'total_increasing' } : known === 'energy' ? {} : { state_class: 'measurement' }),
  };
}

export function stateMessages(
  site: Pick<Site, 'id' | 'points'>,
  sample: TableSample | null,
  texts: ReadonlyMap<number, string>,
  rules: readonly PublishedRule[],
): Messages {
  const points = site.points.map((point): [string, string] => {
    const { value } = valueOf(point, sample);
    return [pointTopic(site, point), texts.get(point.index) ?? (value === null ? unknown : String(value))];
  });
  return new Map([
    ...points,
    ...rules.map(({ id, state }): [string, string] => [ruleTopic(site, id), state ?? unknown]),
  ]);
}

function configTopic({ id }: Pick<Site, 'id'>, object: string): string {
  // Home Assistant takes letters, digits, _ and - there.
  return `homeassistant/sensor/setpoint_${id.replaceAll(/[^A-Za-z0-9_-]/g, '_')}/${object}/config`;
}

function pointTopic(
  { id: site }: Pick<Site, 'id'>,
  { instance, kind, id }: Pick<SitePoint, 'instance' | 'kind' | 'id'>,
): string {
  return `setpoint/${site}/${instance}/${kind}/${id}`;
}

function ruleTopic({ id: site }: Pick<Site, 'id'>, rule: number | '+'): string {
  return `setpoint/${site}/rule/${rule}`;
}
