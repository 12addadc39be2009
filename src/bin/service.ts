/**
 * The service put together (ARCHITECTURE.md, "Threads"): site, device layer, engine, store, audit, HTTP. Used by `serve` and
 * `start`; nothing here decides anything.
 */
import { breakText } from '../audit/breaks.ts';
import { auditCapabilities } from '../audit/capabilities.ts';
import type { AuditScope } from '../audit/event.ts';
import type { AuditLog } from '../audit/log.ts';
import type { AuditKey } from '../audit/statement.ts';
import { type AuditTrail, auditKey, openAuditTrail } from '../audit/trail.ts';
import { witnessPolicy } from '../audit/witness/settings.ts';
import { auditIsWritable } from '../audit/writable.ts';
import type { EngineClient } from '../automation/engine-client.ts';
import type { ReloadReport } from '../automation/engine-contract.ts';
import type { Feed, LiveStream } from '../automation/live-stream.ts';
import { overlaid, parametersInForce } from '../automation/parameters-in-force.ts';
import { createParameterStore } from '../automation/store/parameter-store.ts';
import { createRuleStore, type RuleStore } from '../automation/store/rule-store.ts';
import { createRunStore } from '../automation/store/run-store.ts';
import { openRuntimeDatabase, type RuntimeDatabase } from '../automation/store/runtime-database.ts';
import { Backtests } from '../backtest/backtests.ts';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { createLog, type Log } from '../base/log.ts';
import { type EngineRole, engineRole } from '../cluster/engine-role.ts';
import type { EngineRoleParts } from '../cluster/engine-threads.ts';
import { longestRequestMs } from '../cluster/longest-request.ts';
import { copyBeforeMigration } from '../databases/data-files.ts';
import { processNameOf, refuseOtherIdentity, refuseUpgradeWhileUsed } from '../databases/server-formats.ts';
import { openDatabaseApart } from '../databases/site-database.ts';
import type { Identity } from '../gateway/identity.ts';
import { type IdentityConfig, identityConfig } from '../gateway/identity-config.ts';
import { localScope, type SigningKey, signingKey } from '../gateway/local-keys.ts';
import { createMetrics } from '../gateway/metrics.ts';
import type { ReadyChecks } from '../gateway/ready.ts';
import { prepareHistory } from '../historian/store/history-server.ts';
import { recordGrantEndings } from '../operator/grant-endings.ts';
import { createPointFeed } from '../operator/point-feed.ts';
import type { TableSample } from '../points/sample.ts';
import { createPointMemory } from '../points/shared-memory.ts';
import { openForecastDatabase } from '../processing/results/forecast-database.ts';
import type { Schedule } from '../processing/schedule.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import { channelsMaximum, pointsMaximum, type Site } from '../site/site.ts';
import { type SiteInForce, siteInForce } from '../site/site-in-force.ts';
import { holidayWarnings, siteWarnings } from '../site/site-warnings.ts';
import type { Database } from '../storage/database.ts';
import type { RetentionClock, RetentionTime } from '../storage/retention-clock.ts';
import { type ServiceAlarms, serviceAlarms } from './alarms.ts';
import { readSiteFile, type ServiceConfig, type ServiceLimits, startLimits } from './config.ts';
import { claimDataFolder, openRetention, rememberDatabase } from './data-folder.ts';
import { forecastDatabase, historyDatabase, runtimeDatabase, siteDatabase } from './databases.ts';
import { siteHandlers } from './handlers.ts';
import { type ServiceHistory, startHistory } from './history.ts';
import { serveHttp } from './http.ts';
import { liveSample } from './live-sample.ts';
import { type MeasuredParts, measuredAudit } from './measurements.ts';
import { type Opened, openedThings } from './opened.ts';
import {
  noProcessing,
  type ProcessingSetup,
  type ReadConfiguration,
  readProcessing,
  type ServiceProcessing,
  startProcessing,
} from './processing.ts';
import { startPublishing } from './publishing.ts';
import { serviceSignIn } from './sign-in.ts';
import { readSiteNow } from './site-file.ts';
import { siteReload } from './site-reload.ts';
import { siteStream } from './site-stream.ts';
import { orStartError, StartError } from './start-error.ts';

