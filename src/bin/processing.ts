/** Data processing of a running service [data-processing §2.1]: read, commissioned, and bound to its sources. */
import { join } from 'node:path';
import type { BoundCapability } from '../api/capability.ts';
import { dataProcessing } from '../api/processing-capabilities.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { readBearer } from '../contract/wire/bearer.ts';
import { createLiveTableReader } from '../points/live-table.ts';
import type { PointMemory } from '../points/shared-memory.ts';
import { processingCapabilities } from '../processing/capabilities.ts';
import { readConfiguration } from '../processing/commission/configuration.ts';
import { keptDigestsFile } from '../processing/commission/kept-digests.ts';
import { watchedPoints } from '../processing/frame/live-tail.ts';
import type { ProcessingLimits } from '../processing/limits.ts';
import { measuredProcessor, type ProcessorMeasures } from '../processing/processor/measured.ts';
import type { Processor } from '../processing/processor/processor.ts';
import { reachProcessor } from '../processing/processor/transport/index.ts';
import { resultCapabilities } from '../processing/results/capabilities.ts';
import type { ForecastDatabase } from '../processing/results/forecast-database.ts';
import { resultKeeper } from '../processing/results/keep.ts';
import { ResultStore } from '../processing/results/result-store.ts';
import { isScheduled, runSchedule, type Schedule } from '../processing/schedule.ts';
import { routeSlots } from '../processing/slots.ts';
import { covariateFiles } from '../processing/source/covariate-file.ts';
import { embeddedHistory } from '../processing/source/embedded-history.ts';
import { LiveTails } from '../processing/source/live-state.ts';
import { upstreamHistory } from '../processing/source/upstream-history.ts';
import type { Site } from '../site/site.ts';
import type { RetentionTime } from '../storage/retention-clock.ts';
import type { ServiceConfig } from './config.ts';
import type { Environment } from './environment.ts';
import type { ServiceHistory } from './history.ts';
import type { CallOf } from './http.ts';
import { StartError } from './start-error.ts';

/** Routes, processors and sources, commissioned against the site. */
export type ReadConfiguration = Extract<ReturnType<typeof readConfiguration>, { readonly ok: true }>;

export interface ProcessingSetup {
  /** Where results are kept. */
  readonly database: ForecastDatabase;
  readonly retention: RetentionTime;
  readonly config: ServiceConfig;
  readonly configuration: ReadConfiguration;
  readonly site: Site;
  readonly memory: PointMemory;
  readonly history: ServiceHistory;
  readonly limits: ProcessingLimits;
  readonly log: Log;
}

export interface ServiceProcessing {
  /** None where it is switched off. */
  readonly capabilities: readonly BoundCapability[];
  /** One entry a processor. */
  measures(): readonly ProcessorMeasures[];
  /** Ends what runs beside the calls. */
  stop(): void;
  /** Runs forecasts that are due, while `isOwn`. */
  schedule(callOf: CallOf, isOwn: () => boolean): Schedule;
}

/** The subject of forecasts that run by themselves. */
const scheduler = 'forecast-schedule';

export const noProcessing: ServiceProcessing = {
  capabilities: [],
  measures: () => [],
  stop: () => undefined,
  schedule: () => ({ cancel: () => undefined, runNow: async () => undefined, failed: () => [] }),
};

/** A configuration that is wrong stops the start; null where processing is switched off. */
export function readProcessing(config: ServiceConfig, site: Site): ReadConfiguration | null {
  if (!isEnabled(config.env)) return null;
  const kept = keptDigestsFile(join(config.dataDir, 'processing-task-digests.json'));
  const found = readConfiguration(join(config.configDir, 'processing'), config.dataDir, site, kept);
  if (!found.ok) throw new StartError(found.lines.map((line) => `processing/${line}`).join('\n'));
  return found;
}

/** Area C of a service in which it is switched on. */
export function startProcessing(setup: ProcessingSetup): ServiceProcessing {
  const { config, configuration: found, site, memory, log } = setup;
  const secret = secretsOf(config.env, log);
  const processors = found.processors.map((settings) => {
    const endpoint = config.processorEndpoints?.[settings.id] ?? settings.endpoint;
    const parts = { clock: systemClock, bearerToken: secret(settings.bearer_token_env, settings.boundary), log };
    return measuredProcessor(reachProcessor({ ...settings, endpoint }, parts), systemClock);
  });
  const { upstreamHistory: upstream } = found;
  const history =
    upstream === null
      ? embeddedHistory(setup.history.reader)
      : upstreamHistory(upstream, {
          clock: systemClock,
          bearerToken: secret(upstream.bearer_token_env ?? null, 'local'),
        });
  const watched = watchedPoints(found.routes);
  const tails = new LiveTails(createLiveTableReader(memory), site.points.length, watched, systemClock);
  const watching = tails.watch(setup.limits.live_tail_poll_ms);
  log.info('data processing is on', { routes: found.routes.length, processors: processors.length });
  const store = new ResultStore(setup.database);
  const results = resultCapabilities({
    routes: found.routes,
    store,
    history,
    limits: setup.limits,
    clock: systemClock,
  });
  const capabilities = processingCapabilities({
    keep: resultKeeper({ store, limits: setup.limits, clock: systemClock, retention: setup.retention, log }),
    routes: found.routes,
    processors,
    processor: (id) => processorOf(processors, id),
    clock: systemClock,
    log,
    limits: setup.limits,
    slots: routeSlots(),
    sources: { history, covariates: covariateFiles },
    live: () => tails,
  });
  return {
    capabilities: [...capabilities, ...results],
    measures: () => processors.map((processor) => processor.measures()),
    stop: () => watching.cancel(),
    schedule(callOf, isOwn) {
      const process = capabilities.find(({ descriptor }) => descriptor === dataProcessing.process);
      if (process === undefined) throw new Error('there is no process call');
      const call = callOf(process, scheduler);
      return runSchedule({ routes: found.routes.filter(isScheduled), clock: systemClock, log, isOwn, call });
    },
  };
}

function isEnabled(env: Environment): boolean {
  const value = env['SVC_DATA_PROCESSING_ENABLED'] ?? 'false';
  if (value !== 'true' && value !== 'false')
    throw new StartError(`SVC_DATA_PROCESSING_ENABLED must be true or false, not "${value}"`);
  return value === 'true';
}

/** Tokens come from the environment by name; a local processor that needs one and gets none says so itself. */
function secretsOf(env: Environment, log: Log) {
  return (name: string | null, boundary: 'local' | 'remote'): string | null => {
    const bearer = readBearer(name, boundary, env);
    if (!bearer.ok) throw new StartError(bearer.reason);
    if (bearer.missing)
      log.warn('the variable named by bearer_token_env is not set; calling the processor without a token', {
        variable: name,
      });
    return bearer.token;
  };
}

function processorOf(processors: readonly Processor[], id: string): Processor {
  const processor = processors.find((candidate) => candidate.id === id);
  if (processor === undefined) throw new Error(`a route leads to ${id}, which commissioning did not find`);
  return processor;
}
