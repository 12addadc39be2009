/**
 * The runtime database: history and rule state. A power loss may cost the latest writes, never their order, and nothing that was synced.
 */
import type { Transaction } from 'kysely';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { type DatabasePlace, type Handle, openHandle } from '../../storage/database.ts';
import { syncCommits } from '../../storage/sqlite.ts';
import { type RuntimeTables, runtimeSchema } from './runtime-schema.ts';

export interface RuntimeDatabase extends Handle<RuntimeTables> {
  /** Whether the epoch of this handle is still current, and stays so until the end of the transaction. */
  isCurrent(transaction: Transaction<RuntimeTables>): Promise<boolean>;
  /**
   * Flushes commits to the disk; a server does so with each commit. Throws Fault `storage-unavailable` on failure.
   */
  sync(): void;
}

/** Small pages: a thousand rules append at a thousand places of an index. */
const pageBytes = 1024;

export function openRuntimeDatabase(place: DatabasePlace, clock = systemClock): RuntimeDatabase {
  return {
    ...openHandle<RuntimeTables>(place, runtimeSchema, { durability: 'normal', pageBytes }, clock),
    sync() {
      if (typeof place !== 'string') return;
      try {
        syncCommits(place);
      } catch (cause) {
        throw new Fault('storage-unavailable', 'the disk cannot store the data; try again', { cause });
      }
    },
    async isCurrent(transaction) {
      if (typeof place === 'string' || place.epoch === undefined) return true;
      // Locked: the next leader's epoch begins after this transaction.
      const row = await transaction.selectFrom('engine_lease').select('epoch').forShare().executeTakeFirst();
      return row?.epoch === place.epoch;
    },
  };
}
