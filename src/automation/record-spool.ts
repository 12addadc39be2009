/**
 * Executions that an engine could not store before it ended, because its database was unavailable: written to files in the data dir
 * (`storage/spool.ts`), and stored when the database answers again (docs/guides/several-machines.md).
 */
import { join } from 'node:path';
import { openSpool, type Spool } from '../storage/spool.ts';
import type { RunRow } from './run-blocks.ts';

export function isRunRow(value: unknown): value is RunRow {
  if (typeof value !== 'object' || value === null) return false;
  const { execution_id, rule_id, unchanged, record }: Partial<Record<keyof RunRow, unknown>> = value;
  const texts = [execution_id, record];
  return texts.every((text) => typeof text === 'string') && Number.isInteger(rule_id) && typeof unchanged === 'boolean';
}

export function recordSpool(dataFolder: string): Spool<RunRow> {
  return openSpool({ folder: join(dataFolder, 'spool'), what: 'executions', isRow: isRunRow });
}
