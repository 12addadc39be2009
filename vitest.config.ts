import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { repeatedTests } from './tests/setup/repeated.ts';
import { integrationSuites, unitSuites } from './tests/setup/suites.ts';

/** What a test waits for mostly comes at once; on a loaded machine it may take seconds. */
const expectation = { poll: { timeout: 15_000 } };

const besideTheCode = {
  testTimeout: 30_000,
  expect: expectation,
  // No module keeps state between tests: files share what is loaded, which saves a third of the work.
  isolate: false,
  // One more than cores: some wait for timers of their own.
  maxWorkers: availableParallelism() + 1,
};

/**
 * Projects: `unit` is quick and runs in `check`; `integration` has the other suites beside the code, with real storage and servers; `e2e`
 * starts real processes; `console` needs a Chromium; `soak` is long.
 */
export default defineConfig({
  test: {
    reporters: ['default', repeatedTests],
    projects: [
      {
        test: {
          ...besideTheCode,
          name: 'unit',
          include: [...unitSuites],
        },
      },
      {
        test: {
          ...besideTheCode,
          name: 'integration',
          globalSetup: 'tests/setup/postgres.ts',
          include: [...integrationSuites],
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
          // As beside the code: loading everything again for each file is a tenth of the work.
          isolate: false,
          // They mostly wait for processes and timers of their own.
          maxWorkers: availableParallelism() + 1,
          maxConcurrency: 3,
        },
      },
      {
        test: {
          name: 'console',
          include: ['tests/console/**/*.test.ts'],
          globalSetup: ['tests/console/prepare.ts', 'tests/setup/program.ts'],
          testTimeout: 120_000,
          // A browser on a loaded machine sometimes loses a click; the run prints each repeated test with the reason. Errors and console
          // messages of the page, and axe findings, fail at once.
          retry: { count: 1, condition: /^(?!.*(the page threw|to deeply equal \[\]))/s },
          expect: expectation,
          hookTimeout: 60_000,
          maxWorkers: availableParallelism() + 1,
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
