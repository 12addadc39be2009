/** Creates the handlers of rules and points for this process. */
import type { AutomationParts } from '../automation/automation-parts.ts';
import { automationCapabilities } from '../automation/capabilities.ts';
import { parameterCapabilities } from '../automation/parameters.ts';
import type { ParametersInForce } from '../automation/parameters-in-force.ts';
import { createAuthorityReader } from '../automation/store/authority-store.ts';
import type { ParameterStore } from '../automation/store/parameter-store.ts';
import { createRevisionReader } from '../automation/store/revision-store.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import { createRunReader } from '../automation/store/run-store.ts';
import type { RuntimeDatabase } from '../automation/store/runtime-database.ts';
import type { Backtests } from '../backtest/backtests.ts';
import { backtestCapabilities } from '../backtest/capabilities.ts';
import { systemClock } from '../base/clock.ts';
import { sha256Hex } from '../base/digest.ts';
import type { Log } from '../base/log.ts';
import type { EngineRole } from '../cluster/engine-role.ts';
import { operatorCapabilities } from '../operator/capabilities.ts';
import { channelCapabilities } from '../operator/channel-capabilities.ts';
import { type SiteOperatorParts, type SiteReload, siteCapabilities } from '../operator/site-capabilities.ts';
import { createLiveTableReader } from '../points/live-table.ts';
import type { TableSample } from '../points/sample.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import { flowLimits } from '../rules/limits.ts';
import type { Site } from '../site/site.ts';
import { changedSections, siteChange } from '../site/site-change.ts';
import type { ReadSite } from '../site/site-in-force.ts';
import { createSnapshot, type Snapshot } from '../site/snapshot.ts';
import type { Database } from '../storage/database.ts';
import type { ServiceAlarms } from './alarms.ts';
import type { ServiceConfig, ServiceLimits } from './config.ts';
import { historyDatabase, runtimeDatabase } from './databases.ts';
import type { ServiceHistory } from './history.ts';
import { readSiteNow, readSiteText, siteOf, writeSiteText } from './site-file.ts';

interface HandlerParts {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: ReadSite;
  readonly database: Database;
  readonly runtime: RuntimeDatabase;
  readonly log: Log;
  readonly memory: PointMemory;
  readonly sample: () => Promise<TableSample | null>;
  readonly store: RuleStore;
  readonly role: EngineRole;
  readonly history: ServiceHistory;
  readonly parameters: ParametersInForce;
  /** Parameter values that override the site file. */
  readonly stored: ParameterStore;
  readonly alarms: ServiceAlarms;
  readonly backtests: Backtests;
  readonly reload: SiteReload;
}

export function siteHandlers(parts: HandlerParts) {
  return [
    ...ruleHandlers(parts),
    ...pointHandlers(parts),
    ...parts.alarms.capabilities,
    ...siteCapabilities({ file: siteFile(parts.config), reload: parts.reload }),
  ];
}

function siteFile(config: ServiceConfig): SiteOperatorParts['file'] {
  return {
    text: () => readSiteText(config.configDir),
    revisionOf: sha256Hex,
    read: (text) => siteOf(text, config),
    write: (text) => writeSiteText(config.configDir, text),
  };
}

function ruleHandlers(parts: HandlerParts) {
  const { config, limits, site, database, runtime, log, history, memory, store, role, parameters, stored } = parts;
  const automation: AutomationParts = {
    clock: systemClock,
    flowLimits: { ...flowLimits, windowSamplesMaximum: limits.automation.window_samples_maximum },
    store,
    tickIntervalMs: limits.automation.tick_interval_ms,
    requireTests: limits.rules.require_tests,
    revisions: createRevisionReader(database),
    runs: createRunReader(runtime),
    engine: role.engine,
    site,
    catalogue: parameters.catalogue,
    parameters,
    readFile: async () => {
      const read = await readSiteNow(config);
      return { parameters: read.parameters, otherChanges: otherChanges(site(), read) };
    },
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
    settleHistory: (series) => history.recording.settle(series),
    runtime: runtimeDatabase(config, limits.storage),
  });
  return [...automationCapabilities(automation), ...tried, ...parameterCapabilities({ ...automation, stored })];
}

function pointHandlers({ limits, site, runtime, history, sample, store, role, parameters }: HandlerParts) {
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
  return [...operator, ...channelCapabilities({ site, sample, devices, controls: () => role.controls() })];
}

/** Changes of the site file other than parameters. */
function otherChanges(running: Site, read: Site): string[] {
  const found = siteChange(running, read);
  if (!found.ok) return [...found.issues];
  const sections = changedSections(found.change);
  return sections.length === 0 ? [] : [`changed in site.yaml and not applied: ${sections.join(', ')}`];
}

function snapshotReader(site: ReadSite, memory: PointMemory): () => Snapshot | null {
  const reader = createLiveTableReader(memory);
  return () => {
    const snapshot = createSnapshot(site().points.length);
    return reader.copyInto(snapshot, systemClock) ? snapshot : null;
  };
}
