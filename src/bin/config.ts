/**
 * The configuration of the service [platform §1.1]: `SVC_*` variables, service.yaml (optional) and site.yaml. Each error is one
 * clear line.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Type from 'typebox';
import { type AlarmLimits, alarmLimits, alarmLimitsSchema } from '../alarms/limits.ts';
import { type NotifySettings, notifySchema } from '../alarms/notify/targets.ts';
import { type AuditLimits, auditLimits, auditLimitsSchema } from '../audit/limits.ts';
import { type AuditNames, auditNames } from '../audit/witness/settings.ts';
import {
  type AutomationLimits,
  automationLimits,
  automationLimitsSchema,
  type RuleSettings,
  ruleSettingsSchema,
} from '../automation/limits.ts';
import { type BacktestLimits, ruleBacktestLimits, ruleBacktestLimitsSchema } from '../backtest/limits.ts';
import { misnamedAs } from '../base/config-folder.ts';
import type { LogLevel } from '../base/log.ts';
import { strict } from '../base/schema.ts';
import { readYaml } from '../base/yaml.ts';
import { type DeviceLimits, deviceLimits, deviceLimitsSchema } from '../devices/limits.ts';
import { readSiteFiles } from '../devices/materials.ts';
import { type GatewayLimits, gatewayLimits, gatewayLimitsSchema } from '../gateway/limits.ts';
import { type HistoryLimits, historyLimits, historyLimitsSchema } from '../historian/limits.ts';
import { type ProcessingLimits, processingLimits, processingLimitsSchema } from '../processing/limits.ts';
import type { Channel } from '../site/protocol/index.ts';
import { readSite, type Site } from '../site/site.ts';
import { type StorageLimits, storageLimits, storageLimitsSchema } from '../storage/server-limits.ts';
import { type Environment, refuseMisspelt, settingOf } from './environment.ts';
import { StartError } from './start-error.ts';

export interface ServiceConfig {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** A PostgreSQL server for rules, audit, rule state and recorded history; without it, files of the data dir. */
  readonly databaseUrl: string | null;
  /** The roles of this process: answer requests, and be ready to control. */
  readonly roles: { readonly api: boolean; readonly engine: boolean };
  readonly configDir: string;
  readonly env: Environment;
  readonly logLevel: LogLevel;
  /** Speed of the simulated channels; by default that of site.yaml. */
  readonly replaySpeed?: number;
  /** Ports of processors that this process started itself, by id; by default the endpoints of routes.yaml. */
  readonly processorEndpoints?: Readonly<Record<string, string>>;
  /** Start on files although the site was moved from them to a database. */
  readonly force?: boolean;
}

const defaultHost = '127.0.0.1';
const defaultPort = 8080;
const logLevels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

export function readConfig(env: Environment): ServiceConfig {
  // It would switch certificate checks off in every library at once.
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new StartError(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates: unset it; NODE_EXTRA_CA_CERTS names a CA of your own',
    );
  refuseMisspelt(env);
  return {
    host: settingOf(env, 'SVC_HTTP_HOST', defaultHost),
    port: readPort(env, 'SVC_HTTP_PORT', defaultPort),
    dataDir: resolve(settingOf(env, 'SVC_DATA_DIR', 'data')),
    databaseUrl: databaseUrlOf(env['SVC_DATABASE_URL']),
    roles: rolesOf(env['SVC_ROLES'], env['SVC_DATABASE_URL']),
    configDir: resolve(settingOf(env, 'SVC_CONFIG_DIR', 'config')),
    env,
    logLevel: readLogLevel(env),
  };
}

export function readPort(env: Environment, name: string, otherwise: number): number {
  const port = env[name] ?? String(otherwise);
  if (!/^(0|[1-9][0-9]{0,4})$/.test(port) || Number(port) > 65_535)
    throw new StartError(`${name} must be a port number from 0 to 65535, not "${port}"`);
  return Number(port);
}

export function readLogLevel(env: Environment): LogLevel {
  const level = env['SVC_LOG_LEVEL'] ?? 'info';
  const logLevel = logLevels.find((known) => known === level);
  if (logLevel === undefined)
    throw new StartError(`SVC_LOG_LEVEL must be one of ${logLevels.join(', ')}, not "${level}"`);
  return logLevel;
}

