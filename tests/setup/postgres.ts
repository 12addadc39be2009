/**
 * One PostgreSQL server for a run of the tests: the one of SVC_TEST_POSTGRES_URL, or one of its own that starts while the
 * first tests run already. Where the given one has TimescaleDB, the tests of recorded history run on hypertables too.
 */
import type { TestProject } from 'vitest/node';
import { lackingTimescale } from '../../src/testing/hypertables.ts';
import { makePostgres } from '../../src/testing/postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly postgresUrl: string;
    readonly timescaledb: boolean;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['SVC_TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') {
    const lacking = await lackingTimescale(given);
    const said = lacking === null ? 'run' : `are not part of this run: ${lacking}`;
    process.stderr.write(`tests of recorded history on hypertables of TimescaleDB ${said}\n`);
    project.provide('postgresUrl', given);
    project.provide('timescaledb', lacking === null);
    return undefined;
  }
  project.provide('timescaledb', false);
  const server = await makePostgres();
  project.provide('postgresUrl', server.url);
  const started = server.start().catch((error: unknown) => {
    process.stderr.write(`the PostgreSQL of the tests did not start: ${String(error)}\n`);
  });
  return async () => {
    await started;
    await server.stop();
  };
}
