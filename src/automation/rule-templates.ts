/** Templates of rules [rules §13]: the list, rules created from them, and updates of rules to the current template. */
import type { Static } from 'typebox';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { ruleTemplates } from '../api/rule-templates.ts';
import { Fault } from '../base/fault.ts';
import { inTurns } from '../base/turns.ts';
import { isFields } from '../rules/issues.ts';
import { tagsOf, withoutTags } from '../rules/tags.ts';
import { packageTemplates } from '../rules/template/index.ts';
import { ruleAsTemplate } from '../rules/template/rule-as-template.ts';
import {
  instantiate,
  type NumberArguments,
  type PointArguments,
  type RuleTemplate,
  type TemplateOrigin,
} from '../rules/template/template.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import { type AutomationParts, actOf, etag, ruleIdParameter, ruleResource, succeeded } from './automation-parts.ts';
import { compared } from './rule-comparison.ts';
import { deriveSteps } from './rule-document.ts';
import { expectedRevision, reload, trimmedName, viewed } from './rule-mutations.ts';
import { testsOf, testsText, testWarnings } from './rule-tests.ts';
import { parsedOrNull } from './rule-view.ts';
import { crossWarnings, storedTopology } from './rule-warnings.ts';
import type { RuleRow } from './store/rule-table.ts';

/** A rule with this tag in its description is listed as a template. */
const templateTag = 'template';
const rulesPerPage = 100;

export function templateCapabilities(parts: AutomationParts): HandledCapability[] {
  return [
    { descriptor: ruleTemplates.list, resource: ruleResource, handler: (context) => list(parts, context) },
    { descriptor: ruleTemplates.instantiate, resource: ruleResource, handler: (context) => create(parts, context) },
    { descriptor: ruleTemplates.difference, resource: ruleResource, handler: (context) => difference(parts, context) },
    { descriptor: ruleTemplates.update, resource: ruleResource, handler: (context) => update(parts, context) },
  ];
}

async function list(parts: AutomationParts, { query }: CallContext): Promise<Answer> {
  const { rule } = query;
  const templates =
    rule === undefined ? [...packageTemplates, ...(await marked(parts))] : [await ofRule(parts, Number(rule))];
  return { data: succeeded({ templates: templates.map(templateView) }) };
}

function templateView({ name, title, about, version, points, numbers }: RuleTemplate) {
  return { template: name, title, about, version, points, numbers };
}

/** Rules of the site that are marked as templates and have a drawn flow, by name. */
async function marked(parts: AutomationParts): Promise<RuleTemplate[]> {
  const found: RuleTemplate[] = [];
  for (let page = 1; ; page++) {
    const { rows, total } = await parts.store.list({ search: `#${templateTag}` }, page, rulesPerPage);
    for (const { id, description } of rows) {
      const template = tagsOf(description).includes(templateTag) ? await ofRule(parts, id).catch(ifDrawn) : null;
      if (template !== null) found.push(template);
    }
    if (page * rulesPerPage >= total) return found.toSorted((one, other) => one.title.localeCompare(other.title));
  }
}

/** A rule that was deleted in the meantime, or never drawn, is not a template. */
function ifDrawn(error: unknown): null {
  if (error instanceof Fault && (error.code === 'not-found' || error.code === 'no-runnable-flow')) return null;
  throw error;
}

async function templateNamed(parts: AutomationParts, name: string): Promise<RuleTemplate> {
  const ruleId = /^rule:(\d+)$/.exec(name)?.[1];
  if (ruleId !== undefined) return ofRule(parts, Number(ruleId));
  const found = packageTemplates.find((template) => template.name === name);
  if (found === undefined) throw new Fault('not-found', `unknown template ${name}`);
  return found;
}

