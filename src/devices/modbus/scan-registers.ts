/** Which registers of a device answer, and their values: read in blocks, halved if the device refuses. */
import type { ScanAnswer, ScanQuestion } from '../driver.ts';
import type { AskUnit } from './modbus-client.ts';
import { bitAt, type ReadCode } from './modbus-frame.ts';
import type { ModbusTable } from './register-place.ts';

/** Registers per request; many devices accept no more. */
const blockCount = 32;
const defaultCount = 100;
const registerEnd = 65_536;

export type ScanOfUnit = ScanQuestion & { readonly unit: number };

type Found = ScanAnswer['registers'][number];

/** Null if the connection ended before the end. */
export async function scanRegisters(
  ask: AskUnit,
  { unit, table = 'holding', from = 0, count = defaultCount }: ScanOfUnit,
): Promise<ScanAnswer | null> {
  const found: Found[] = [];
  const blocks: { start: number; count: number }[] = [];
  const end = Math.min(from + count, registerEnd);
  for (let start = from; start < end; start += blockCount)
    blocks.push({ start, count: Math.min(blockCount, end - start) });
  for (let block = blocks.shift(); block !== undefined; block = blocks.shift()) {
    const answer = await ask(unit, { code: readCode(table), ...block });
    if (answer === null) return null;
    if (answer.kind === 'data') found.push(...valuesIn(answer.bytes, unit, table, block));
    else if (block.count > 1) {
      const half = Math.ceil(block.count / 2);
      blocks.unshift({ start: block.start, count: half }, { start: block.start + half, count: block.count - half });
    }
  }
  return { registers: found, models: [] };
}

function readCode(table: ModbusTable): ReadCode {
  return table === 'coil' ? 1 : table === 'discrete' ? 2 : table === 'holding' ? 3 : 4;
}

function valuesIn(
  bytes: Buffer,
  unit: number,
  table: ModbusTable,
  { start, count }: { start: number; count: number },
): Found[] {
  const bits = table === 'coil' || table === 'discrete';
  return Array.from({ length: count }, (_, at) => ({
    unit,
    table,
    register: start + at,
    words: [bits ? Number(bitAt(bytes, at) ?? false) : bytes.readUInt16BE(at * 2)],
  }));
}
