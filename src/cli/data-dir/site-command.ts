/** `setpoint site …` [points §1.1], [points §1.2]: the site file, without a running service. */
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { replaceDurably } from '../../base/own-file.ts';
import { YamlError } from '../../base/yaml.ts';
import { readSiteFiles } from '../../devices/materials.ts';
import { selfTestFaults } from '../../devices/templates/self-test.ts';
import type { DeviceTemplate, DeviceTemplates } from '../../site/device-template.ts';
import { readSite } from '../../site/site.ts';
import { freeInstanceId, newSiteText, withDevice, withPoints } from '../../site/site-edit.ts';
import {
  confirmedOption,
  type JsonResult,
  jsonResultOption,
  printJson,
  printResult,
  unreadable,
  wholeNumber,
} from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { printTable } from '../table.ts';
import { printable, quantity } from '../terminal.ts';
import type { DataDirParts } from './data-dir.ts';
import { readPointsTable } from './points-table.ts';

export interface SiteFileParts extends DataDirParts {
  /** All errors in the files of a config dir, one line each; and their content. */
  readonly checkSite: (configDir: string) => Promise<{
    readonly faults: readonly string[];
    readonly warnings: readonly string[];
    readonly summary: string;
  }>;
  /** Sends a test to each receiver of alarms; why one did not accept it, or null. */
  readonly testReceivers: () => Promise<readonly ReceiverTest[]>;
}

interface ReceiverTest {
  readonly receiver: string;
  readonly problem: string | null;
}

interface Confirmed extends JsonResult {
  readonly confirmed?: true;
}
type Texts = Readonly<Record<string, string>>;

const siteFile = 'site.yaml';
/** The service runs under another account, which must be able to read it. */
const newFileMode = 0o644;

export function addSiteCommands(site: Command, parts: SiteFileParts): void {
  site
    .command('new')
    .description('create a site.yaml without devices')
    .requiredOption('--id <id>', 'short name of the site')
    .requiredOption('--timezone <zone>', 'IANA time zone, such as Europe/Amsterdam')
    .option('--name <name>', 'name for people; the id by default')
    .option(...confirmedOption)
    .option(...jsonResultOption)
    .action((options: NewOptions) => newSite(parts, options));
  site
    .command('add')
    .description('add a device of a template to site.yaml')
    .argument('<template>', 'one that `setpoint site templates` lists')
    .option('--id <number>', 'number of the instance; the next free one by default', wholeNumber)
    .requiredOption('--name <name>', 'name of the instance')
    .option('--channel <id>', 'a channel of the site that several devices share; a new one by default')
    .addOption(parameterOption('host=192.168.1.50'))
    .option(...confirmedOption)
    .option(...jsonResultOption)
    .action((template: string, options: AddOptions) => addDevice(parts, template, options));
  site
    .command('templates')
    .description('list device templates with their parameters and vendor documents')
    .option('--json', 'print them as JSON')
    .action((options: { readonly json?: true }) => listTemplates(parts, options.json === true));
  site
    .command('test-template')
    .description('run the self-test of a device template')
    .argument('<template>', 'one that `setpoint site templates` lists')
    .option(...jsonResultOption)
    .action((template: string, options: JsonResult) => testTemplate(parts, template, options));
  site
    .command('check')
    .description('list all errors in the files of a site, without starting the service')
    .argument('[dir]', 'the config dir; SVC_CONFIG_DIR by default')
    .option('--json', 'print errors and warnings as JSON')
    .action((dir: string | undefined, options: JsonResult) => check(parts, dir ?? parts.settings().configDir, options));
  site
    .command('test-receivers')
    .description('send a test notification to each receiver of alarms in service.yaml')
    .option(...jsonResultOption)
    .action((options: JsonResult) => testReceiversOf(parts, options));
  site
    .command('import-points')
    .description('add the points of a CSV table to site.yaml; all rows or none')
    .argument('<file>', 'CSV with a header: instance, instance_name, point, name, kind, unit, channel, address.*')
    .option(...confirmedOption)
    .option(...jsonResultOption)
    .action((file: string, options: Confirmed) => importPoints(parts, file, options));
}

