/** The runtime database: history and rule state. A power cut may lose the last moments, never the order. */
import type { Transaction } from 'kysely';
import { systemClock } from '../../base/clock.ts';
import { type DatabasePlace, type Handle, openHandle } from '../../storage/database.ts';
import { type RuntimeTables, runtimeSchema } from './runtime-schema.ts';

export interface RuntimeDatabase extends Handle<RuntimeTables> {
  /** Whether the epoch of this handle is still the current one, and stays so until the end of the transaction. */
  isCurrent(transaction: Transaction<RuntimeTables>): Promise<boolean>;
}

/** The history of a thousand rules grows in a thousand places of an index. */
const pageBytes = 1024;

export function openRuntimeDatabase(place: DatabasePlace, clock = systemClock): RuntimeDatabase {
  return {
    ...openHandle<RuntimeTables>(place, runtimeSchema, { durability: 'normal', pageBytes }, clock),
    async isCurrent(transaction) {
      if (typeof place === 'string' || place.epoch === undefined) return true;
      // Locked: the next holder's epoch begins after this transaction.
      const row = await transaction.selectFrom('engine_lease').select('epoch').forShare().executeTakeFirst();
      return row?.epoch === place.epoch;
    },
  };
}
