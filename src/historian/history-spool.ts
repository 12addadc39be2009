/**
 * Readings that a recorder could not store before it ended, because its database was away: kept in files of the data dir
 * (`storage/spool.ts`), stored when the database answers again (docs/guides/several-machines.md).
 */
import { join } from 'node:path';
import Type from 'typebox';
import type { Clock } from '../base/clock.ts';
import { decoder } from '../base/decode.ts';
import { recordedQuality } from '../rules/snapshot.ts';
import { openSpool, type Spool } from '../storage/spool.ts';
import type { Historian, HistoryRow } from './historian.ts';

export interface HistorySpool extends Omit<Spool<HistoryRow>, 'store'> {
  /** Stores what is kept, the oldest file first; returns how many rows. Throws when the database does not take them. */
  store(historian: Pick<Historian, 'append'>, clock: Clock): Promise<number>;
}

const rowSchema = Type.Object({
  series: Type.Object({ instance: Type.Integer(), point: Type.Integer() }),
  eventMs: Type.Integer(),
  ingestedMs: Type.Integer(),
  value: Type.Union([Type.Number(), Type.Null()]),
  quality: Type.Enum(Object.values(recordedQuality)),
});

export function historySpool(dataFolder: string): HistorySpool {
  const { keep, recover, store } = openSpool({
    folder: join(dataFolder, 'spool-history'),
    what: 'readings',
    decode: decoder(rowSchema),
  });
  return {
    keep,
    recover,
    store: (historian, clock) =>
      store((rows) => {
        // Nobody could know them before now: that is when they are ingested.
        const nowMs = clock.wallMs();
        const known = rows.map((row) => ({ ...row, ingestedMs: Math.max(row.ingestedMs, nowMs) }));
        return historian.append(known, { once: true });
      }),
  };
}
