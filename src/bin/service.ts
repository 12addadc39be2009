/**
 * The service put together (ARCHITECTURE.md, "Threads"): site, device layer, engine, store, audit, HTTP. Used by `serve` and
 * `start`; nothing here decides anything.
 */
import { accessSync, chmodSync, constants, mkdirSync, statSync } from 'node:fs';
import { auditCapabilities } from '../audit/capabilities.ts';
import type { AuditScope } from '../audit/event.ts';
import type { AuditLog } from '../audit/log.ts';
import { auditKey, openAuditTrail } from '../audit/trail.ts';
import { auditIsWritable } from '../audit/writable.ts';
import { automationCapabilities } from '../automation/capabilities.ts';
import type { EngineClient } from '../automation/engine-client.ts';
import type { ReloadReport } from '../automation/engine-contract.ts';
import { createHistoryReader, createHistoryStore } from '../automation/history-store.ts';
import { createLiveStream, type LiveStream } from '../automation/live-stream.ts';
import { createRuleStore, type RuleStore } from '../automation/rule-store.ts';
import { systemClock } from '../base/clock.ts';
import { createLog, type Log } from '../base/log.ts';
import { type EngineRole, type EngineRoleParts, engineRole } from '../cluster/engine-role.ts';
import { longestRequestMs } from '../cluster/longest-request.ts';
import { addConsole } from '../gateway/console-files.ts';
import { createIdentity, type Identity } from '../gateway/identity.ts';
import { identityConfig } from '../gateway/identity-config.ts';
import { addLiveSocket } from '../gateway/live-socket.ts';
import { localScope, type SigningKey, signingKey } from '../gateway/local-keys.ts';
import { createMetrics, metricsCapability } from '../gateway/metrics.ts';
import { addApiDescription } from '../gateway/openapi-routes.ts';
import { createRateLimits } from '../gateway/rate-limit.ts';
import { type ReadyChecks, readyCapability } from '../gateway/ready.ts';
import { createServer, type Server, type ServerParts } from '../gateway/server.ts';
import { createSignIn, type SignIn } from '../gateway/sign-in.ts';
import { traceRequests } from '../gateway/tracing.ts';
import { healthCapability } from '../platform/health.ts';
import { metadataCapability } from '../platform/metadata.ts';
import { createLiveTableReader } from '../points/live-table.ts';
import { createPointMemory, type PointMemory } from '../points/shared-memory.ts';
import { flowLimits } from '../rules/limits.ts';
import type { Parameter, SiteCatalogue } from '../site/catalogue.ts';
import type { Site } from '../site/site.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { createSnapshot, type Snapshot } from '../site/snapshot.ts';
import { isHalfRestored } from '../storage/backup.ts';
import { copyBeforeMigration, takeBack, wasMoved } from '../storage/data-files.ts';
import { type Database, openDatabaseApart, openRuntimeDatabase } from '../storage/database.ts';
import { prepareHistory } from '../storage/history-server.ts';
import {
  isForOperator,
  readLimits,
  readParametersNow,
  readSiteFile,
  type ServiceConfig,
  type ServiceLimits,
  StartError,
} from './config.ts';
import { lockDataFolder } from './data-lock.ts';
import { historyDatabase, runtimeDatabase, siteDatabase } from './databases.ts';
import { type ServiceHistory, startHistory } from './history.ts';
import { addMeasurements, measuredAudit, measuredLimits } from './measurements.ts';
import { readProcessing, startProcessing } from './processing.ts';
import { startTelemetry } from './telemetry.ts';
import { packageVersion } from './version.ts';

export interface RunningService {
  readonly host: string;
  readonly port: number;
  readonly site: Site;
  readonly catalogue: () => SiteCatalogue;
  readonly database: Database;
  readonly audit: AuditLog;
  readonly store: RuleStore;
  readonly engine: EngineClient;
  readonly history: ServiceHistory;
  readonly key: SigningKey;
  /** Null when tokens come from elsewhere: a configured secret or identity provider. */
  readonly signIn: SignIn | null;
  /** What was loaded; null while another process controls. */
  readonly rules: ReloadReport | null;
  readonly log: Log;
  /** `METHOD path` of every route. */
  readonly routes: ReadonlySet<string>;
  /** Takes no more requests, lets open ones end, stores what waits, ends the threads. */
  stop(): Promise<void>;
}