export function parameterOption(example: string): Option {
  return new Option('--set <parameter=value>', `a parameter of the template, such as ${example}`)
    .argParser(parameter)
    .default({}, 'none');
}

/** `host=10.0.0.7` */
function parameter(text: string, before: Texts): Texts {
  const [, name, value] = /^([a-z][a-z0-9_]*)=(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Give name=value.');
  return { ...before, [name]: value };
}

/** Numbers for numeric parameters, text for all others; the site parser rejects a value of the wrong type. */
export function parametersFor(template: DeviceTemplate, texts: Texts): Record<string, string | number> {
  const valueOf = (name: string, text: string): string | number => {
    const type = Object.hasOwn(template.parameters, name) ? template.parameters[name]?.type : 'text';
    return type !== 'text' && /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text) ? Number(text) : text;
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, valueOf(name, text)]));
}

/** Throws for a name that no template has. */
export function templateNamed(templates: DeviceTemplates, name: string): DeviceTemplate {
  const template = templates.get(name);
  if (template === undefined)
    throw new CommandError(`unknown device template ${name}; \`setpoint site templates\` lists them`);
  return template;
}

interface NewOptions extends Confirmed {
  readonly id: string;
  readonly timezone: string;
  readonly name?: string;
}

function newSite(parts: SiteFileParts, options: NewOptions): void {
  const { id, timezone, name = id } = options;
  const { configDir } = parts.settings();
  const path = join(configDir, siteFile);
  if (existsSync(path)) throw new CommandError(`${path} exists already: edit it, or use another SVC_CONFIG_DIR`);
  const text = newSiteText({ id, name, timezone });
  readSite(text, siteFile);
  store(parts, { file: path }, text, `write ${path}`, options);
}

interface AddOptions extends Confirmed {
  readonly id?: number;
  readonly name: string;
  readonly channel?: string;
  readonly set: Texts;
}

function addDevice(parts: SiteFileParts, template: string, options: AddOptions): void {
  const { id, name, channel, set } = options;
  const { path, text } = siteText(parts);
  const files = readSiteFiles(parts.settings().configDir);
  const parameters = parametersFor(templateNamed(files.templates, template), set);
  const shared = channel === undefined ? {} : { channel };
  const edited = withDevice(text, { id: id ?? freeInstanceId(text), name, template, ...shared, parameters });
  const site = readSite(edited, siteFile, files);
  const instance = site.instances.at(-1);
  const points = site.points.filter((point) => point.instance === instance?.id);
  const what = `add instance ${instance?.id} ${name} with ${quantity(points.length, 'point')} of ${template}`;
  const added = { file: path, instance: instance?.id, name, template, points: points.length };
  store(parts, added, edited, `${what} to ${path}`, options);
}

function importPoints(parts: SiteFileParts, file: string, options: Confirmed): void {
  const { path, text } = siteText(parts);
  const points = readPointsTable(readText(file), basename(file));
  const { text: edited, rowOf, misnamed } = withPoints(text, points);
  if (misnamed.length > 0)
    throw new CommandError(misnamed.map(({ row, reason }) => `${basename(file)}:${row}: ${reason}`).join('\n'));
  try {
    readSite(edited, siteFile, readSiteFiles(parts.settings().configDir));
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new CommandError(error.lines.map((line) => atRow(line, basename(file), rowOf)).join('\n'));
  }
  const added = { file: path, points: points.length };
  store(parts, added, edited, `add ${quantity(points.length, 'point')} to ${path}`, options);
}

