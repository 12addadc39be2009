/**
 * Rules in a folder [rules §12.1]: `key.rule.yaml` has the logic of a rule, `key.layout.json` its drawing. The name of the file
 * is the rule's key.
 */
import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import type { automation } from '../api/automation.ts';
import type { ruleFiles } from '../api/rule-files.ts';
import { cooldownMsMax, priorityMax } from '../api/rule-limits.ts';
import { isMisnamed } from '../base/config-folder.ts';
import { decoder } from '../base/decode.ts';
import { JsonError, parseJson } from '../base/json.ts';
import { strict } from '../base/schema.ts';
import { formatYaml, readYaml, YamlError } from '../base/yaml.ts';
import { CommandError } from './exit.ts';

type StoredRule = Static<typeof automation.get.answer>['data'];
export type PlannedRule = Static<typeof ruleFiles.plan.body>['rules'][number];

const ruleSuffix = '.rule.yaml';
const layoutSuffix = '.layout.json';
const keyPattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

const node = strict({ id: Type.String(), type: Type.String(), data: Type.Optional(Type.Object({})) });
/** The service validates flow, trigger and tests. */
const ruleFile = strict({
  schema: Type.Literal('svc.rule.v1'),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  mode: Type.Optional(Type.Union([Type.Literal('live'), Type.Literal('shadow')])),
  enabled: Type.Optional(Type.Boolean()),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: priorityMax })),
  cooldown_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: cooldownMsMax })),
  trigger: Type.Optional(Type.Object({})),
  flow: Type.Optional(strict({ nodes: Type.Array(node) })),
  topology: Type.Optional(Type.Object({})),
  tests: Type.Optional(Type.Array(Type.Object({}))),
});
const layoutFile = Type.Object({ nodes: Type.Record(Type.String(), Type.Object({})) });
const decodeLayout = decoder(layoutFile);

type Fields = Readonly<Record<string, unknown>>;

export interface FolderFile {
  readonly name: string;
  readonly text: string;
}

/** The files of a stored rule, without default values and without `enabled`. */
export function filesOf(rule: StoredRule): FolderFile[] {
  if (rule.key === null) throw new Error('a rule without a key has no file');
  const isStub = rule.flow_json === null && Object.keys(nodesOf(rule.nodes_json)).length === 0;
  const drawn = rule.flow_json === null ? null : apart(rule.flow_json);
  const text = formatYaml({
    schema: 'svc.rule.v1',
    name: rule.name,
    ...(rule.description === null ? {} : { description: rule.description }),
    ...(rule.mode === 'live' ? {} : { mode: rule.mode }),
    ...(rule.priority === 0 ? {} : { priority: rule.priority }),
    ...(rule.cooldown_ms === 0 ? {} : { cooldown_ms: rule.cooldown_ms }),
    ...(rule.trigger_config === null ? {} : { trigger: rule.trigger_config }),
    ...(drawn === null ? {} : { flow: { nodes: drawn.nodes } }),
    ...(drawn === null && !isStub ? { topology: rule.nodes_json } : {}),
    ...(rule.tests.length === 0 ? {} : { tests: rule.tests }),
  });
  const layout =
    drawn === null ? [] : [{ name: `${rule.key}${layoutSuffix}`, text: `${JSON.stringify(drawn.layout, null, 2)}\n` }];
  return [{ name: `${rule.key}${ruleSuffix}`, text }, ...layout];
}

function nodesOf(topology: object): object {
  const { nodes } = topology as { readonly nodes?: unknown };
  return typeof nodes === 'object' && nodes !== null ? nodes : {};
}

/** The logic of the flow, and its drawing. */
function apart(flow: object) {
  const { nodes = [], ...drawing } = flow as { readonly nodes?: readonly Fields[] };
  return {
    nodes: nodes.map(({ id, type, data }) => ({ id, type, ...(data === undefined ? {} : { data }) })),
    layout: {
      ...drawing,
      nodes: Object.fromEntries(nodes.map((each) => [String(each['id']), drawnPart(each)])),
    },
  };
}

