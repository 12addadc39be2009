#!/usr/bin/env node
/**
 * The command line (decisions §2.7). Exit codes: 0 done, 1 failed, 2 not confirmed or wrong usage. `rules` and
 * `history` work on the data dir itself, beside a running service or without one.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { createAuditLog } from '../audit/log.ts';
import { importRules } from '../automation/import-export.ts';
import { type ImportedRule, readRuleFile, ruleFileOf } from '../automation/import-file.ts';
import { createRuleStore } from '../automation/rule-store.ts';
import { systemClock } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import { issueToken, type Role, tokenLifetimeSecondsMaximum } from '../gateway/identity.ts';
import { identityConfig } from '../gateway/identity-config.ts';
import { localScope, signingKey } from '../gateway/local-keys.ts';
import { siteCatalogue } from '../points/site.ts';
import { openDatabase } from '../storage/database.ts';
import { addAuditCommands } from './audit-command.ts';
import { readConfig, readLimits, readSiteFile, type ServiceConfig, StartError } from './config.ts';
import { siteDatabase } from './databases.ts';
import { addHistoryCommands } from './history-command.ts';
import { isExpected, runService } from './run-service.ts';
import { packageVersion } from './version.ts';

const exitCodes = { failed: 1, notConfirmed: 2 } as const;
const secondsPerUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `90s`, `30m`, `12h`, `7d` as seconds. */
function lifetime(text: string): number {
  const match = /^([1-9][0-9]{0,8})([smhd])$/.exec(text);
  const seconds = Number(match?.[1]) * (secondsPerUnit[match?.[2] ?? ''] ?? Number.NaN);
  if (!(seconds >= 1 && seconds <= tokenLifetimeSecondsMaximum))
    throw new InvalidArgumentError('give a time such as 30m, 12h or 7d, at most 30d');
  return seconds;
}

function subject(text: string): string {
  if (text.length < 1 || text.length > 128) throw new InvalidArgumentError('give 1 to 128 characters');
  return text;
}

/** The data dir of a service that was started before, opened beside it. */
async function withDatabase<T>(
  config: ServiceConfig,
  work: (parts: { database: ReturnType<typeof openDatabase>; audit: ReturnType<typeof createAuditLog> }) => Promise<T>,
): Promise<T> {
  if (!existsSync(config.dataDir))
    throw new StartError(`there is no data dir ${config.dataDir}: start the service once, or set SVC_DATA_DIR`);
  const scope = identityConfig(config.env).scope ?? localScope(config.dataDir);
  const database = openDatabase(siteDatabase(config, readLimits(config.configDir).storage));
  try {
    await database.ready();
    return await work({ database, audit: createAuditLog({ database, clock: systemClock, scope }) });
  } finally {
    await database.close();
  }
}

async function token(options: { role: Role; subject: string; ttl: number }): Promise<void> {
  const config = readConfig(process.env);
  const settings = identityConfig(config.env);
  if (settings.jwt.kind !== 'local')
    throw new StartError('tokens are issued by whoever holds SVC_JWT_SECRET or SVC_JWT_JWKS_URL, not by this command');
  await withDatabase(config, async ({ audit }) => {
    // The record comes first: no token leaves without it.
    await audit.append({
      subject: { kind: 'system', subjectId: 'setpoint-cli' },
      action: 'identity.token.issue',
      resource: { kind: 'identity-token', resourceId: 'identity-token' },
      outcome: 'succeeded',
      risk: 'high',
      confirmation: 'not-required',
      correlationId: newId(),
      details: { role: options.role, subject: options.subject, ttl_seconds: options.ttl },
    });
    const issued = await issueToken(signingKey(config.dataDir), {
      subject: options.subject,
      role: options.role,
      issuedAtSeconds: Math.floor(systemClock.wallMs() / 1000),
      lifetimeSeconds: options.ttl,
    });
    process.stdout.write(`${issued}\n`);
  });
}

