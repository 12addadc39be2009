/** `setpoint pull`, `plan` and `apply`: the rules of a site as files [rules §12]. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { automation } from '../../api/automation.ts';
import { ApiError, type CallInput } from '../../api/client.ts';
import { ruleFiles } from '../../api/rule-files.ts';
import { decoder } from '../../base/decode.ts';
import { readIfThere } from '../../base/own-file.ts';
import { strict } from '../../base/schema.ts';
import { type CommandLine, confirmedOption, jsonObject, jsonOption, printJson } from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { change } from '../remote.ts';
import { printDifference } from '../revision-views.ts';
import { filesOf, readFolder } from '../rule-folder.ts';
import { painted, printable, type Terminal } from '../terminal.ts';
import type { OperationCommand } from './operation-command.ts';

type Plan = Static<typeof ruleFiles.plan.answer>['data'];
type PlannedChange = Plan['changes'][number];

const planSchema = 'svc.rule-plan.v1';
const decodePlan = decoder(
  strict({
    schema: Type.Literal(planSchema),
    digest: Type.String(),
    rules: Type.Array(Type.Object({})),
    changes: Type.Array(Type.Object({ key: Type.String(), action: Type.String() })),
  }),
);

const pull: OperationCommand = {
  words: 'pull',
  capability: automation.get,
  addTo(parent, line) {
    parent
      .command('pull')
      .description('write every rule that has a key into a folder, as files')
      .argument('<folder>', 'made if it does not exist')
      .option(...jsonOption)
      .action((folder: string, options: { readonly json?: true }) => pullInto(line, folder, options.json === true));
  },
};

async function pullInto(line: CommandLine, folder: string, asJson: boolean): Promise<void> {
  const { terminal } = line;
  const listed = await allRules(line);
  mkdirSync(folder, { recursive: true });
  const written: string[] = [];
  for (const { id, key } of listed) {
    if (key === null) continue;
    const { data } = await line.remote().call(automation.get, { params: { id } });
    for (const { name, text } of filesOf(data.data)) {
      const path = join(folder, name);
      if (readIfThere(path) === text) continue;
      writeFileSync(path, text);
      written.push(name);
    }
  }
  const without = listed.filter(({ key }) => key === null).map(({ id, name }) => ({ id, name }));
  if (asJson) return printJson(terminal, { written, without_key: without });
  for (const name of written) terminal.out(`${name}\n`);
  if (without.length === listed.length) terminal.out('no rule has a key: there are no files to write\n');
  else if (written.length === 0) terminal.out('every file is up to date\n');
  for (const { id, name } of without)
    terminal.error(
      `setpoint: rule ${id} ${printable(name)} has no key and was left out; give it one: setpoint rules update ${id} --key KEY --confirmed\n`,
    );
}

async function allRules(line: CommandLine) {
  const rules: Static<typeof automation.list.answer>['data']['list'] = [];
  for (let page = 1, more = true; more; page++) {
    const query = { page: String(page), page_size: '100' };
    const { data } = await line.remote().call(automation.list, { query });
    rules.push(...data.data.list);
    more = data.data.has_next;
  }
  return rules;
}

const plan: OperationCommand = {
  words: 'plan',
  capability: ruleFiles.plan,
  addTo(parent, line) {
    parent
      .command('plan')
      .description(
        'plan the changes of a folder of rule files; exits 0 without changes, 2 with changes, 1 if a file is invalid',
      )
      .argument('<folder>')
      .option('--out <file>', 'save the plan for `setpoint apply`')
      .option(...jsonOption)
      .action((folder: string, options: { readonly out?: string; readonly json?: true }) =>
        planOf(line, folder, options),
      );
  },
};

async function planOf(
  line: CommandLine,
  folder: string,
  { out, json }: { readonly out?: string; readonly json?: true },
): Promise<void> {
  const rules = readFolder(folder);
  const { data } = await line
    .remote()
    .call(ruleFiles.plan, { body: { rules } })
    .catch((error: unknown) => {
      throw error instanceof ApiError ? inFiles(error) : error;
    });
  const { digest, changes } = data.data;
  if (out !== undefined)
    writeFileSync(out, `${JSON.stringify({ schema: planSchema, digest, rules, changes }, null, 2)}\n`);
  if (json === true) printJson(line.terminal, data.data);
  else printPlan(line.terminal, data.data);
  const open = changes.filter(({ action }) => action !== 'unchanged');
  if (open.length > 0) throw new CommandError(`the plan ${wordsOf(changes)}`, exitCodes.hasChanges);
}

const issueOfRule = decoder(Type.Object({ key: Type.String(), path: Type.String(), message: Type.String() }));

/** The service's issues with the rules, by file and position. */
function inFiles(error: ApiError): Error {
  const issues: readonly unknown[] = Array.isArray(error.details['issues']) ? error.details['issues'] : [];
  const lines = issues.flatMap((issue) => {
    const decoded = issueOfRule(issue);
    if (!decoded.ok) return [];
    const { key, path, message } = decoded.value;
    const place = path
      .replace(/^\/rules\/\d+/, '')
      .replace(/^\/trigger_config/, '/trigger')
      .replace(/^\/flow_json/, '/flow')
      .replace(/^\/nodes_json/, '/topology');
    return [`${key}.rule.yaml: ${place || '/'} ${message}`];
  });
  return lines.length === 0 ? error : new CommandError(lines.join('\n'));
}

