/** Everything that a test creates ends with it, the newest first: folders, services, and other clean-up. */
import { onTestFinished } from 'vitest';
import type { DatabaseEngine } from '../../src/testing/engines.ts';
import { startTestService, type TestFolders, type TestService, testFolders, virtualSite } from './running-service.ts';
import { type SiteStorage, storageOn } from './storage-on.ts';

export function afterThisTest(cleanUp: () => unknown): void {
  onTestFinished(async () => void (await cleanUp()));
}

export function folders(site = virtualSite): TestFolders {
  const made = testFolders(site);
  afterThisTest(() => made.remove());
  return made;
}

/** Folders, and where the site that they configure keeps its data. */
export async function storedOn(
  engine: DatabaseEngine,
): Promise<{ readonly of: TestFolders; readonly storage: SiteStorage }> {
  const of = folders();
  const storage = await storageOn(engine, of);
  afterThisTest(() => storage.remove());
  return { of, storage };
}

export async function start(of: TestFolders, more: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const service = await startTestService(of, more);
  afterThisTest(() => service.stop('SIGKILL'));
  return service;
}
