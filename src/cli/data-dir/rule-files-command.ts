/** `setpoint rules import|export` [rules §9]: beside a running service or without one. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Command, Option } from 'commander';
import { importRules } from '../../automation/import-export.ts';
import { decodeRuleFile, type ImportedRule, ruleFileOf } from '../../automation/import-file.ts';
import { createRuleStore } from '../../automation/store/rule-store.ts';
import { siteCatalogue } from '../../site/site-catalogue.ts';
import { confirmedOption } from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { printable, quantity } from '../terminal.ts';
import { type DataDirParts, type Settings, withDatabase } from './data-dir.ts';

interface ImportOptions {
  readonly confirmed?: true;
  readonly match?: 'name';
  readonly json?: true;
}

export function addRuleFileCommands(rules: Command, parts: DataDirParts): void {
  rules
    .command('import')
    .description('import a file, or all .json files of a folder, into the data dir')
    .argument('<path>')
    .option(...confirmedOption)
    .addOption(new Option('--match <what>', 'update rules of the same name').choices(['name']))
    .option('--json', 'print the report as JSON')
    .action((path: string, options: ImportOptions) => importCommand(parts, path, options));
  rules
    .command('export')
    .description('print all rules of the data dir as one file, which `rules import` takes')
    .option('--json', 'the same: the file is JSON')
    .action(() => exportCommand(parts));
}

/** The JSON files named by `path`: itself, or those in it, by name. */
function ruleFiles(path: string): string[] {
  if (!existsSync(path)) throw new CommandError(`${path}: no such file or folder`);
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => name.endsWith('.json'));
  if (names.length === 0) throw new CommandError(`${path}: there is no .json file in it`);
  return names.toSorted().map((name) => join(path, name));
}

function readAll(path: string, parts: DataDirParts, settings: Settings): ImportedRule[] {
  const files = ruleFiles(path);
  const catalogue = siteCatalogue(parts.site(settings.configDir));
  const read = files.map((file) => decodeRuleFile(basename(file), readFileSync(file, 'utf8'), catalogue));
  const problems = read.flatMap((result) => (result.ok ? [] : result.problems));
  if (problems.length > 0) throw new CommandError(problems.join('\n'));
  return read.flatMap((result) => (result.ok ? result.rules : []));
}

async function importCommand(parts: DataDirParts, path: string, options: ImportOptions): Promise<void> {
  const { terminal, clock } = parts;
  const settings = parts.settings();
  const rules = readAll(path, parts, settings);
  if (options.confirmed !== true) {
    const how =
      options.match === 'name' ? 'rules of the same name are updated and disabled, others made' : 'each as a new rule';
    const names = rules.map((rule) => `  ${rule.name}\n`).join('');
    throw new CommandError(
      `this would import ${quantity(rules.length, 'rule')}, disabled, into ${settings.dataDir} (${how}):\n${names}Nothing was done; give --confirmed to do it`,
      exitCodes.notConfirmed,
    );
  }
  const rulesMax = parts.rulesMax(settings.configDir);
  const report = await withDatabase(parts, ({ database, audit }) =>
    importRules(database, audit, clock, { rules, match: options.match, rulesMax }),
  );
  if (options.json === true) {
    terminal.out(`${JSON.stringify(report)}\n`);
    return;
  }
  for (const { id, name } of report.created) terminal.out(`created ${id} ${printable(name)}\n`);
  for (const { id, name } of report.updated) terminal.out(`updated ${id} ${printable(name)}\n`);
  terminal.out('They are disabled. A running service takes them up at the next scheduler reload.\n');
}

async function exportCommand(parts: DataDirParts): Promise<void> {
  const rulesMax = parts.rulesMax(parts.settings().configDir);
  await withDatabase(parts, async ({ database }) => {
    parts.terminal.out(ruleFileOf(await createRuleStore(database, parts.clock, rulesMax).all()));
  });
}