const marks = { create: '+', change: '~', delete: '-', unchanged: ' ' } as const;
const paints = { create: 'green', change: 'yellow', delete: 'red', unchanged: 'dim' } as const;

function printPlan(terminal: Terminal, { digest, changes }: Plan): void {
  for (const planned of changes) if (planned.action !== 'unchanged') printChange(terminal, planned);
  const unchanged = changes.filter(({ action }) => action === 'unchanged').length;
  terminal.out(`${unchanged} unchanged\ndigest ${digest}\n`);
}

function printChange(terminal: Terminal, planned: PlannedChange): void {
  const { key, name, action, rule_id: id, revision, drift, enabled, difference, tests, warnings } = planned;
  const where = id === null ? '' : ` (rule ${id}, revision ${revision ?? 0})`;
  terminal.out(
    `${painted(terminal, paints[action], `${marks[action]} ${action}`)} ${key}: ${printable(name)}${where}\n`,
  );
  const below: Terminal = { ...terminal, out: (text) => terminal.out(`    ${text}`) };
  if (drift)
    below.out(`${painted(terminal, 'yellow', 'drift')} edited since the last plan; this plan takes the edit back\n`);
  if (enabled !== null) below.out(`~ enabled: ${enabled.before} → ${enabled.after}\n`);
  if (difference !== null) printDifference(below, difference);
  if (tests !== null && tests.passed + tests.failures.length > 0)
    below.out(`tests: ${tests.passed} passed, ${tests.failures.length} failed\n`);
  for (const failure of tests?.failures ?? [])
    below.out(`${painted(terminal, 'red', 'failed')} ${printable(`${failure.name}: ${failure.message}`)}\n`);
  for (const { code, message } of warnings)
    below.out(`${painted(terminal, 'yellow', 'warning')} ${printable(`${code}: ${message}`)}\n`);
}

function wordsOf(changes: readonly { readonly action: string }[]): string {
  const counted = (['create', 'change', 'delete'] as const)
    .map((action) => [action, changes.filter((each) => each.action === action).length] as const)
    .filter(([, count]) => count > 0)
    .map(([action, count]) => `${action}s ${count}`);
  return counted.length === 0 ? 'changes nothing' : counted.join(', ');
}

const apply: OperationCommand = {
  words: 'apply',
  capability: ruleFiles.apply,
  addTo(parent, line) {
    parent
      .command('apply')
      .description('carry out a plan that `setpoint plan --out` saved: exactly that one, as a whole')
      .argument('<file>')
      .option('--reason <text>', 'kept with the revisions')
      .option(...confirmedOption)
      .option(...jsonOption)
      .action((file: string, options: ApplyOptions) => applyFile(line, file, options));
  },
};

interface ApplyOptions {
  readonly reason?: string;
  readonly confirmed?: true;
  readonly json?: true;
}

async function applyFile(line: CommandLine, file: string, options: ApplyOptions): Promise<void> {
  const decoded = decodePlan(jsonObject(file));
  if (!decoded.ok)
    throw new CommandError(decoded.issues.map(({ path, message }) => `${file}: ${path || '/'} ${message}`).join('\n'));
  const { digest, rules, changes } = decoded.value;
  const { reason } = options;
  const { data } = await change(line.remote(), line.terminal, {
    capability: ruleFiles.apply,
    // The service decodes the rules, and checks by the digest that they are those of the plan.
    input: { body: { rules, digest, ...(reason === undefined ? {} : { reason }) } } as unknown as CallInput<
      typeof ruleFiles.apply
    >,
    what: `apply the plan ${digest}, which ${wordsOf(changes)},`,
    confirmed: options.confirmed === true,
  });
  if (options.json === true) return printJson(line.terminal, data.data);
  const done = data.data.applied.filter(({ action }) => action !== 'unchanged');
  for (const { action, key, rule_id: id, revision } of done)
    line.terminal.out(`${action}d ${key} (rule ${id}, revision ${revision})\n`);
  if (done.length === 0) line.terminal.out('nothing to do\n');
}

export const ruleFileCommands: readonly OperationCommand[] = [pull, plan, apply];