/** A rule as a template; its own origin is not part of it. */
async function ofRule(parts: AutomationParts, id: number): Promise<RuleTemplate> {
  const row = await parts.store.get(id);
  if (row === null) throw new Fault('not-found', `rule ${id} not found`);
  const flow = row.flow_json === null ? null : parsedOrNull(row.flow_json);
  if (!isFields(flow)) throw new Fault('no-runnable-flow', `rule ${id} has no drawn flow to make others from`);
  const { from_template: _, ...flow_json } = flow;
  const trigger = row.trigger_config === null ? null : parsedOrNull(row.trigger_config);
  const { revision, name, description, priority, cooldown_ms } = row;
  // A rule created from it is not a template itself.
  const text = tagsOf(description).includes(templateTag) ? withoutTags(description, templateTag) : description;
  const settings = { id, revision, name, description: text, priority, cooldown_ms };
  const names = originOf(row)?.points ?? {};
  const source = {
    ...settings,
    names,
    trigger_config: isFields(trigger) ? trigger : null,
    flow_json,
    tests: testsOf(row),
  };
  return ruleAsTemplate(source, parts.catalogue());
}

/** Throws one Fault `invalid-input` for the first argument that does not fit. */
function checkArguments(
  catalogue: SiteCatalogue,
  template: RuleTemplate,
  points: PointArguments,
  numbers: NumberArguments,
): void {
  checkPoints(catalogue, template, points);
  checkNumbers(template, numbers);
}

function refuse(path: string, message: string): never {
  throw new Fault('invalid-input', `body /${path}: ${message}`);
}

function checkPoints(catalogue: SiteCatalogue, template: RuleTemplate, points: PointArguments): void {
  for (const name of Object.keys(points))
    if (!template.points.some((known) => known.name === name))
      refuse(`points/${name}`, 'is not a parameter of the template');
  const used = new Map<number, string>();
  for (const { name, about, point_type: kind, unit } of template.points) {
    const ref = points[name];
    if (ref === undefined) return refuse(`points/${name}`, `choose a point: ${about}`);
    const facts = catalogue.point(ref);
    if (facts === undefined)
      return refuse(`points/${name}`, `the site has no ${ref.point_type} point ${ref.instance}:${ref.point}`);
    if (ref.point_type !== kind) refuse(`points/${name}`, `must be an ${kind} point`.replace('an m', 'a m'));
    if (unit !== null && facts.unit !== unit)
      refuse(`points/${name}`, `its unit is ${facts.unit}; the template takes ${unit}`);
    const other = used.get(facts.index);
    if (other !== undefined)
      refuse(`points/${name}`, `${facts.name} is already used for ${other}; choose another point`);
    used.set(facts.index, name);
  }
}

function checkNumbers(template: RuleTemplate, numbers: NumberArguments): void {
  for (const name of Object.keys(numbers))
    if (!template.numbers.some((known) => known.name === name))
      refuse(`numbers/${name}`, 'is not a parameter of the template');
  for (const { name, min, max } of template.numbers) {
    const value = numbers[name];
    if (value === undefined) continue;
    if (min !== null && value < min) refuse(`numbers/${name}`, `must be at least ${min}`);
    if (max !== null && value > max) refuse(`numbers/${name}`, `must be at most ${max}`);
  }
  const valueOf = (name: string) => numbers[name] ?? template.numbers.find((known) => known.name === name)?.default;
  for (const [lower, upper] of template.ascending) {
    const [least = -Infinity, most = Infinity] = [valueOf(lower), valueOf(upper)];
    if (least > most) refuse(`numbers/${lower}`, `must be at most ${upper}, which is ${most}`);
  }
}

/** The columns of the rule that the template creates. */
async function made(parts: AutomationParts, template: RuleTemplate, points: PointArguments, numbers: NumberArguments) {
  checkArguments(parts.catalogue(), template, points, numbers);
  const { description, priority, cooldown_ms, trigger_config, flow_json, tests } = instantiate(
    template,
    points,
    numbers,
  );
  const derived = await inTurns(
    parts.clock,
    deriveSteps({ flow_json, trigger_config }, parts.catalogue(), parts.flowLimits),
  );
  if (derived.flow === undefined) throw new Error('a template made no flow');
  return {
    content: {
      description,
      priority,
      cooldown_ms,
      trigger_config: derived.trigger?.trigger_config ?? null,
      flow: { flow_json: derived.flow.flow_json, nodes_json: derived.flow.nodes_json },
      tests: testsText(tests),
    },
    warnings: derived.warnings,
  };
}