export interface RunningService {
  readonly host: string;
  readonly port: number;
  /** As it was at the start. */
  readonly site: Site;
  readonly catalogue: () => SiteCatalogue;
  readonly database: Database;
  readonly audit: AuditLog;
  readonly store: RuleStore;
  readonly engine: EngineClient;
  readonly history: ServiceHistory;
  readonly key: SigningKey;
  /** The code of a fresh sign-in link. Null when tokens come from elsewhere: a configured secret or identity provider. */
  readonly issueCode: (() => Promise<string>) | null;
  /** The loaded rules; null while another process controls. */
  readonly rules: ReloadReport | null;
  readonly log: Log;
  /** `METHOD path` of every route. */
  readonly routes: ReadonlySet<string>;
  /** The forecasts that run by themselves. */
  readonly schedule: Pick<Schedule, 'runNow'>;
  /** Stops accepting requests, finishes open ones, flushes pending data, ends the threads. */
  stop(): Promise<void>;
}

export async function startService(config: ServiceConfig): Promise<RunningService> {
  const log = createLog(config.logLevel, { service: 'setpoint' });
  const opened = openedThings(log);
  try {
    return await assemble(config, log, opened);
  } catch (error) {
    await opened.closeAll();
    // The wording for requests does not fit a start that a full disk prevents.
    if (config.databaseUrl === null && error instanceof Fault && error.code === 'storage-unavailable')
      throw new StartError(
        `cannot write to the data dir ${config.dataDir}: free disk space, or make it writable, then start again`,
      );
    throw error;
  }
}

async function assemble(config: ServiceConfig, log: Log, opened: Opened): Promise<RunningService> {
  const limits = startLimits(config);
  const started = readSiteFile(config.configDir, config.replaySpeed);
  const site = siteInForce(started);
  orStartError(() => claimDataFolder(config, log, opened));
  const retention = openRetention(config, log, opened);
  const identity = orStartError(() => identityOf(config, log));
  for (const copy of orStartError(() => copyBeforeMigration(config.dataDir, systemClock.wallMs())))
    log.info('copied a database of an older format before migrating it', { copy });
  const { database, runtime } = await openDatabases(config, limits, identity, log, opened);
  const configuration = orStartError(() => readProcessing(config, started));
  const shared = { config, limits, site, log, opened, database, runtime, retention, identity };
  const trail = await openTrail({ ...shared, site: started, configuration });
  const metrics = createMetrics();
  const audit = measuredAudit(trail.log, metrics, systemClock);
  const signIn = serviceSignIn({ ...identity, database, audit, limits: limits.http, log });
  const controlled = await startSite({ ...shared, audit, trail, authenticator: signIn.identity });
  const { store, parameters, role, history, alarms } = controlled;
  const processing = await startForecasts({ ...shared, ...controlled, site: started, configuration });
  const rules = await role.open();
  await alarms.open();
  opened.add(() => alarms.stop());
  const handlers = openHandlers({ ...shared, ...controlled, configuration });
  const server = await serveHttp({
    config,
    limits,
    log,
    opened,
    metrics,
    checks: readyChecks(database, identity, role, trail),
    audit,
    identity: signIn.identity,
    provider: signIn.provider,
    site: identity.scope,
    capabilities: [...auditCapabilities(trail), ...handlers, ...processing.capabilities, ...signIn.capabilities],
    stream: controlled.stream,
    schedule: (callOf) => processing.schedule(callOf, () => role.controls()),
    measured: measuredParts(controlled, processing, trail),
  });
  controlled.forecasts.schedule = server.schedule;
  log.info('listening', { host: server.host, port: server.port, ...rules });
  const stop = async (): Promise<void> => {
    log.info('stopping');
    await opened.closeAll();
  };
  return {
    ...server,
    site: started,
    catalogue: parameters.catalogue,
    database,
    audit,
    store,
    engine: role.engine,
    history,
    key: identity.auditKey,
    issueCode: signIn.issueCode,
    rules,
    log,
    stop,
  };
}

interface OpenParts extends Omit<SiteParts, 'audit' | 'trail' | 'authenticator'>, Controlled {
  readonly configuration: ReadConfiguration | null;
}

/** Publishing, and every handler of the site. */
function openHandlers(parts: OpenParts) {
  const { opened } = parts;
  const ofSite = { ...parts, site: parts.site.current };
  const publishing = orStartError(() => startPublishing(ofSite));
  opened.add(() => publishing.stop());
  const backtests = new Backtests(systemClock);
  opened.add(() => backtests.stop());
  return siteHandlers({ ...ofSite, backtests, reload: siteReload({ ...parts, publishing }) });
}

