/** Before the console's tests: builds the console as `npm ci` does, here with NODE_ENV=test, and reports a missing Chromium. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../e2e/running-service.ts';
import { chromiumPath } from './browser.ts';

export function setup(): void {
  if (chromiumPath === undefined) {
    const message =
      'there is no Chromium on this machine: the tests of the console do not run (set CHROMIUM to its path)';
    if (process.env['REQUIRE_CHROMIUM'] === '1') throw new Error(message);
    process.stderr.write(`${message}\n`);
    return;
  }
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  execFileSync(
    process.execPath,
    [vite, 'build', 'console', '--config', 'console/vite.config.ts', '--logLevel', 'warn'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
}