function drawnPart(drawn: Fields): Fields {
  return Object.fromEntries(Object.entries(drawn).filter(([name]) => !['id', 'type', 'data'].includes(name)));
}

/** The rules of a folder, by key. Throws a CommandError with one line per error of each file. */
export function readFolder(folder: string): PlannedRule[] {
  const names = entriesIn(folder)
    .map(({ name }) => name)
    .toSorted();
  const keys = names.filter((name) => name.endsWith(ruleSuffix)).map((name) => name.slice(0, -ruleSuffix.length));
  const faults = names
    .filter((name) => isMisnamed(name, ruleSuffix))
    .map((name) => `${name}: rename it to end in ${ruleSuffix}`);
  for (const name of rulesBelow(folder)) faults.push(`${name}: move it to ${folder}; folders in it are not read`);
  const rules: PlannedRule[] = [];
  for (const key of keys)
    try {
      rules.push(readRule(folder, key, names.includes(`${key}${layoutSuffix}`)));
    } catch (error) {
      if (!(error instanceof YamlError) && !(error instanceof CommandError)) throw error;
      faults.push(...(error instanceof YamlError ? error.lines : [error.message]));
    }
  if (faults.length > 0) throw new CommandError(faults.join('\n'));
  return rules;
}

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    throw new CommandError(`${folder}: not a folder that can be read`);
  }
}

/**
 * Rule files in the folders of `folder`, except hidden ones and installed packages: if they were ignored, their rules would be planned
 * as deleted.
 */
function rulesBelow(folder: string, place = ''): readonly string[] {
  return entriesIn(join(folder, place)).flatMap((entry) => {
    const name = join(place, entry.name);
    if (!entry.isDirectory())
      return place !== '' && (name.endsWith(ruleSuffix) || isMisnamed(name, ruleSuffix)) ? [name] : [];
    return entry.name.startsWith('.') || entry.name === 'node_modules' ? [] : rulesBelow(folder, name);
  });
}

function readRule(folder: string, key: string, hasLayout: boolean): PlannedRule {
  const name = `${key}${ruleSuffix}`;
  if (!keyPattern.test(key))
    throw new CommandError(`${name}: name the file after a key of up to 64 lower-case letters, digits and hyphens`);
  const {
    schema: _,
    trigger,
    flow,
    topology,
    tests,
    ...settings
  } = readYaml(readFileSync(join(folder, name), 'utf8'), name, ruleFile);
  const layout = hasLayout && flow !== undefined ? readLayout(folder, `${key}${layoutSuffix}`) : undefined;
  return {
    key,
    ...settings,
    ...(trigger === undefined ? {} : { trigger_config: trigger }),
    ...(flow === undefined ? {} : { flow_json: together(flow.nodes, layout) }),
    ...(topology === undefined ? {} : { nodes_json: topology }),
    // The service decodes them; its errors name the position.
    ...(tests === undefined ? {} : { tests: tests as NonNullable<PlannedRule['tests']> }),
  };
}

function readLayout(folder: string, name: string): Static<typeof layoutFile> & Fields {
  let value: unknown;
  try {
    value = parseJson(readFileSync(join(folder, name), 'utf8'));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new CommandError(`${name}: ${error.message}`);
  }
  const decoded = decodeLayout(value);
  if (!decoded.ok)
    throw new CommandError(decoded.issues.map(({ path, message }) => `${name}: ${path || '/'} ${message}`).join('\n'));
  return decoded.value;
}

function together(nodes: readonly Static<typeof node>[], layout: ReturnType<typeof readLayout> | undefined): Fields {
  if (layout === undefined) return { nodes, edges: [] };
  const { nodes: drawn, ...drawing } = layout;
  return {
    ...drawing,
    nodes: nodes.map(({ id, type, ...data }) => ({ id, type, ...drawn[id], ...data })),
  };
}