function measuredParts(
  { role, history, alarms }: Controlled,
  processing: ServiceProcessing,
  trail: AuditTrail,
): MeasuredParts {
  return {
    clock: systemClock,
    engine: role.engine,
    devices: role.devices,
    recording: history.recording,
    processors: processing.measures,
    alarms: alarms.list,
    auditBreaks: () => trail.breaks().length,
  };
}

function readyChecks(
  database: Database,
  { scope }: SiteIdentity,
  { engine, devices }: EngineRole,
  trail: AuditTrail,
): ReadyChecks {
  return {
    storage: () => database.commitNothing().then(() => true),
    audit: async () => (trail.breaks().length > 0 ? 'broken' : auditIsWritable(database, scope, systemClock)),
    scheduler: async () => (await engine.status())?.running === true,
    devices: () => devices.up(),
  };
}

interface TrailParts {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: Site;
  readonly log: Log;
  readonly opened: Opened;
  readonly database: Database;
  readonly retention: RetentionTime;
  readonly identity: SiteIdentity;
  readonly configuration: ReturnType<typeof readProcessing>;
}

async function openTrail(parts: TrailParts) {
  const { config, limits, site, log, opened, database, retention, identity, configuration } = parts;
  const waits = {
    engineCallMs: limits.automation.engine_call_timeout_ms,
    routes: configuration?.routes.map(({ route }) => route) ?? [],
  };
  const trail = await openAuditTrail({
    database,
    dataFolder: config.dataDir,
    clock: systemClock,
    limits: limits.audit,
    scope: identity.scope,
    retention,
    key: identity.auditKey,
    origin: limits.auditNames.origin ?? `setpoint/${site.id}`,
    ...(await witnessPolicy(limits.auditNames)),
    sharedForMs: config.databaseUrl === null ? null : longestRequestMs(waits),
    log: log.with({ area: 'audit' }),
  });
  // After everything that writes to it, before its database.
  opened.add(() => trail.close());
  return trail;
}

interface SiteParts {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: SiteInForce;
  readonly log: Log;
  readonly opened: Opened;
  readonly database: Database;
  readonly runtime: RuntimeDatabase;
  readonly retention: RetentionClock;
  readonly identity: SiteIdentity;
  readonly audit: AuditLog;
  readonly trail: AuditTrail;
  readonly authenticator: Identity;
}

type Controlled = Awaited<ReturnType<typeof startSite>>;

/** Control of the site, and recording. */
async function startSite(parts: SiteParts) {
  const { config, limits, site, log, opened, database, runtime, retention, audit, trail, authenticator } = parts;
  const { scope, processName } = parts.identity;
  const { points, channels, parameters: inFile } = site.current();
  // Room for all that a changed site file may add.
  const room = { points: pointsMaximum, channels: channelsMaximum };
  const memory = createPointMemory(points, channels.length, room);
  const store = createRuleStore(database, systemClock, limits.automation.max_rules);
  const stored = createParameterStore(database);
  const parameters = parametersInForce(site.current, overlaid(inFile, await stored.all()), stored);
  const warnings = [...siteWarnings(site.current()), ...holidayWarnings(site.current(), systemClock.wallMs())];
  for (const warning of [...warnings, ...(await parameters.ignored())]) log.warn(warning);
  const endings = recordGrantEndings({
    audit,
    clock: systemClock,
    log,
    forget: (ids) => role.engine.ask('forget', { ids }),
  });
  opened.add(async () => endings.stop());
  const sample = liveSample({ site: site.current, memory, role: () => role, log });
  const engineParts = {
    sample,
    onGrantsEnded: endings.take.bind(endings),
    config,
    site: site.current,
    memory,
    limits,
    store,
    runs: createRunStore(runtime),
    retention: retention.cell,
    parameters,
    readParameters: async () => (await readSiteNow(config)).parameters,
    log,
    processName,
    recording: () => history.shared,
    // Bound when it is followed: alarms need what controls the site, and that needs the stream.
    alarmFeed: { follow: (channels, push) => alarms.feed.follow(channels, push) } satisfies Feed,
  };
  const { role, stream } = startEngine(engineParts, authenticator, scope, opened);
  const history = startHistory(config, site.current, memory, limits, retention.cell, log);
  // Before the device layer ends: the last look finds the values of the last moment.
  opened.add(() => history.stop());
  // The schedule begins after the alarms.
  const forecasts: { schedule: Pick<Schedule, 'failed'> | null } = { schedule: null };
  const alarms: ServiceAlarms = orStartError(() =>
    serviceAlarms({
      config,
      limits,
      site: site.current,
      database,
      retention,
      role,
      rules: store,
      sample,
      auditBroken: () => trail.breaks().map(breakText)[0] ?? null,
      silentWitnesses: () => trail.silentWitnesses(),
      auditWritable: () => auditIsWritable(database, scope, systemClock),
      failedForecasts: () => forecasts.schedule?.failed() ?? null,
      historyStored: async () => !(await history.recording.counts()).failing,
      log,
    }),
  );
  return { memory, store, stored, parameters, role, stream, history, alarms, forecasts, sample };
}

