/** The two database engines for tests. Each database starts empty and is not shared: a file in a folder or a schema of the run's server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { sleep, systemClock } from '../base/clock.ts';
import { newId } from '../base/id.ts';
import type { DatabasePlace } from '../storage/database.ts';
import { connectPostgres, type PostgresPlace } from '../storage/postgres.ts';
import { type StorageLimits, storageLimits } from '../storage/server-limits.ts';

export type DatabaseEngine = 'sqlite' | 'postgres';
export const engines: readonly DatabaseEngine[] = ['sqlite', 'postgres'];

export interface TestPlaces {
  /** For files, whatever the engine. */
  readonly folder: string;
  readonly site: DatabasePlace;
  readonly runtime: DatabasePlace;
  remove(): Promise<void>;
}

const startDeadlineMs = 60_000;
const pollMs = 50;

export async function testPlaces(engine: DatabaseEngine): Promise<TestPlaces> {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-places-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  if (engine === 'sqlite') {
    return {
      folder,
      site: join(folder, 'site.sqlite'),
      runtime: join(folder, 'runtime.sqlite'),
      remove: async () => removeFolder(),
    };
  }
  const place = await testSchema();
  return {
    folder,
    site: place,
    runtime: place,
    async remove() {
      await runOn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
      removeFolder();
    },
  };
}

/** An unused schema on a server that answers. */
export async function testSchema(more: Partial<StorageLimits> = {}): Promise<PostgresPlace> {
  const schema = `test_${newId().replaceAll('-', '')}`;
  const place = {
    url: inject('postgresUrl'),
    limits: { ...storageLimits, ...more, postgres_schema: schema, connections_max: 4 },
  };
  const untilMs = systemClock.monotonicMs() + startDeadlineMs;
  for (;;) {
    try {
      await runOn(place, 'SELECT 1');
      return place;
    } catch (error) {
      if (systemClock.monotonicMs() > untilMs) throw error;
      await sleep(systemClock, pollMs);
    }
  }
}

/** A statement sent directly to the server. */
export async function runOn(place: PostgresPlace, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const server = connectPostgres(place, 'site');
  try {
    const connection = await server.connect();
    try {
      return await connection.run(text);
    } finally {
      connection.release(true);
    }
  } finally {
    await server.close();
  }
}
