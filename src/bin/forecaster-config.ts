/** The configuration of the forecaster [platform §1.2]: `SVC_FORECASTER_*` and `SVC_LOG_LEVEL`. */
import type { LogLevel } from '../base/log.ts';
import type { TaskDeclaration } from '../contract/task/declaration.ts';
import { readTaskFolder } from '../forecaster/service/read-tasks.ts';
import { readLogLevel, readPort } from './config.ts';
import { type Environment, refuseMisspelt, settingOf } from './environment.ts';
import { StartError } from './start-error.ts';

interface ForecasterConfig {
  readonly host: string;
  readonly port: number;
  readonly bearerToken: string | null;
  readonly declarations: readonly TaskDeclaration[];
  readonly logLevel: LogLevel;
}

const defaultPort = 8989;

/** Throws messages for the operator. */
export function readForecasterConfig(env: Environment): ForecasterConfig {
  refuseMisspelt(env);
  const port = readPort(env, 'SVC_FORECASTER_PORT', defaultPort);
  const logLevel = readLogLevel(env);
  const folder = env['SVC_FORECASTER_TASKS'];
  if (folder === undefined || folder === '')
    throw new StartError('SVC_FORECASTER_TASKS must name the folder of the task declarations to serve');
  const bearerToken = env['SVC_FORECASTER_BEARER_TOKEN'] ?? null;
  // A variable that is set but empty is an error: without a token the forecaster would be open.
  if (bearerToken !== null && !/^[!-~]+$/.test(bearerToken))
    throw new StartError('SVC_FORECASTER_BEARER_TOKEN must hold a token of printable characters without spaces');
  return {
    host: settingOf(env, 'SVC_FORECASTER_HOST', '127.0.0.1'),
    port,
    bearerToken,
    declarations: readTaskFolder(folder),
    logLevel,
  };
}
