/** Builds the program that the tests start: what a site runs, and it starts in half the time of the sources. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { builtProgram, root } from '../e2e/running-service.ts';

export function setup(): void {
  execFileSync(process.execPath, [join(root, 'setup', 'build.ts'), builtProgram], { cwd: root, stdio: 'pipe' });
}
