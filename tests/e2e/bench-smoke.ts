/** A measurement at small sizes, in a process of its own. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compiledOnce, root } from './running-service.ts';

const benchFolder = join(root, 'bench');

export const benches = readdirSync(benchFolder).filter((file) => file.endsWith('.ts') && file !== 'run.ts');

/** The output; throws when it failed. */
export async function smoke(file: string, ...sizes: readonly string[]): Promise<string> {
  const args = ['--expose-gc', join(benchFolder, file), '--smoke', ...sizes];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...compiledOnce } });
  return stdout;
}
