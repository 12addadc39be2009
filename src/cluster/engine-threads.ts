/** The threads of a process that may control a site, device layer and rule engine, and what they are made of. */
import { type ContendingEngine, createEngineClient, type EngineClientParts } from '../automation/engine-client.ts';
import type { AutomationLimits } from '../automation/limits.ts';
import type { LiveStream } from '../automation/live-stream.ts';
import type { ParametersInForce, SiteParameters } from '../automation/parameters-in-force.ts';
import { startEngineWorker } from '../automation/start-engine.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import type { RunStore } from '../automation/store/run-store.ts';
import { systemClock } from '../base/clock.ts';
import type { Log, LogLevel } from '../base/log.ts';
import { type DeviceLayer, startDeviceLayer } from '../devices/device-layer.ts';
import type { DeviceLimits } from '../devices/limits.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import type { ReadSite } from '../site/site-in-force.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { RetentionCell } from '../storage/retention-clock.ts';
import type { SharedRecording } from './shared-recording.ts';

/** The start parameters of a process that may control. */
interface RoleSettings {
  readonly dataDir: string;
  readonly configDir: string;
  readonly logLevel: LogLevel;
  /** Secrets of channels come from the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly roles: { readonly engine: boolean };
}

export interface EngineRoleParts {
  readonly config: RoleSettings;
  /** As other processes of the site see it on their database server. */
  readonly processName: string;
  readonly site: ReadSite;
  readonly memory: PointMemory;
  readonly limits: {
    readonly automation: AutomationLimits;
    readonly devices: DeviceLimits;
    readonly alarms: { readonly clock_differs_ms: number };
  };
  readonly store: RuleStore;
  readonly stream: Pick<LiveStream, 'publish' | 'renew'>;
  /** Overrides and limits of the engine in this process have ended. */
  readonly onGrantsEnded: EngineClientParts['onGrantsEnded'];
  /** Of the rules' history and state. */
  readonly runtime: DatabasePlace;
  readonly retention: RetentionCell;
  readonly runs: Pick<RunStore, 'restore'>;
  /** Of measurements, while this process controls a site that is shared. */
  readonly recording: () => Pick<SharedRecording, 'begin' | 'end'> | null;
  readonly parameters: ParametersInForce;
  /** Reads parameters from site.yaml; throws a Fault if it is invalid now. */
  readonly readParameters: () => Promise<SiteParameters>;
  readonly log: Log;
}

export function startDevices({ config, site, memory, limits, log }: EngineRoleParts, idle: boolean): DeviceLayer {
  const { configDir, dataDir, logLevel } = config;
  return startDeviceLayer({
    site: site(),
    memory,
    clock: systemClock,
    log: log.with({ area: 'devices' }),
    logLevel,
    limits: limits.devices,
    idle,
    configDir,
    dataDir,
    secret: (variable) => config.env[variable],
  });
}

export function startEngine(
  parts: EngineRoleParts,
  database: DatabasePlace,
  onExecutions: LiveStream['publish'],
  onStart: () => void,
): ContendingEngine {
  const { config, site, memory, limits } = parts;
  const setup = { memory, database, dataFolder: config.dataDir, retention: parts.retention, limits: limits.automation };
  return createEngineClient({
    start: (parameters) => startEngineWorker({ ...setup, site: { ...site(), parameters } }, config.logLevel),
    rules: parts.store,
    parameters: parts.parameters.current(),
    clock: systemClock,
    log: parts.log.with({ area: 'automation' }),
    limits: limits.automation,
    onExecutions,
    onGrantsEnded: parts.onGrantsEnded,
    onStart,
    reloads: typeof database !== 'string',
  });
}
