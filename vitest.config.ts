import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** What a test waits for mostly comes at once; on a loaded machine it may take seconds. */
const expectation = { poll: { timeout: 15_000 } };

/**
 * Projects: `unit` is quick and runs in `check`; `e2e` starts real processes and servers on loopback; `console` needs a
 * Chromium; `soak` is long.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          globalSetup: 'tests/setup/postgres.ts',
          include: [
            'src/**/*.test.ts',
            'console/src/**/*.test.ts',
            'tests/tidy/**/*.test.ts',
            'tests/docs/rule-reference.test.ts',
          ],
          testTimeout: 30_000,
          expect: expectation,
          // No module keeps state between tests: files share what is loaded, which saves a third of the work.
          isolate: false,
          // One more than cores: some wait for timers of their own.
          maxWorkers: availableParallelism() + 1,
        },
      },
      {
        test: {
          name: 'e2e',
          globalSetup: ['tests/setup/postgres.ts', 'tests/setup/program.ts'],
          include: ['tests/{e2e,simulation,world}/**/*.test.ts', 'tests/docs/guides.test.ts'],
          testTimeout: 60_000,
          expect: expectation,
          hookTimeout: 60_000,
          // They mostly wait for processes and timers of their own.
          maxWorkers: 2,
          maxConcurrency: 3,
        },
      },
      {
        test: {
          name: 'console',
          include: ['tests/console/**/*.test.ts'],
          globalSetup: ['tests/console/prepare.ts', 'tests/setup/program.ts'],
          testTimeout: 120_000,
          // A browser on a loaded machine loses a click now and then; the run says which test it had to repeat.
          retry: 1,
          expect: expectation,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'soak',
          include: ['tests/soak/**/*.test.ts'],
          globalSetup: ['tests/setup/postgres.ts', 'tests/console/prepare.ts', 'tests/setup/program.ts'],
          testTimeout: 3_600_000,
          expect: expectation,
          fileParallelism: false,
        },
      },
    ],
  },
});
