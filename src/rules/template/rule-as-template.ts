/**
 * Any rule as a template [rules §13.2]: each point that it names is a parameter, and so is each constant of a calculation,
 * such as `limit = 200`. Everything else stays as it is.
 */
import type { PointRef, SiteCatalogue } from '../../site/catalogue.ts';
import { type Fields, isFields } from '../issues.ts';
import type { RuleTest } from '../rule-test.ts';
import type { Arguments, NumberParameter, PointArguments, PointParameter, RuleTemplate } from './template.ts';

export interface TemplateSource {
  readonly id: number;
  readonly revision: number;
  readonly name: string;
  readonly description: string | null;
  readonly priority: number;
  readonly cooldown_ms: number;
  readonly trigger_config: object | null;
  readonly flow_json: object;
  readonly tests: readonly RuleTest[];
  /** Names that its points had when it was made from a template itself. */
  readonly names: PointArguments;
}

const number = /^-?\d+(?:\.\d+)?$/;

export function ruleAsTemplate(source: TemplateSource, catalogue: SiteCatalogue): RuleTemplate {
  const points = pointsOf(source, catalogue);
  const numbers = numbersOf(source.flow_json);
  const byKey = new Map(points.map(({ name, ref }) => [keyOf(ref), name]));
  return {
    name: `rule:${source.id}`,
    title: source.name,
    about: source.description ?? '',
    version: source.revision,
    points: points.map(({ name, about, point_type, unit }) => ({ name, about, point_type, unit })),
    numbers,
    ascending: [],
    content(given) {
      const { description, priority, cooldown_ms } = source;
      const replace = <T>(value: T): T => replaced(value, byKey, given) as T;
      return {
        description,
        priority,
        cooldown_ms,
        trigger_config: replace(source.trigger_config),
        flow_json: withNumbers(replace(source.flow_json), new Set(numbers.map(({ name }) => name)), given),
        tests: replace(source.tests),
      };
    },
  };
}

function keyOf({ instance, point_type, point }: PointRef): string {
  return `${instance}:${point_type}:${point}`;
}

/** A reference is an object with instance and point; a write needs no `point_type`. */
function refOf(value: Fields): PointRef | null {
  const { instance, point, point_type: kind } = value;
  if (typeof instance !== 'number' || typeof point !== 'number') return null;
  return { instance, point, point_type: kind === 'measurement' ? 'measurement' : 'action' };
}

function* refsIn(value: unknown): Generator<{ readonly ref: PointRef; readonly name: unknown }> {
  if (Array.isArray(value)) for (const entry of value) yield* refsIn(entry);
  else if (isFields(value)) {
    const ref = refOf(value);
    if (ref !== null) yield { ref, name: value['name'] };
    for (const member of Object.values(value)) yield* refsIn(member);
  }
}

/** By the name of its own template, else by the one that the flow reads it under, else by that of the point. */
function pointsOf(source: TemplateSource, catalogue: SiteCatalogue): (PointParameter & { readonly ref: PointRef })[] {
  const found = new Map<string, PointParameter & { readonly ref: PointRef }>();
  const taken = new Set<string>();
  const known = new Map(Object.entries(source.names).map(([name, ref]) => [keyOf(ref), name]));
  for (const { ref, name } of refsIn([source.flow_json, source.trigger_config, source.tests])) {
    if (found.has(keyOf(ref))) continue;
    const facts = catalogue.point(ref);
    const read = typeof name === 'string' && name !== '' ? name : undefined;
    const wanted = known.get(keyOf(ref)) ?? read ?? facts?.name ?? keyOf(ref);
    let free = wanted;
    for (let count = 2; taken.has(free); count++) free = `${wanted}_${count}`;
    taken.add(free);
    const about = facts?.name ?? '';
    found.set(keyOf(ref), { name: free, about, point_type: ref.point_type, unit: facts?.unit ?? null, ref });
  }
  return [...found.values()];
}

function assignmentsIn(flow: unknown): Fields[] {
  const nodes: unknown = isFields(flow) ? flow['nodes'] : undefined;
  return (Array.isArray(nodes) ? nodes : []).filter(isFields).flatMap(({ data }) => {
    const config = isFields(data) ? data['config'] : undefined;
    const assignments = isFields(config) ? config['assignments'] : undefined;
    return Array.isArray(assignments) ? assignments.filter(isFields) : [];
  });
}

function numbersOf(flow: object): NumberParameter[] {
  const found = assignmentsIn(flow).filter(
    ({ expression }) => typeof expression === 'string' && number.test(expression),
  );
  const names = found.map(({ name }) => name);
  return found.flatMap(({ name, expression }) =>
    typeof name === 'string' && names.indexOf(name) === names.lastIndexOf(name)
      ? [{ name, about: '', unit: null, min: null, max: null, default: Number(expression) }]
      : [],
  );
}

function replaced(value: unknown, byKey: ReadonlyMap<string, string>, given: Arguments): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => replaced(entry, byKey, given));
  if (!isFields(value)) return value;
  const ref = refOf(value);
  const name = ref === null ? undefined : byKey.get(keyOf(ref));
  const members = Object.fromEntries(
    Object.entries(value).map(([member, held]) => [member, replaced(held, byKey, given)]),
  );
  if (name === undefined) return members;
  const { instance, point, point_type } = given.point(name);
  return { ...members, instance, point, ...('point_type' in value ? { point_type } : {}) };
}

function withNumbers(flow: object, names: ReadonlySet<string>, given: Arguments): object {
  const walk = (value: unknown, isAssignments: boolean): unknown => {
    if (Array.isArray(value))
      return value.map((entry: unknown) => (isAssignments ? assigned(entry) : walk(entry, false)));
    if (!isFields(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([member, held]) => [member, walk(held, member === 'assignments')]),
    );
  };
  const assigned = (entry: unknown): unknown =>
    isFields(entry) && typeof entry['name'] === 'string' && names.has(entry['name'])
      ? { ...entry, expression: String(given.number(entry['name'])) }
      : entry;
  return walk(flow, false) as object;
}
