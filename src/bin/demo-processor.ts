/** The demo's processor (decisions §1, Commands): the named fallbacks, served on loopback beside the service. */
import { join } from 'node:path';
import { forecastContractId } from '../api/processing.ts';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { readTasks } from '../processing/configuration.ts';
import { fallbackWork } from '../processing/server/fallback-work.ts';
import { defaultServerLimits } from '../processing/server/limits.ts';
import { type ProcessorServer, serveProcessor } from '../processing/server/serve.ts';
import { type ServiceConfig, StartError } from './config.ts';

const processor = { id: 'setpoint-fallbacks', version: '1.0.0', contract: forecastContractId };
const host = '127.0.0.1';
const defaultPort = 8989;

/** The endpoints of the demo's processors, by id, once they listen. */
export async function startDemoProcessor(config: ServiceConfig): Promise<Readonly<Record<string, string>>> {
  const wanted = config.env['SVC_FORECASTER_PORT'];
  if (wanted !== undefined && !/^(0|[1-9][0-9]{0,4})$/.test(wanted))
    throw new StartError(`SVC_FORECASTER_PORT must be a port number from 0 to 65535, not "${wanted}"`);
  const served = {
    processor,
    declarations: readTasks(join(config.configDir, 'processing', 'tasks')),
    limits: defaultServerLimits,
    bearerToken: null,
    clock: systemClock,
    log: createLog(config.logLevel, { service: 'setpoint', area: 'demo-processor' }),
    work: fallbackWork,
    condition: () => 'degraded' as const,
    knowsArtifact: () => false,
  };
  const listen = (port: number): Promise<ProcessorServer> => serveProcessor(served, { host, port });
  const server = await listen(Number(wanted ?? defaultPort)).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    if (wanted !== undefined) throw new StartError(`${host}:${wanted}: the port is in use`);
    // Nobody asked for this port: any other will do.
    return listen(0);
  });
  return { [processor.id]: `http://${host}:${server.port}/` };
}
