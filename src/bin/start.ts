/**
 * `npm start`: the demo site of config/demo [platform §1.2]. It is the plain service with other defaults. When
 * there are no rules, those of the demo are imported and enabled; a second start continues where the first one stopped.
 */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { fillDemoHistory } from '../demo/demo-history.ts';
import { startDemoProcessor } from '../demo/demo-processor.ts';
import { installDemoRules } from '../demo/demo-rules.ts';
import { demoScreen } from '../demo/demo-screen.ts';
import { startDemoWeather } from '../demo/demo-weather.ts';
import { readConfig, type ServiceConfig } from './config.ts';
import type { Environment } from './environment.ts';
import { runService } from './run-service.ts';
import { isForOperator, StartError } from './start-error.ts';

const demoFolder = join(import.meta.dirname, '..', '..', 'config', 'demo');
/** The fastest replay that the simulated driver takes. */
const speedMax = 3600;

/** `--speed N` replays the measured series N times as fast; nothing else is taken. */
function readSpeed(args: readonly string[]): number | undefined {
  const [flag, text, ...more] = args.flatMap((arg) => arg.split('='));
  if (flag === undefined) return undefined;
  const speed = /^[0-9]{1,4}(\.[0-9]{1,3})?$/.test(text ?? '') ? Number(text) : 0;
  if (flag !== '--speed' || more.length > 0 || speed < 1 || speed > speedMax)
    throw new StartError(`usage: npm start -- --speed N, with N from 1 to ${speedMax}`);
  return speed;
}

async function demoConfig(env: Environment, args: readonly string[]): Promise<ServiceConfig> {
  const replaySpeed = readSpeed(args);
  // The screen below is for a person: of the log only warnings stand beside it.
  const defaults = { SVC_CONFIG_DIR: demoFolder, SVC_LOG_LEVEL: 'warn', SVC_DATA_PROCESSING_ENABLED: 'true' };
  const config = readConfig({ ...defaults, ...env });
  const paced = replaySpeed === undefined ? config : { ...config, replaySpeed };
  if (config.env['SVC_DATA_PROCESSING_ENABLED'] !== 'true') return paced;
  return { ...paced, processorEndpoints: await startDemoProcessor(paced) };
}

/** From here on the service records itself. */
const startedMs = systemClock.wallMs();
let config: ServiceConfig | undefined;
const service = await runService(async () => (config = await demoConfig(process.env, process.argv.slice(2))));
if (config === undefined) throw new Error('the service runs without a configuration');
const { configDir, dataDir } = config;
startDemoWeather(service.site, configDir, dataDir, service.log);
// The screen does not wait for it: what forecasts read is there a second later.
const filled = fillDemoHistory(service.history, service.site, configDir, startedMs).then(
  () => service.log.info('demo history filled', { took_ms: systemClock.wallMs() - startedMs }),
  (error: unknown) => service.log.warn('cannot fill the demo history', { error: String(error) }),
);
try {
  const isFirst = await installDemoRules(service, configDir);
  // Its schedules begin at the next quarter hour: whoever looks before that would find none.
  if (isFirst) void filled.then(() => service.schedule.runNow());
  process.stdout.write(await demoScreen(service, config));
} catch (error) {
  if (!isForOperator(error)) throw error;
  process.stderr.write(`setpoint: ${error.message.replaceAll('\n', '\nsetpoint: ')}\n`);
  await service.stop();
  process.exit(1);
}