interface ForecastParts extends Omit<ProcessingSetup, 'limits' | 'database' | 'configuration'> {
  readonly configuration: ReadConfiguration | null;
  readonly limits: ServiceLimits;
  readonly opened: Opened;
}

/** Data processing and the database of kept results, where it is switched on. */
async function startForecasts({ configuration, limits, opened, ...rest }: ForecastParts): Promise<ServiceProcessing> {
  if (configuration === null) return noProcessing;
  const log = rest.log.with({ area: 'processing' });
  const place = forecastDatabase(rest.config, limits.storage);
  const database = await openedForOperator(() => openForecastDatabase(place, systemClock, log));
  opened.add(() => database.close());
  await openedForOperator(() => database.ready());
  const started = orStartError(() =>
    startProcessing({ ...rest, configuration, limits: limits.processing, database, log }),
  );
  opened.add(() => started.stop());
  return started;
}

/** A database that cannot be opened is for the operator. */
async function openedForOperator<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

function openDatabases(
  config: ServiceConfig,
  limits: ServiceLimits,
  { processName: name }: SiteIdentity,
  log: Log,
  opened: Opened,
) {
  return openedForOperator(async () => {
    const place = siteDatabase(config, limits.storage);
    if (typeof place !== 'string') {
      await refuseUpgradeWhileUsed(place);
      await refuseOtherIdentity(place, name);
    }
    const database = await openDatabaseApart(place, systemClock, log);
    opened.add(() => database.close());
    const runtime = openRuntimeDatabase(runtimeDatabase(config, limits.storage));
    opened.add(() => runtime.close());
    await database.ready();
    await runtime.ready();
    const history = historyDatabase(config, limits.storage);
    if (typeof history !== 'string') await prepareHistory(history);
    rememberDatabase(config, systemClock.wallMs());
    return { database, runtime };
  });
}

/** The stream that records go to, and what controls the site. */
function startEngine(
  parts: Omit<EngineRoleParts, 'stream' | 'runtime' | 'config' | 'limits'> & {
    readonly config: ServiceConfig;
    readonly limits: ServiceLimits;
    readonly alarmFeed: Feed;
    readonly sample: () => Promise<TableSample | null>;
  },
  authenticator: Identity,
  scope: AuditScope,
  opened: Opened,
): { role: EngineRole; stream: LiveStream } {
  const { config, limits, log, site, sample } = parts;
  const stream = siteStream({
    authenticator,
    scope,
    limits: limits.automation,
    log,
    watch: (ruleIds) => role.engine.watch(ruleIds),
    feeds: { point: createPointFeed({ site, sample, clock: systemClock, log }), alarm: parts.alarmFeed },
  });
  const runtime = runtimeDatabase(config, limits.storage);
  const role = orStartError(() => engineRole({ ...parts, stream, runtime }));
  opened.add(() => role.stop());
  return { role, stream };
}

interface SiteIdentity {
  readonly settings: IdentityConfig;
  readonly scope: AuditScope;
  readonly key: SigningKey;
  readonly auditKey: AuditKey;
  /** On a database server, as other processes of the site see it. */
  readonly processName: string;
}

function identityOf(config: ServiceConfig, log: Log): SiteIdentity {
  const settings = identityConfig(config.env);
  for (const warning of settings.warnings) log.warn(warning);
  const scope = settings.scope ?? localScope(config.dataDir);
  const key = signingKey(config.dataDir);
  const ownAuditKey = auditKey(config.dataDir);
  const tokenKey = settings.jwt.kind === 'local' ? key.publicKey : null;
  return {
    settings,
    scope,
    key,
    auditKey: ownAuditKey,
    processName: processNameOf({ scope, tokenKey, auditKey: ownAuditKey.publicKey }, config.roles.engine),
  };
}
