/** The demo's processor [platform §1.2]: the forecaster, on loopback beside the service. */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { readPort, type ServiceConfig } from '../bin/config.ts';
import { StartError } from '../bin/start-error.ts';
import { packageVersion } from '../bin/version.ts';
import { startForecaster } from '../forecaster/service/start-forecaster.ts';
import { readTasks } from '../processing/commission/configuration.ts';

const processorId = 'setpoint-forecaster';
const host = '127.0.0.1';
const defaultPort = 8989;
/** One thread: the demo shares the machine with other programs. */
const workers = 1;

/** The endpoints of the demo's processors, by id, once they listen. */
export async function startDemoProcessor(config: ServiceConfig): Promise<Readonly<Record<string, string>>> {
  const wanted = config.env['SVC_FORECASTER_PORT'];
  const setup = {
    host,
    declarations: readTasks(join(config.configDir, 'processing', 'tasks')),
    bearerToken: null,
    version: packageVersion(),
    workers,
    clock: systemClock,
    log: createLog(config.logLevel, { service: 'setpoint', area: 'demo-forecaster' }),
  };
  const listen = (port: number) => startForecaster({ ...setup, port });
  const forecaster = await listen(readPort(config.env, 'SVC_FORECASTER_PORT', defaultPort)).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    if (wanted !== undefined) throw new StartError(`${host}:${wanted}: the port is in use`);
    // Nobody asked for this port: any other will do.
    return listen(0);
  });
  return { [processorId]: `http://${host}:${forecaster.port}/` };
}
