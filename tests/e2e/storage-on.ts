/** Where the site of a test keeps its data, on either engine: files of its data dir, or a schema of the run's server that is its own. */
import { join } from 'node:path';
import type { DatabasePlace } from '../../src/storage/database.ts';
import { type DatabaseEngine, runOn, testSchema } from '../../src/testing/engines.ts';
import { type TestFolders, type TestService, waitFor } from './running-service.ts';

export interface SiteStorage {
  /** For everything that is started on the folders. */
  readonly env: Readonly<Record<string, string>>;
  /** Rules and audit. */
  readonly site: DatabasePlace;
  readonly history: DatabasePlace;
  remove(): Promise<void>;
}

export async function storageOn(engine: DatabaseEngine, folders: TestFolders): Promise<SiteStorage> {
  if (engine === 'sqlite') {
    const [site, history] = [join(folders.data, 'site.sqlite'), join(folders.data, 'history.sqlite')];
    return { env: {}, site, history, remove: async () => undefined };
  }
  const site = await testSchema();
  const { postgres_schema: schema } = site.limits;
  folders.write('service.yaml', `storage: { postgres_schema: ${schema} }\n`);
  return {
    env: { SVC_DATABASE_URL: site.url },
    site,
    history: site,
    remove: async () => void (await runOn(site, `DROP SCHEMA IF EXISTS ${schema} CASCADE`)),
  };
}

/** On a server a process has the lease before its rules run. */
export async function rulesRun(service: TestService): Promise<void> {
  await waitFor(async () => (await service.read('/scheduler/status')).status === 200 || undefined);
}
