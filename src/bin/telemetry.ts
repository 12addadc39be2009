/**
 * The exporter of traces [platform §4.2]: started only when an OTLP endpoint is configured, because loading it takes
 * longer than all the rest. It reads its settings from `OTEL_*` itself.
 */
import { sleep, systemClock } from '../base/clock.ts';
import { leftOut, optionalLibrary } from '../base/optional-library.ts';
import type { Environment } from './environment.ts';
import { StartError } from './start-error.ts';

export interface Telemetry {
  /** Flushes pending spans; never fails. */
  stop(): Promise<void>;
}

const stopDeadlineMs = 2000;
const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const;

/** Null without an endpoint, or with `OTEL_SDK_DISABLED=true`. Throws `StartError` if the library is not installed. */
export async function startTelemetry(env: Environment): Promise<Telemetry | null> {
  if (env['OTEL_SDK_DISABLED'] === 'true' || endpoints.every((name) => (env[name] ?? '') === '')) return null;
  const library = await optionalLibrary(() => import('@opentelemetry/sdk-node'));
  if (library === null) throw new StartError(leftOut('sending traces', '@opentelemetry/sdk-node'));
  const { NodeSDK } = library;
  // Metrics are fetched by Prometheus, and logs go to standard output.
  const sdk = new NodeSDK({
    serviceName: env['OTEL_SERVICE_NAME'] ?? 'setpoint',
    instrumentations: [],
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return {
    // An endpoint that is gone must not hold the stop.
    stop: () => Promise.race([sdk.shutdown().catch(() => undefined), sleep(systemClock, stopDeadlineMs)]),
  };
}