/** An error of an imported point, at its row of the table. */
function atRow(line: string, file: string, rowOf: (instance: number, point: number) => number | undefined): string {
  const [, instance, point, rest] = /\/instances\/(\d+)\/points\/(\d+)\/?(.*)$/.exec(line) ?? [];
  const row = rowOf(Number(instance), Number(point));
  return row === undefined ? line : `${file}:${row}: ${rest}`;
}

function listTemplates({ terminal, settings }: SiteFileParts, json: boolean): void {
  const templates = [...readSiteFiles(settings().configDir).templates.values()];
  if (json) {
    const list = templates.map(({ name, title, source, parameters }) => ({ name, title, source, parameters }));
    terminal.out(`${JSON.stringify(list)}\n`);
    return;
  }
  printTable(
    terminal,
    [
      { title: 'TEMPLATE', cell: ({ name }) => name },
      { title: 'DEVICE', cell: ({ title }) => title },
      { title: 'PARAMETERS', cell: parametersInWords },
      { title: 'SOURCE', cell: ({ source }) => source },
    ],
    templates,
  );
}

async function testTemplate(
  { terminal, settings, clock }: SiteFileParts,
  name: string,
  options: JsonResult,
): Promise<void> {
  const { templates, sunSpecModels } = readSiteFiles(settings().configDir);
  const template = templateNamed(templates, name);
  const faults = await selfTestFaults(template, clock, { sunSpecModels });
  if (faults.length > 0) throw new CommandError(faults.join('\n'));
  const count = template.self_test.length;
  const text = `${name}: no errors (${quantity(count, 'self-test')})\n`;
  printResult(terminal, options, { template: name, self_tests: count }, text);
}

function parametersInWords({ parameters }: DeviceTemplate): string {
  return Object.entries(parameters)
    .map(([name, { default: otherwise }]) => (otherwise === undefined ? name : `${name}=${otherwise}`))
    .join(' ');
}

async function check({ terminal, checkSite }: SiteFileParts, dir: string, options: JsonResult): Promise<void> {
  const { faults, warnings, summary } = await checkSite(dir);
  if (options.json === true) printJson(terminal, { errors: faults, warnings });
  else for (const warning of warnings) terminal.error(`setpoint: warning: ${printable(warning)}\n`);
  if (faults.length > 0) throw new CommandError(faults.join('\n'));
  if (options.json !== true) terminal.out(`${summary}\n`);
}

async function testReceiversOf({ terminal, testReceivers }: SiteFileParts, options: JsonResult): Promise<void> {
  const tests = await testReceivers();
  if (tests.length === 0) throw new CommandError('service.yaml has no receivers of alarms: see `notify`');
  const lines = tests.map(({ receiver, problem }) => `${receiver}: ${problem ?? 'accepted'}`);
  printResult(terminal, options, { receivers: tests }, `${lines.map(printable).join('\n')}\n`);
  const failed = tests.filter(({ problem }) => problem !== null).length;
  if (failed > 0) throw new CommandError(`${quantity(failed, 'receiver')} did not accept the test`);
}

function siteText(parts: SiteFileParts): { readonly path: string; readonly text: string } {
  const path = join(parts.settings().configDir, siteFile);
  if (!existsSync(path)) throw new CommandError(`${path} does not exist: create it with \`setpoint site new\``);
  return { path, text: readText(path) };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Atomic: a service that starts at the same time reads the old file or the new one. */
function store(
  { terminal, settings }: SiteFileParts,
  changed: { readonly file: string },
  text: string,
  what: string,
  options: Confirmed,
): void {
  if (options.confirmed !== true)
    throw new CommandError(`this would ${what}. Nothing was done; give --confirmed to do it`, exitCodes.notConfirmed);
  mkdirSync(settings().configDir, { recursive: true });
  const mode = statSync(changed.file, { throwIfNoEntry: false })?.mode ?? newFileMode;
  replaceDurably(changed.file, text, mode & 0o777);
  printResult(terminal, options, changed, `done: ${what}\n`);
}
