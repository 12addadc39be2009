/**
 * `npm run bench [NAME…]`: runs the measurements, each in a process of its own so that none warms or starves another.
 * `npm run bench -- --smoke` runs them at small sizes, `npm run bench NAME size=value` at others (`fixture/sizes.ts`).
 * `npm run bench -- --against COMMIT [NAME…]` runs both commits in turn and fails when a figure got slower by more than 5%.
 * Every figure is a ratio to a peer, or a share of a limit, measured in the same run: the machines are shared.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { benchAgainst } from './fixture/against.ts';

const folder = import.meta.dirname;
const all = process.argv.slice(2);
const against = all.includes('--against') ? (all[all.indexOf('--against') + 1] ?? '') : null;
const given = all.filter((each, at) => each !== '--against' && all[at - 1] !== '--against');
const chosen = given.filter((each) => !isSize(each));
const sizes = given.filter(isSize);
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.slice(0, -'.ts'.length))
  .filter((name) => chosen.length === 0 || chosen.includes(name));

console.log(`node ${process.version}, ${availableParallelism()} cores`);
if (against === null) runEach();
else process.exitCode = benchAgainst(against, names, sizes) === 0 && names.length > 0 ? 0 : 1;

function runEach(): void {
  let failed = 0;
  for (const name of names) {
    console.log(`\n== ${name}`);
    const result = spawnSync(process.execPath, ['--expose-gc', join(folder, `${name}.ts`), ...sizes], {
      stdio: 'inherit',
    });
    if (result.status !== 0) failed++;
  }
  process.exitCode = failed === 0 && names.length > 0 ? 0 : 1;
}

function isSize(argument: string): boolean {
  return argument === '--smoke' || argument.includes('=');
}
