/** Starts the HTTP side of a service: routes, metrics, traces, live socket, console. */

import type { BoundCapability } from '../api/capability.ts';
import type { LiveStream } from '../automation/live-stream.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { addConsole } from '../gateway/console-files.ts';
import { addLiveSocket } from '../gateway/live-socket.ts';
import { type Metrics, metricsCapability } from '../gateway/metrics.ts';
import { addApiDescription } from '../gateway/openapi-routes.ts';
import { type OwnCall, ownCall } from '../gateway/own-call.ts';
import { addProviderRoutes, type ProviderRoutes } from '../gateway/provider-routes.ts';
import { createRateLimits } from '../gateway/rate-limit.ts';
import { type ReadyChecks, readyCapability } from '../gateway/ready.ts';
import { RefusalTally } from '../gateway/refusal-tally.ts';
import { createServer, type Server, type ServerParts } from '../gateway/server.ts';
import { traceRequests } from '../gateway/tracing.ts';
import { healthCapability } from '../platform/health.ts';
import { metadataCapability } from '../platform/metadata.ts';
import type { Schedule } from '../processing/schedule.ts';
import { codeOf, type ServiceConfig, type ServiceLimits } from './config.ts';
import { addMeasurements, type MeasuredParts, measuredLimits } from './measurements.ts';
import type { Opened } from './opened.ts';
import { StartError } from './start-error.ts';
import { startTelemetry } from './telemetry.ts';
import { packageVersion } from './version.ts';

export interface HttpParts extends Pick<ServerParts, 'identity' | 'audit' | 'site' | 'capabilities'> {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly log: Log;
  readonly opened: Opened;
  readonly metrics: Metrics;
  readonly checks: ReadyChecks;
  readonly stream: LiveStream;
  readonly measured: MeasuredParts;
  /** Starts the service's own calls. */
  readonly schedule: (callOf: CallOf) => Schedule;
  /** Null without a sign-in provider. */
  readonly provider: Pick<ProviderRoutes, 'begin' | 'finish'> | null;
}

/** A capability for the service's own calls, under this name. */
export type CallOf = (bound: BoundCapability, name: string) => OwnCall;

export interface Serving {
  readonly host: string;
  readonly port: number;
  /** `METHOD path` of every route. */
  readonly routes: ReadonlySet<string>;
  /** The scheduled forecasts. */
  readonly schedule: Schedule;
}

export async function serveHttp(parts: HttpParts): Promise<Serving> {
  const { config, limits, log, opened, metrics, stream, identity, audit, site } = parts;
  const rateLimits = measuredLimits(createRateLimits(limits.http), metrics);
  const capabilities = [
    healthCapability(packageVersion()),
    metadataCapability(),
    readyCapability(parts.checks, systemClock),
    metricsCapability(metrics),
    ...(config.roles.api ? parts.capabilities : []),
  ];
  const server = serverOf({
    capabilities,
    identity,
    audit,
    site,
    rateLimits,
    log,
    limits: limits.http,
    clock: systemClock,
  });
  metrics.observe(server.fastify);
  addMeasurements(metrics, parts.measured);
  await traced(server, config, opened);
  const described = capabilities.map(({ descriptor }) => descriptor);
  addApiDescription(server, described, packageVersion());
  const messageBytesMax = limits.automation.stream_message_bytes;
  await addLiveSocket(server, { stream, rateLimits, log, messageBytesMax });
  if (parts.provider !== null) addProviderRoutes(server, { ...parts.provider, rateLimits, log });
  if (!(await addConsole(server))) log.warn('console not built; run npm run prepare');
  opened.add(() => server.close());
  // Its own calls are rarely refused.
  const refusals = new RefusalTally(systemClock, log, limits.http);
  const pipeline = { identity, audit, site, rateLimits, refusals, clock: systemClock, log };
  const schedule = parts.schedule((bound, name) => ownCall(bound, name, pipeline));
  opened.add(() => schedule.cancel());
  // Before the server, which waits for its connections to end.
  opened.add(() => stream.close());
  return { ...(await listen(server, config)), routes: server.routes, schedule };
}

/** An invalid proxy is detected when the server is created. */
function serverOf(parts: ServerParts): Server {
  try {
    return createServer(parts);
  } catch (error) {
    if (error instanceof TypeError && parts.limits.trusted_proxies.length > 0)
      throw new StartError(`service.yaml: http.trusted_proxies: ${error.message}`);
    throw error;
  }
}

/** Spans of requests, if an exporter is configured. */
async function traced({ fastify }: Server, config: ServiceConfig, opened: Opened): Promise<void> {
  const telemetry = await startTelemetry(config.env);
  if (telemetry === null) return;
  traceRequests(fastify);
  opened.add(() => telemetry.stop());
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
