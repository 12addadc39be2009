/** The example of a processor in docs/processor-contract, which is in Python: all that a forecast needs holds. */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readTask } from '../../src/contract/task/read.ts';
import { checkProcessor } from '../../src/processor-kit/conformance/check-processor.ts';
import { ownPort } from '../../src/testing/own-port.ts';
import { afterThisTest } from './per-test.ts';
import { waitFor } from './running-service.ts';

const isThere = spawnSync('python3', ['--version']).status === 0;
if (!isThere) process.stderr.write('python3 is not installed: the test of the example in Python does not run\n');
const root = join(import.meta.dirname, '..', '..');

test.runIf(isThere || process.env['REQUIRE_PYTHON'] === '1')(
  '[processor §3] valid requests are answered by the contract',
  async () => {
    const port = await ownPort();
    const file = join(root, 'docs', 'processor-contract', 'processor.py');
    const running = spawn('python3', [file, String(port)], { stdio: 'ignore' });
    afterThisTest(() => running.kill());
    const endpoint = new URL(`http://127.0.0.1:${port}/`);
    await waitFor(async () => (await fetch(new URL('v1/health', endpoint)).catch(() => null))?.ok === true);
    const target = { endpoint, bearerToken: null, requestTimeoutMs: 10_000, clock: systemClock };
    const path = join(root, 'config', 'demo', 'processing', 'tasks', 'load-day-ahead.yaml');
    const lines = await checkProcessor(target, readTask(readFileSync(path, 'utf8'), path).value);
    const needed = lines.filter(({ part }) => part !== 'hostile requests');
    expect(needed.filter(({ passed }) => !passed)).toEqual([]);
    expect(needed.length).toBeGreaterThan(10);
  },
);
