/**
 * Data processing behind a real gateway on loopback: the load fixture's site and history, its clock stopped at 12:00:01Z
 * of the fixture's day until a test advances it, and a replaceable processor.
 */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Subject } from '../api/capability.ts';
import { type DerivedData, derivedDataSchema } from '../api/processing.ts';
import { systemClock } from '../base/clock.ts';
import { timeIsUp } from '../base/deadline.ts';
import { decoder } from '../base/decode.ts';
import { newId } from '../base/id.ts';
import { silentLog } from '../base/log.ts';
import type { NormalisedRequest } from '../contract/wire/request-decode.ts';
import type { HistoryRow } from '../historian/historian.ts';
import { processingCapabilities } from '../processing/capabilities.ts';
import type { CommissionedRoute } from '../processing/commission/commissioned.ts';
import { type ProcessingLimits, processingLimits } from '../processing/limits.ts';
import type { Processor, ProcessorAnswer } from '../processing/processor/processor.ts';
import { resultCapabilities } from '../processing/results/capabilities.ts';
import { type ForecastDatabase, openForecastDatabase } from '../processing/results/forecast-database.ts';
import { resultKeeper } from '../processing/results/keep.ts';
import { ResultStore } from '../processing/results/result-store.ts';
import { routeSlots } from '../processing/slots.ts';
import { covariateFiles } from '../processing/source/covariate-file.ts';
import { embeddedHistory } from '../processing/source/embedded-history.ts';
import type { HistoryAdapter } from '../processing/source/history-adapter.ts';
import { type LiveState, noLiveState } from '../processing/source/live-state.ts';
import type { DatabaseEngine } from './engines.ts';
import { fallbackProcessor, processBody } from './fallback-processor.ts';
import { historyOn, type TestHistory } from './histories.ts';
import { atPlace, fixtureRows, type LoadEdits, loadRoute } from './load-site.ts';
import { type SimulatedClock, simulatedClock } from './simulated-clock.ts';
import { startTestGateway, type TestGateway, testSubject } from './test-gateway.ts';

const subjects: Readonly<Record<string, Subject>> = {
  ada: testSubject('ada', ['data_processing.read', 'data_processing.run']),
  vera: testSubject('vera', ['data_processing.read']),
  mute: testSubject('mute', []),
  'token-9c1b44': testSubject('operator-7f3a21', ['data_processing.read', 'data_processing.run']),
};