/** What was opened, closed again in reverse order: by `stop`, or when a later step of the start fails. */
interface Opened {
  add(close: () => Promise<unknown> | unknown): void;
  closeAll(): Promise<void>;
}

export async function startService(config: ServiceConfig): Promise<RunningService> {
  const log = createLog(config.logLevel, { service: 'setpoint' });
  const opened = openedThings(log);
  try {
    return await assemble(config, log, opened);
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

async function assemble(config: ServiceConfig, log: Log, opened: Opened): Promise<RunningService> {
  const limits = readLimits(config.configDir);
  const site = readSiteFile(config.configDir, config.replaySpeed);
  const siteInFile = readSiteFile(config.configDir);
  prepareDataFolder(config.dataDir);
  if (isHalfRestored(config.dataDir))
    throw new StartError(`a restore into the data dir ${config.dataDir} did not end: do it again`);
  const moved = config.databaseUrl === null && wasMoved(config.dataDir);
  if (moved && config.force !== true)
    throw new StartError(
      `the data dir ${config.dataDir} was moved to a database: set SVC_DATABASE_URL, or go back to these files with npm run serve -- --force`,
    );
  const lock = lockDataFolder(config.dataDir);
  if (lock === null) throw new StartError(`another service uses the data dir ${config.dataDir}`);
  opened.add(() => lock.release());
  if (moved) {
    takeBack(config.dataDir);
    log.warn('using the files of a migrated site: later changes in the database are missing');
  }
  const identity = orStartError(() => identityOf(config, limits, log));
  for (const copy of orStartError(() => copyBeforeMigration(config.dataDir, systemClock.wallMs())))
    log.info('copied a database of an older format before migrating it', { copy });
  const { database, runtime } = await openDatabases(config, limits, log, opened);
  const { scope } = identity;
  const key = orStartError(() => auditKey(config.dataDir));
  const parts = { database, dataFolder: config.dataDir, clock: systemClock, limits: limits.audit, scope, key };
  const configuration = orStartError(() => readProcessing(config, site));
  const waits = {
    engineCallMs: limits.automation.engine_call_timeout_ms,
    routes: configuration?.routes.map(({ route }) => route) ?? [],
  };
  const sharedForMs = config.databaseUrl === null ? 0 : longestRequestMs(waits);
  const trail = await openAuditTrail({ ...parts, sharedForMs, log: log.with({ area: 'audit' }) });
  const metrics = createMetrics();
  const audit = measuredAudit(trail.log, metrics, systemClock);
  // After everything that writes to it, before its database.
  opened.add(() => trail.close());

  const memory = createPointMemory(site.points, site.channels.length);
  const store = createRuleStore(database, systemClock, limits.automation.max_rules);
  const parameters = parametersInForce(site);
  const records = createHistoryStore(runtime);
  const engineParts = {
    config,
    site,
    memory,
    limits,
    store,
    history: records,
    parameters: parameters.current,
    readParameters: async () => (await readParametersNow(config.configDir)).parameters,
    useParameters: parameters.use,
    log,
    recording: () => history.shared,
  };
  const { role, stream } = startEngine(engineParts, identity, opened);
  const { engine, devices } = role;
  const history = startHistory(config, site, memory, limits, log);
  // Before the device layer ends: the last look finds the values of the last moment.
  opened.add(() => history.stop());
  const processingLog = log.with({ area: 'processing' });
  const processing = orStartError(() =>
    startProcessing({ config, configuration, site, memory, history, limits: limits.processing, log: processingLog }),
  );
  const rules = await role.open();

  const handlers = automationCapabilities({
    clock: systemClock,
    flowLimits: { ...flowLimits, windowSamplesMaximum: limits.automation.window_samples_maximum },
    store,
    history: createHistoryReader(runtime),
    engine,
    instances: site.instances,
    catalogue: parameters.catalogue,
    parameters: parameters.current,
    async readParameters() {
      const read = await readParametersNow(config.configDir);
      return { parameters: read.parameters, needsRestart: changedSections(siteInFile, read.site) };
    },
    useParameters: parameters.use,
    snapshot: snapshotReader(site, memory),
    log,
  });
  const { signIn } = identity;
  const rateLimits = measuredLimits(createRateLimits(limits.http), metrics);
  const checks: ReadyChecks = {
    storage: () => database.commitNothing().then(() => true),
    audit: () => auditIsWritable(database, scope, systemClock),
    scheduler: async () => (await engine.status())?.running === true,
    devices: () => devices.up(),
  };
  const api = [
    ...auditCapabilities(trail),
    ...handlers,
    ...processing.capabilities,
    ...(signIn === null ? [] : [signIn.capability]),
  ];
  const capabilities = [
    healthCapability(packageVersion()),
    metadataCapability(),
    readyCapability(checks, systemClock),
    metricsCapability(metrics),
    ...(config.roles.api ? api : []),
  ];
  const server = serverOf({
    capabilities,
    identity: identity.identity,
    audit,
    site: identity.scope,
    rateLimits,
    log,
    limits: limits.http,
    clock: systemClock,
  });
  metrics.observe(server.fastify);
  addMeasurements(metrics, {
    clock: systemClock,
    engine,
    devices,
    recording: history.recording,
    processors: processing.measures,
  });
  await traced(server, config, opened);
  const described = capabilities.map(({ descriptor }) => descriptor);
  await addApiDescription(server, described, packageVersion());
  const messageBytesMax = limits.automation.stream_message_bytes;
  await addLiveSocket(server, { stream, rateLimits, log, messageBytesMax });
  if (!(await addConsole(server))) log.warn('console not built; run npm run prepare');
  opened.add(() => server.close());
  // Before the server, which waits for its connections to end.
  opened.add(() => stream.close());
  const address = await listen(server, config);
  log.info('listening', { ...address, ...rules });
  const stop = async (): Promise<void> => {
    log.info('stopping');
    await opened.closeAll();
  };
  const { catalogue } = parameters;
  const { routes } = server;
  return {
    ...address,
    site,
    catalogue,
    database,
    audit,
    store,
    engine,
    history,
    key,
    signIn,
    rules,
    log,
    routes,
    stop,
  };
}

async function openDatabases(config: ServiceConfig, limits: ServiceLimits, log: Log, opened: Opened) {
  try {
    const database = await openDatabaseApart(siteDatabase(config, limits.storage), systemClock, log);
    opened.add(() => database.close());
    const runtime = openRuntimeDatabase(runtimeDatabase(config, limits.storage));
    opened.add(() => runtime.close());
    await database.ready();
    await runtime.ready();
    const history = historyDatabase(config, limits.storage);
    if (typeof history !== 'string') await prepareHistory(history);
    return { database, runtime };
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

/** Spans of requests, when there is somewhere to send them. */
async function traced({ fastify }: Server, config: ServiceConfig, opened: Opened): Promise<void> {
  const telemetry = await startTelemetry(config.env);
  if (telemetry === null) return;
  traceRequests(fastify);
  opened.add(() => telemetry.stop());
}

/** The stream that records go to, and what controls the site. */
function startEngine(
  parts: Omit<EngineRoleParts, 'stream' | 'runtime' | 'config' | 'limits'> & {
    readonly config: ServiceConfig;
    readonly limits: ServiceLimits;
  },
  identity: SiteIdentity,
  opened: Opened,
): { role: EngineRole; stream: LiveStream } {
  const { config, limits, log } = parts;
  const stream = createLiveStream({
    clock: systemClock,
    log,
    limits: limits.automation,
    authenticate: (token) => streamSubject(identity.identity, identity.scope, token),
    watch: (ruleIds) => role.engine.watch(ruleIds),
  });
  const runtime = runtimeDatabase(config, limits.storage);
  const role = orStartError(() => engineRole({ ...parts, stream, runtime }));
  opened.add(() => role.stop());
  return { role, stream };
}

/** What a part throws before it runs is for the operator: a damaged file, a format of a newer program. */
function orStartError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isForOperator(error)) throw error;
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

function openedThings(log: Log): Opened {
  const closers: (() => Promise<unknown> | unknown)[] = [];
  return {
    add: (close) => void closers.push(close),
    async closeAll() {
      for (const close of closers.splice(0).toReversed()) {
        try {
          await close();
        } catch (error) {
          log.error('a component did not close', { error: String(error) });
        }
      }
    },
  };
}

/** Sections of the site file that a running service does not take up: all but the parameters. */
function changedSections(running: Site, read: Site): string[] {
  const sections = [
    'channels',
    'instances',
    'points',
    'timezone',
    'holidays',
    'history',
    'latitude',
    'longitude',
  ] as const;
  return sections.filter((name) => JSON.stringify(running[name]) !== JSON.stringify(read[name]));
}

/** The service's account, and nobody else. */
const privateFolder = 0o700;

function prepareDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: privateFolder });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(`the data dir ${folder} is not writable: ${codeOf(error)}`);
  }
  // Keys and databases lie in it: whoever may open a database may also lock it.
  if ((statSync(folder).mode & 0o077) === 0) return;
  try {
    chmodSync(folder, privateFolder);
  } catch (error) {
    throw new StartError(
      `other accounts may use the data dir ${folder}, and its mode cannot be changed: ${codeOf(error)}; run chmod 700`,
    );
  }
}

