/** Storage is tested on both database engines (STYLE.md, "Tests"): the exceptions, and why. */
import { expect, test } from 'vitest';
import { opensStorage } from '../setup/suites.ts';
import { repositoryFiles } from './sources.ts';

/** A path, or the common beginning of several, and why the other engine has no part in it. */
const oneEngine: Readonly<Record<string, string>> = {
  'src/historian/embedded-historian.test.ts': 'files that are moved, cut off or locked',
  'src/historian/store/sample-blocks.test.ts': 'blocks, which only files have',
  'src/historian/postgres-historian.test.ts': 'partitions, hypertables, answers in pages, epochs',
  'src/cluster/shared-recording.test.ts': 'recording by one of several machines, which share a server',
  'src/storage/sqlite.test.ts': 'the embedded engine itself',
  'src/storage/postgres.test.ts': 'the server engine itself',
  'src/cluster/mailbox.test.ts': 'messages between machines on a server',
  'src/cluster/lease.test.ts': 'who controls, of several machines on a server',
  'src/databases/backup.test.ts': 'copies of a data dir; a server is backed up by its own means',
  'src/audit/store/migration.test.ts': 'a format that only files had',
  'src/audit/store/index-check.test.ts': 'indexes of a server; files have a check of their own',
  'src/databases/to-postgres.test.ts': 'the move from one engine to the other',
  'src/databases/server-formats.test.ts': 'several machines on a server; files have one service',
  'src/cluster/engine-role.test.ts': 'who controls, of several machines on a server',
  'tests/e2e/shared-history.test.ts': 'several machines on a server',
  'tests/e2e/migrate.test.ts': 'the move from one engine to the other',
  'tests/e2e/identity.test.ts': 'keys and scope are files beside either engine',
  'tests/e2e/stop.test.ts': 'the end beside a server that does not answer, which files cannot be',
  'src/backtest/backtests.test.ts': 'threads and their ends; what they read is tested over HTTP on both',
  'src/automation/open-record-writer.test.ts': 'the thread that stores in files; a server needs none',
  'tests/soak/': 'long runs; audit readers of a file, machines on a server',
};

const suites = repositoryFiles().filter(
  ({ path, text }) =>
    /^(src|tests)\/.*\.test\.ts$/.test(path) && !path.startsWith('tests/tidy/') && opensStorage.test(text),
);
const excused = (path: string): boolean => Object.keys(oneEngine).some((known) => path.startsWith(known));
const onBoth = (text: string): boolean => /\b(describe|test)\.each\((engines|historyEngines)\)/.test(text);

test('suites that open storage run on both engines, or are named with a reason', () => {
  expect(suites.length).toBeGreaterThan(20);
  expect(suites.filter(({ path, text }) => !onBoth(text) && !excused(path)).map(({ path }) => path)).toEqual([]);
});

test('no reason is left for a removed suite, or for one that runs on both', () => {
  const needed = suites.filter(({ text }) => !onBoth(text));
  expect(Object.keys(oneEngine).filter((known) => !needed.some(({ path }) => path.startsWith(known)))).toEqual([]);
});
