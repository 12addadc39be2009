/**
 * `npm run world:planted [NAME…]`: whether the world finds past defects. Each patch of `planted/` is applied to a copy of the
 * source, and seeds are tried on it until one fails. Prints how long each took; exits 1 when one is not found in its time.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const folder = join(import.meta.dirname, 'planted');
/** Minutes: on a busy machine the rarest need more than two. */
const minutesEach = 4;
const chosen = process.argv.slice(2);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** The output of the search on the patched copy, or null when it found nothing. */
function found(name: string): string | null {
  const copy = mkdtempSync(join(tmpdir(), 'setpoint-planted-'));
  try {
    for (const part of ['src', 'tests/world', 'package.json', 'tsconfig.json'])
      cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const patched = spawnSync('git', ['apply', join(folder, `${name}.patch`)], { cwd: copy, encoding: 'utf8' });
    if (patched.status !== 0) throw new Error(`${name}.patch does not apply: ${patched.stderr}`);
    const args = ['tests/world/run.ts', '--search', String(minutesEach), '--hours', '0.25', '--first'];
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8' });
    return status === 0 ? null : (/VIOLATION .*/.exec(stdout)?.[0] ?? stdout);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const names = readdirSync(folder)
  .map((file) => file.replace(/\.patch$/, ''))
  .filter((name) => chosen.length === 0 || chosen.includes(name));
const begunMs = performance.now();
let missed = 0;
for (const name of names) {
  const startedMs = performance.now();
  const violation = found(name);
  if (violation === null) missed++;
  print(`${name}: ${((performance.now() - startedMs) / 1000).toFixed(1)} s: ${violation ?? 'NOT FOUND'}`);
}
print(`${names.length - missed} of ${names.length} found in ${((performance.now() - begunMs) / 1000).toFixed(0)} s`);
process.exitCode = missed === 0 ? 0 : 1;