/** The value may contain a password: it is not shown. */
function databaseUrlOf(text: string | undefined): string | null {
  if (text === undefined || text === '') return null;
  if (!/^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new StartError('SVC_DATABASE_URL must be a URL such as postgres://user:password@host:5432/database');
  return text;
}

function rolesOf(text: string | undefined, database: string | undefined): ServiceConfig['roles'] {
  const names = (text === undefined || text.trim() === '' ? 'api,engine' : text).split(',').map((name) => name.trim());
  if (names.some((name) => name !== 'api' && name !== 'engine'))
    throw new StartError(`SVC_ROLES must be api, engine or both with a comma between, not "${text}"`);
  const roles = { api: names.includes('api'), engine: names.includes('engine') };
  if (!(roles.api && roles.engine) && (database === undefined || database === ''))
    throw new StartError('SVC_ROLES: a process that has one role only shares its site: set SVC_DATABASE_URL');
  return roles;
}

/** The same members, none of them required. `Type.Partial` alone would accept unknown ones: it drops what else its schema says. */
function partial<T extends Type.TObject>(schema: T) {
  return Type.Partial(schema, { additionalProperties: false });
}

/** Sections of service.yaml; each may set any of its limits, the others keep their defaults. */
const serviceSchema = Type.Object(
  {
    http: Type.Optional(partial(gatewayLimitsSchema)),
    automation: Type.Optional(partial(automationLimitsSchema)),
    backtest: Type.Optional(partial(ruleBacktestLimitsSchema)),
    rules: Type.Optional(partial(ruleSettingsSchema)),
    devices: Type.Optional(partial(deviceLimitsSchema)),
    audit: Type.Optional(partial(strict({ ...auditLimitsSchema.properties, ...auditNames }))),
    history: Type.Optional(partial(historyLimitsSchema)),
    storage: Type.Optional(partial(storageLimitsSchema)),
    processing: Type.Optional(partial(processingLimitsSchema)),
    alarms: Type.Optional(partial(alarmLimitsSchema)),
    notify: Type.Optional(notifySchema),
  },
  { additionalProperties: false },
);

export interface ServiceLimits {
  readonly http: GatewayLimits;
  readonly automation: AutomationLimits;
  readonly backtest: BacktestLimits;
  /** Not a limit: the site's requirement for its rules. */
  readonly rules: RuleSettings;
  readonly devices: DeviceLimits;
  readonly audit: AuditLimits;
  /** Not a limit: names and witnesses of the audit logs. */
  readonly auditNames: AuditNames;
  readonly history: HistoryLimits;
  readonly storage: StorageLimits;
  readonly processing: ProcessingLimits;
  readonly alarms: AlarmLimits;
  /** Not a limit: receivers of changes of alarms. */
  readonly notify: NotifySettings;
}

const serviceFile = 'service.yaml';
const siteFile = 'site.yaml';

export function readLimits(configDir: string): ServiceLimits {
  const text = readOptional(configDir, serviceFile);
  // An empty file is YAML's null: all defaults apply.
  const given = text === null || text.trim() === '' ? {} : readYaml(text, serviceFile, serviceSchema);
  const storage = { ...storageLimits, ...given.storage };
  const { engine_renew_ms: renewMs, engine_lease_ms: leaseMs } = storage;
  // The lease would end between two renewals, or with the first one that is late.
  if (2 * renewMs > leaseMs)
    throw new StartError(
      `${serviceFile}: storage.engine_renew_ms (${renewMs}) must be at most half of engine_lease_ms (${leaseMs})`,
    );
  return {
    http: { ...gatewayLimits, ...given.http },
    automation: { ...automationLimits, ...given.automation },
    backtest: { ...ruleBacktestLimits, ...given.backtest },
    rules: { require_tests: false, ...given.rules },
    devices: { ...deviceLimits, ...given.devices },
    audit: { ...auditLimits, ...given.audit },
    auditNames: given.audit ?? {},
    history: { ...historyLimits, ...given.history },
    storage,
    processing: { ...processingLimits, ...given.processing },
    alarms: { ...alarmLimits, ...given.alarms },
    notify: given.notify ?? {},
  };
}

/** The limits of a start, which refuses what contradicts the environment. */
export function startLimits({
  configDir,
  databaseUrl,
}: Pick<ServiceConfig, 'configDir' | 'databaseUrl'>): ServiceLimits {
  const limits = readLimits(configDir);
  refuseServerBackups(limits, databaseUrl);
  return limits;
}

/** `setpoint backup` saves sites in files only: on a server the alarm would never end. */
export function refuseServerBackups({ alarms }: Pick<ServiceLimits, 'alarms'>, databaseUrl: string | null): void {
  if (databaseUrl !== null && alarms.backup_overdue_ms > 0)
    throw new StartError(
      `${serviceFile}: alarms.backup_overdue_ms watches setpoint backup, which does not save a site in PostgreSQL (SVC_DATABASE_URL): remove it`,
    );
}

export function readSiteFile(configDir: string, replaySpeed?: number): Site {
  const text = readOptional(configDir, siteFile);
  if (text === null)
    throw new StartError(`no ${siteFile} in ${configDir}: set SVC_CONFIG_DIR, or create one with setpoint site new`);
  return pacedSite(readSite(text, siteFile, readSiteFiles(configDir)), replaySpeed);
}

/** With the speed of replayed series set; unchanged if undefined. */
export function pacedSite(site: Site, replaySpeed: number | undefined): Site {
  if (replaySpeed === undefined) return site;
  const paced = (channel: Channel): Channel =>
    channel.driver === 'simulated' ? { ...channel, speed: replaySpeed } : channel;
  return { ...site, channels: site.channels.map(paced) };
}

/** Null without the file. */
function readOptional(configDir: string, file: typeof serviceFile | typeof siteFile): string | null {
  const path = join(configDir, file);
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      const misnamed = misnamedAs(configDir, file);
      if (misnamed === undefined) return null;
      throw new StartError(`${misnamed}: rename it to ${file}`);
    }
    throw new StartError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The system's error code, such as EACCES. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
}