interface SendInit {
  readonly as?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ProcessingGateway {
  readonly gateway: TestGateway;
  readonly history: TestHistory;
  readonly clock: SimulatedClock;
  readonly routes: readonly CommissionedRoute[];
  /** How often history was read, and the processor called. */
  readonly counts: { reads: number; asked: number };
  /** Of the results that it keeps. */
  readonly store: ResultStore;
  send(path: string, init?: SendInit): Promise<Response>;
  process(body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  close(): Promise<void>;
}

export interface GatewayChanges {
  readonly edits?: LoadEdits;
  readonly rows?: readonly HistoryRow[];
  readonly processor?: (route: CommissionedRoute, clock: SimulatedClock) => Processor;
  readonly live?: (clock: SimulatedClock) => LiveState;
  readonly callsPerMinute?: number;
  readonly limits?: Partial<ProcessingLimits>;
  /** Called before each read of history. */
  readonly beforeRead?: (gateway: TestGateway) => void;
}

async function startProcessingGateway(stored: TestHistory, changes: GatewayChanges): Promise<ProcessingGateway> {
  const clock = simulatedClock(atPlace('12:00:01'));
  const route = loadRoute(changes.edits);
  await stored.clear();
  await stored.historian.append(changes.rows ?? fixtureRows());
  const counts = { reads: 0, asked: 0 };
  const inner = (changes.processor ?? fallbackProcessor)(route, clock);
  const processor: Processor = {
    ...inner,
    process(request, signal, leaving) {
      counts.asked++;
      return inner.process(request, signal, leaving);
    },
  };
  const recorded = embeddedHistory(stored.historian);
  const history: HistoryAdapter = {
    read(windows, signal) {
      counts.reads++;
      changes.beforeRead?.(gateway);
      return recorded.read(windows, signal);
    },
  };
  const database = await forecastDatabaseBeside(stored);
  const store = new ResultStore(database);
  const capabilities = processingCapabilities({
    routes: [route],
    processors: [processor],
    processor: () => processor,
    clock,
    log: silentLog,
    limits: processingLimits,
    keep: resultKeeper({ store, limits: processingLimits, clock, retention: { nowMs: clock.wallMs }, log: silentLog }),
    slots: routeSlots(),
    sources: { covariates: covariateFiles, history },
    live: () => changes.live?.(clock) ?? noLiveState,
  });
  const results = resultCapabilities({
    routes: [route],
    store,
    history,
    limits: { ...processingLimits, ...changes.limits },
    clock,
  });
  const gateway = await startTestGateway([...capabilities, ...results], {
    subjects,
    ...(changes.callsPerMinute !== undefined && { limits: { processing_calls_per_minute: changes.callsPerMinute } }),
  });
  const send: ProcessingGateway['send'] = (path, { as = 'ada', headers, ...init } = {}) =>
    fetch(`${gateway.base}/api/v1/data-processing${path}`, {
      ...init,
      headers: { authorization: `Bearer ${as}`, ...headers },
      signal: AbortSignal.timeout(10_000),
    });
  return {
    gateway,
    history: stored,
    clock,
    routes: [route],
    counts,
    send,
    process: (body = processBody, headers = {}) =>
      send('/process', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    store,
    async close() {
      await gateway.server.close();
      await database.close();
    },
  };
}

/** Empty, beside a recorded history, on the same engine. */
async function forecastDatabaseBeside({ place, folder }: TestHistory): Promise<ForecastDatabase> {
  const own = typeof place === 'string' ? join(folder, `${newId()}.sqlite`) : place;
  const database = await openForecastDatabase(own, systemClock, silentLog);
  await database.ready();
  await database.query.deleteFrom('kept_result').execute();
  return database;
}

export type StartGateway = (changes?: GatewayChanges) => Promise<ProcessingGateway>;

/** Starts gateways for the tests of a `describe`, each closed with its test, over one recorded history on this engine. */
export function gatewaysOn(engine: DatabaseEngine): StartGateway {
  const history = historyOn(engine);
  return async (changes = {}) => {
    const site = await startProcessingGateway(history(), changes);
    onTestFinished(() => site.close());
    return site;
  };
}

interface Refusal {
  readonly error: {
    readonly code: string;
    readonly correlationId: string;
    readonly retryable?: boolean;
    readonly retryAfterMs?: number;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}
export const refusalIn = async (response: Response): Promise<Refusal['error']> =>
  ((await response.json()) as Refusal).error;
export const derivedOf = async (response: Response): Promise<DerivedData> => {
  const decoded = decoder(derivedDataSchema)(await response.json());
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.issues));
  return decoded.value;
};
export const outcomes = ({ gateway }: ProcessingGateway): string[] => gateway.entries.map(({ outcome }) => outcome);

/** A processor that records its requests, and answers as told. */
export function told(answer: (request: NormalisedRequest, signal: AbortSignal) => Promise<ProcessorAnswer>): {
  readonly sent: NormalisedRequest[];
  readonly make: () => Processor;
} {
  const sent: NormalisedRequest[] = [];
  return {
    sent,
    make: () => ({
      id: 'load-forecasting-edge',
      async process(request, signal, leaving) {
        if (leaving !== undefined) await leaving();
        sent.push(request);
        return answer(request, signal);
      },
      health: async () => ({ health: 'healthy', latencyMs: 1.23456 }),
    }),
  };
}

/** Waits until its signal aborts, as a connection without an answer does. */
export const hanging = () =>
  told(
    (_request, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          resolve(
            timeIsUp(signal)
              ? { outcome: 'timeout' }
              : { outcome: 'unavailable', reason: 'GONE', retryable: true, retryAfterSeconds: null },
          );
        });
      }),
  );
