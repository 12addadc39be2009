/** The handlers of rules and points, bound to what this process runs. */
import type { AutomationParts } from '../automation/automation-parts.ts';
import { automationCapabilities } from '../automation/capabilities.ts';
import { overlaid, parameterCapabilities } from '../automation/parameters.ts';
import { createAuthorityReader } from '../automation/store/authority-store.ts';
import { createHistoryReader } from '../automation/store/history-store.ts';
import type { ParameterStore } from '../automation/store/parameter-store.ts';
import { createRevisionReader } from '../automation/store/revision-store.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import type { RuntimeDatabase } from '../automation/store/runtime-database.ts';
import type { Backtests } from '../backtest/backtests.ts';
import { backtestCapabilities } from '../backtest/capabilities.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { EngineRole } from '../cluster/engine-role.ts';
import { operatorCapabilities } from '../operator/capabilities.ts';
import { channelCapabilities } from '../operator/channel-capabilities.ts';
import { createLiveTableReader } from '../points/live-table.ts';
import { createSampler } from '../points/sample.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import { flowLimits } from '../rules/limits.ts';
import type { Parameter } from '../site/catalogue.ts';
import type { Site } from '../site/site.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { createSnapshot, type Snapshot } from '../site/snapshot.ts';
import type { Database } from '../storage/database.ts';
import type { ServiceAlarms } from './alarms.ts';
import { readParametersNow, type ServiceConfig, type ServiceLimits } from './config.ts';
import { historyDatabase, runtimeDatabase } from './databases.ts';
import type { ServiceHistory } from './history.ts';

interface HandlerParts {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: Site;
  readonly siteInFile: Site;
  readonly database: Database;
  readonly runtime: RuntimeDatabase;
  readonly log: Log;
  readonly memory: PointMemory;
  readonly store: RuleStore;
  readonly role: EngineRole;
  readonly history: ServiceHistory;
  readonly parameters: ReturnType<typeof parametersInForce>;
  /** Parameter values that override the site file. */
  readonly stored: ParameterStore;
  readonly alarms: ServiceAlarms;
  readonly backtests: Backtests;
}

export function siteHandlers(parts: HandlerParts) {
  return [...ruleHandlers(parts), ...pointHandlers(parts), ...parts.alarms.capabilities];
}

function ruleHandlers(parts: HandlerParts) {
  const { config, limits, site, siteInFile, database, runtime, log, memory, store, role, parameters, stored } = parts;
  const readParameters = async () => {
    const read = await readParametersNow(config.configDir);
    const inForce = overlaid(read.parameters, await stored.all());
    return { parameters: inForce, needsRestart: changedSections(siteInFile, read.site) };
  };
  const { current, use } = parameters;
  const changes = { engine: role.engine, parameters: current, readParameters, useParameters: use, stored };
  const automation: AutomationParts = {
    clock: systemClock,
    flowLimits: { ...flowLimits, windowSamplesMaximum: limits.automation.window_samples_maximum },
    store,
    tickIntervalMs: limits.automation.tick_interval_ms,
    requireTests: limits.rules.require_tests,
    revisions: createRevisionReader(database),
    history: createHistoryReader(runtime),
    engine: role.engine,
    instances: site.instances,
    catalogue: parameters.catalogue,
    parameters: parameters.current,
    readParameters,
    useParameters: parameters.use,
    snapshot: snapshotReader(site, memory),
    log,
  };
  const tried = backtestCapabilities({
    automation,
    backtests: parts.backtests,
    site,
    limits: { ...limits.backtest, ...limits.automation },
    historyLimits: limits.history,
    history: historyDatabase(config, limits.storage),
    runtime: runtimeDatabase(config, limits.storage),
  });
  return [...automationCapabilities(automation), ...tried, ...parameterCapabilities(changes)];
}

function pointHandlers({ limits, site, runtime, history, memory, store, role, parameters }: HandlerParts) {
  const sample = liveSample(site, memory, () => role);
  const { devices } = role;
  const operator = operatorCapabilities({
    clock: systemClock,
    site,
    catalogue: parameters.catalogue,
    engine: role.engine,
    store,
    ownership: createAuthorityReader(runtime),
    history: history.reader,
    limits: limits.history,
    sample,
    devices,
  });
  return [...operator, ...channelCapabilities({ site: () => site, sample, devices })];
}

/** Sections of the site file that a running service does not take up: all but the parameters. */
function changedSections(running: Site, read: Site): string[] {
  const sections = [
    'channels',
    'instances',
    'points',
    'limits',
    'alarms',
    'timezone',
    'holidays',
    'history',
    'latitude',
    'longitude',
  ] as const;
  return sections.filter((name) => JSON.stringify(running[name]) !== JSON.stringify(read[name]));
}

/** Live values, wherever they are: a process that stands by reads no device and asks the one that does. */
export function liveSample(site: Site, memory: PointMemory, role: () => Pick<EngineRole, 'controls' | 'engine'>) {
  const here = createSampler(memory, site.points.length, site.channels.length, systemClock);
  return async () => (role().controls() ? here() : role().engine.ask('sample', null));
}

/** The parameters that rules see now, and the catalogue with them. */
export function parametersInForce(site: Site, initial: Readonly<Record<string, Parameter>>) {
  let current = initial;
  let catalogue = siteCatalogue({ ...site, parameters: initial });
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
