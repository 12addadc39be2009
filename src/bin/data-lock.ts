/**
 * One service per data folder: an exclusive lock on `service.lock`, held by the operating system for as long as the
 * process lives. A killed process leaves nothing to clean up.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface DataLock {
  release(): void;
}

/** The lock, or null if another process holds it. */
export function lockDataFolder(folder: string): DataLock | null {
  const lock = new DatabaseSync(join(folder, 'service.lock'));
  try {
    lock.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return null;
    throw error;
  }
  return { release: () => lock.close() };
}
