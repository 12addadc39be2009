/**
 * Executions that an engine could not store before it ended, because its database was away: kept in files of the data dir
 * (`storage/spool.ts`), stored when the database answers again (docs/guides/several-machines.md).
 */
import { join } from 'node:path';
import Type from 'typebox';
import { decoder } from '../base/decode.ts';
import { openSpool, type Spool } from '../storage/spool.ts';
import type { HistoryRow } from './history-store.ts';

const rowSchema = Type.Object({
  execution_id: Type.String(),
  rule_id: Type.Integer(),
  started_at: Type.String(),
  outcome: Type.String(),
  unchanged: Type.Boolean(),
  record: Type.String(),
});

export function recordSpool(dataFolder: string): Spool<HistoryRow> {
  return openSpool({ folder: join(dataFolder, 'spool'), what: 'executions', decode: decoder(rowSchema) });
}
