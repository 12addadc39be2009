/** `npm run serve`: the plain service, configured by `SVC_*` [platform §1.2]; `-- --force` uses files that were moved. */
import { readConfig } from './config.ts';
import { runService } from './run-service.ts';
import { StartError } from './start-error.ts';

await runService(() => {
  const [flag, ...more] = process.argv.slice(2);
  if ((flag !== undefined && flag !== '--force') || more.length > 0)
    throw new StartError('usage: npm run serve [-- --force]');
  return { ...readConfig(process.env), force: flag === '--force' };
});
