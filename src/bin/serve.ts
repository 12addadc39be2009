/** `npm run serve`: the plain service, configured by `SVC_*` (decisions §1, Commands). */
import { readConfig } from './config.ts';
import { runService } from './run-service.ts';

await runService(() => readConfig(process.env));