/** The JSON files named by `path`: itself, or those in it, by name. */
function ruleFiles(path: string): string[] {
  if (!existsSync(path)) throw new StartError(`${path}: there is no such file or folder`);
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => name.endsWith('.json'));
  if (names.length === 0) throw new StartError(`${path}: there is no .json file in it`);
  return names.toSorted().map((name) => join(path, name));
}

function readAll(path: string, config: ServiceConfig): ImportedRule[] {
  const catalogue = siteCatalogue(readSiteFile(config.configDir));
  const read = ruleFiles(path).map((file) => readRuleFile(basename(file), readFileSync(file, 'utf8'), catalogue));
  const problems = read.flatMap((result) => (result.ok ? [] : result.problems));
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return read.flatMap((result) => (result.ok ? result.rules : []));
}

async function importCommand(path: string, options: { confirmed?: true; match?: 'name'; json?: true }): Promise<void> {
  const config = readConfig(process.env);
  const rules = readAll(path, config);
  if (options.confirmed !== true) {
    const how =
      options.match === 'name' ? 'rules of the same name are updated and disabled, others made' : 'each as a new rule';
    process.stderr.write(
      `This would import ${rules.length} rules, disabled, into ${config.dataDir} (${how}):\n${rules.map((rule) => `  ${rule.name}\n`).join('')}Give --confirmed to do it.\n`,
    );
    process.exitCode = exitCodes.notConfirmed;
    return;
  }
  const rulesMax = readLimits(config.configDir).automation.max_rules;
  const report = await withDatabase(config, ({ database, audit }) =>
    importRules(database, audit, systemClock, { rules, match: options.match, rulesMax }),
  );
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify(report)}\n`);
    return;
  }
  for (const { id, name } of report.created) process.stdout.write(`created ${id} ${name}\n`);
  for (const { id, name } of report.updated) process.stdout.write(`updated ${id} ${name}\n`);
  process.stdout.write('They are disabled. A running service takes them up at the next scheduler reload.\n');
}

async function exportCommand(): Promise<void> {
  const config = readConfig(process.env);
  const { max_rules: rulesMax } = readLimits(config.configDir).automation;
  await withDatabase(config, async ({ database }) => {
    process.stdout.write(ruleFileOf(await createRuleStore(database, systemClock, rulesMax).all()));
  });
}

function program(): Command {
  const setpoint = new Command('setpoint')
    .description('Rule automation, audit and forecasts for one site')
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError();
  setpoint
    .command('serve')
    .description('run the service, configured by SVC_*')
    .action(async () => void (await runService(() => readConfig(process.env))));
  setpoint
    .command('token')
    .description("sign an access token with the site's own key")
    .addOption(
      new Option('--role <role>', 'what the token may do')
        .choices(['Admin', 'Engineer', 'Viewer'])
        .makeOptionMandatory(),
    )
    .requiredOption('--subject <name>', 'who it is for', subject)
    .option('--ttl <time>', 'how long it is valid, at most 30d', lifetime, 12 * 3600)
    .action(token);
  const rules = setpoint.command('rules').description('rules as files');
  rules
    .command('import')
    .description('import a file, or all .json files of a folder')
    .argument('<path>')
    .option('--confirmed', 'do it; without it the command only says what it would do')
    .addOption(new Option('--match <what>', 'update rules of the same name').choices(['name']))
    .option('--json', 'print the report as JSON')
    .action(importCommand);
  rules.command('export').description('print all rules as one file').action(exportCommand);
  addAuditCommands(setpoint, () => readConfig(process.env));
  addHistoryCommands(setpoint, { config: () => readConfig(process.env), withAudit: withDatabase });
  return setpoint;
}

try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : exitCodes.notConfirmed;
  else if (isExpected(error)) {
    process.stderr.write(`setpoint: ${error.message.replaceAll('\n', '\nsetpoint: ')}\n`);
    process.exitCode = exitCodes.failed;
  } else throw error;
}