async function create(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const body = context.body as Static<typeof ruleTemplates.instantiate.body>;
  const template = await templateNamed(parts, body.template);
  const { content, warnings } = await made(parts, template, body.points, body.numbers ?? {});
  const tested = await testWarnings(parts, { id: 0, nodes_json: content.flow.nodes_json, tests: content.tests });
  const rule = { name: trimmedName(body.name), ...content };
  const row = await parts.store.create(rule, actOf(context, ruleTemplates.instantiate, body.reason));
  await reload(parts, row.id);
  return {
    data: succeeded({ id: row.id, name: row.name, status: 'created', warnings: [...warnings, ...tested] }),
    headers: { etag: etag(row.revision) },
    auditDetails: { before: null, after: await viewed(parts, row), template: body.template },
    resourceId: `automation-rule:${row.id}`,
  };
}

/** The rule from the current template, with its original arguments unless others are given. */
async function renewed(
  parts: AutomationParts,
  row: RuleRow,
  { points = {}, numbers = {} }: { readonly points?: PointArguments; readonly numbers?: NumberArguments },
) {
  const origin = originOf(row);
  if (origin === null) throw new Fault('invalid-input', `rule ${row.id} was not made from a template`);
  const template = await templateNamed(parts, origin.template);
  const known = Object.fromEntries(
    Object.entries(origin.numbers).filter(([name]) => template.numbers.some((number) => number.name === name)),
  );
  const all = { points: { ...origin.points, ...points }, numbers: { ...known, ...numbers } };
  const { content, warnings } = await made(parts, template, all.points, all.numbers);
  return { origin, template, ...all, content, warnings };
}

function originOf({ flow_json }: RuleRow): TemplateOrigin | null {
  const flow = flow_json === null ? null : parsedOrNull(flow_json);
  const origin = isFields(flow) ? flow['from_template'] : undefined;
  if (!isFields(origin) || typeof origin['template'] !== 'string' || typeof origin['version'] !== 'number') return null;
  if (!isFields(origin['points']) || !isFields(origin['numbers'])) return null;
  // Values edited by hand are validated like any argument.
  return origin as unknown as TemplateOrigin;
}

async function rowOf(parts: AutomationParts, context: CallContext): Promise<RuleRow> {
  const id = ruleIdParameter(context);
  const row = await parts.store.get(id);
  if (row === null) throw new Fault('not-found', `rule ${id} not found`);
  return row;
}

async function difference(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const row = await rowOf(parts, context);
  const { origin, template, points, numbers, content } = await renewed(parts, row, givenIn(context));
  const { flow, ...columns } = content;
  const after = { ...row, ...columns, ...flow };
  return {
    data: succeeded({
      template: template.name,
      version: template.version,
      from_version: origin.version,
      points,
      numbers,
      difference: await compared(parts, row, after),
    }),
  };
}

function givenIn({ body }: CallContext) {
  const { points, numbers } = (body ?? {}) as Static<typeof ruleTemplates.difference.body>;
  return { ...(points === undefined ? {} : { points }), ...(numbers === undefined ? {} : { numbers }) };
}

/** Its name and `enabled` do not change; everything else comes from the template. */
async function update(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const row = await rowOf(parts, context);
  const { expected_revision, reason } = context.body as Static<typeof ruleTemplates.update.body>;
  const expected = expectedRevision(context.ifMatch, expected_revision) ?? row.revision;
  const { template, content, warnings } = await renewed(parts, row, givenIn(context));
  const tested = await testWarnings(parts, { id: row.id, nodes_json: content.flow.nodes_json, tests: content.tests });
  const act = actOf(context, ruleTemplates.update, reason);
  const { before, after } = await parts.store.update(row.id, content, act, expected);
  const failure = await reload(parts, row.id);
  const across = await crossWarnings(parts, after, await storedTopology(parts, after), failure);
  return {
    data: succeeded({
      id: row.id,
      status: 'updated',
      version: template.version,
      warnings: [...warnings, ...tested, ...across],
    }),
    headers: { etag: etag(after.revision) },
    auditDetails: { before: await viewed(parts, before), after: await viewed(parts, after), template: template.name },
  };
}
