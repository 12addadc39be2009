/**
 * Executions that an engine could not store before it ended, because its database was away: kept in files of the data dir
 * (`storage/spool.ts`), stored when the database answers again (docs/guides/several-machines.md).
 */
import { join } from 'node:path';
import Type from 'typebox';
import { type Decoded, decoder } from '../base/decode.ts';
import { openSpool, type Spool } from '../storage/spool.ts';
import type { HistoryRow } from './run-blocks.ts';

const rowSchema = Type.Object({
  execution_id: Type.String(),
  rule_id: Type.Integer(),
  unchanged: Type.Boolean(),
  record: Type.String(),
});
export const decodeRow: (value: unknown) => Decoded<HistoryRow> = decoder(rowSchema);

export function recordSpool(dataFolder: string): Spool<HistoryRow> {
  return openSpool({ folder: join(dataFolder, 'spool'), what: 'executions', decode: decodeRow });
}
