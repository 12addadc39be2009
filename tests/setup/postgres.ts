/**
 * One PostgreSQL server for a run of the tests: the one of SVC_TEST_POSTGRES_URL, or one of its own that starts while the
 * first tests run already.
 */
import type { TestProject } from 'vitest/node';
import { makePostgres } from '../../src/testing/postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly postgresUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['SVC_TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given);
    return undefined;
  }
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
