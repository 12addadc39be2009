/** That each measurement still runs to its end, at small sizes; what it prints then says nothing about speed. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { compiledOnce } from './running-service.ts';

const folder = join(import.meta.dirname, '..', '..', 'bench');
const benches = readdirSync(folder).filter((file) => file.endsWith('.ts') && file !== 'run.ts');

describe('each bench runs to its end at small sizes', () => {
  test.concurrent.for(benches)('%s', { timeout: 120_000 }, async (file) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', join(folder, file), '--smoke'], {
      env: { ...process.env, ...compiledOnce },
    });
    expect(stdout).toMatch(/\d/);
  });

  test('a size that it does not have is refused', async () => {
    const run = promisify(execFile)(process.execPath, [join(folder, 'scheduler.ts'), '--smoke', 'rule=3']);
    await expect(run).rejects.toThrow('there is no size "rule"; there are rules, ticks');
  });
});