/** A proxy that cannot be one is found when the server is made. */
function serverOf(parts: ServerParts): Server {
  try {
    return createServer(parts);
  } catch (error) {
    if (error instanceof TypeError && parts.limits.trusted_proxies.length > 0)
      throw new StartError(`service.yaml: http.trusted_proxies: ${error.message}`);
    throw error;
  }
}

interface SiteIdentity {
  readonly identity: Identity;
  readonly scope: AuditScope;
  readonly key: SigningKey;
  readonly signIn: SignIn | null;
}

function identityOf(config: ServiceConfig, limits: ServiceLimits, log: Log): SiteIdentity {
  const settings = identityConfig(config.env);
  for (const warning of settings.warnings) log.warn(warning);
  const key = signingKey(config.dataDir);
  const scope = settings.scope ?? localScope(config.dataDir);
  const clock = systemClock;
  return {
    identity: createIdentity({ config: settings, key, site: scope, clock, log, limits: limits.http }),
    scope,
    key,
    signIn: settings.jwt.kind === 'local' ? createSignIn({ key, site: scope, clock }) : null,
  };
}

/** The same rules as for the routes: a read permission, and the site's own tenant and project. */
async function streamSubject(identity: Identity, scope: AuditScope, token: string) {
  const known = await identity.authenticateToken(token);
  if (known === null) return null;
  const { subject, expiresMs } = known;
  const own = subject.tenantId === scope.tenantId && subject.projectId === scope.projectId;
  return {
    mayRead: own && subject.permissions.has('automation.read'),
    expiresAtMs: Number.isFinite(expiresMs) ? expiresMs : null,
  };
}

/** The parameters that rules see now, and the catalogue with them. */
function parametersInForce(site: Site) {
  let current: Readonly<Record<string, Parameter>> = site.parameters;
  let catalogue = siteCatalogue(site);
  return {
    current: () => current,
    catalogue: () => catalogue,
    use(parameters: Readonly<Record<string, Parameter>>): void {
      current = parameters;
      catalogue = siteCatalogue({ ...site, parameters });
    },
  };
}

function snapshotReader(site: Site, memory: PointMemory): () => Snapshot | null {
  const reader = createLiveTableReader(memory);
  return () => {
    const snapshot = createSnapshot(site.points.length);
    return reader.copyInto(snapshot, systemClock) ? snapshot : null;
  };
}

async function listen(server: Server, config: ServiceConfig): Promise<{ host: string; port: number }> {
  try {
    return await server.listen(config.host, config.port);
  } catch (error) {
    const code = codeOf(error);
    const what = code === 'EADDRINUSE' ? 'the port is in use' : `the address cannot be used: ${code}`;
    throw new StartError(`${config.host}:${config.port}: ${what}`);
  }
}

/** The system's word for what went wrong, such as EACCES. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
}
