/** Modbus registers to numbers and back: types, word order, and which registers to read together. */
import { rawRangeOf, registersOf } from '../../site/protocol/modbus-raw.ts';
import type { ModbusAddress, ModbusChannel } from '../../site/protocol/modbus-tcp.ts';

type WordOrder = ModbusChannel['word_order'];
type RegisterType = Exclude<ModbusAddress['type'], 'bool'>;

/** Bytes within a register are big-endian by the protocol; `little` puts the least significant register first. */
function ordered(bytes: Buffer, order: WordOrder): Buffer {
  if (order === 'big') return bytes;
  const result = Buffer.alloc(bytes.length);
  for (let at = 0; at < bytes.length; at += 2) bytes.copy(result, bytes.length - at - 2, at, at + 2);
  return result;
}

export function decodeRegisters(bytes: Buffer, type: RegisterType, order: WordOrder): number {
  const data = ordered(bytes, order);
  switch (type) {
    case 'int16':
      return data.readInt16BE();
    case 'uint16':
      return data.readUInt16BE();
    case 'int32':
      return data.readInt32BE();
    case 'uint32':
      return data.readUInt32BE();
    case 'float32':
      return data.readFloatBE();
    case 'float64':
      return data.readDoubleBE();
  }
}

/** Null when the value does not fit the registers: no other value is sent in its place. */
export function encodeRegisters(value: number, type: RegisterType, order: WordOrder): Buffer | null {
  const range = rawRangeOf[type];
  const number = range?.whole === true ? Math.round(value) : value;
  if (!Number.isFinite(number) || (range !== undefined && (number < range.low || number > range.high))) return null;
  const bytes = Buffer.alloc(registersOf[type] * 2);
  switch (type) {
    case 'int16':
      bytes.writeInt16BE(number);
      break;
    case 'uint16':
      bytes.writeUInt16BE(number);
      break;
    case 'int32':
      bytes.writeInt32BE(number);
      break;
    case 'uint32':
      bytes.writeUInt32BE(number);
      break;
    case 'float32':
      bytes.writeFloatBE(number);
      break;
    case 'float64':
      bytes.writeDoubleBE(number);
      break;
  }
  return ordered(bytes, order);
}

export interface PollItem {
  readonly index: number;
  readonly address: ModbusAddress;
}
export interface PollBlock {
  readonly table: ModbusAddress['table'];
  readonly start: number;
  readonly count: number;
  readonly items: readonly PollItem[];
}

/** The two halves of a block, in the order of their registers; one item cannot be halved. */
export function halves(block: PollBlock): PollBlock[] {
  const middle = Math.ceil(block.items.length / 2);
  return [block.items.slice(0, middle), block.items.slice(middle)].flatMap((items) => pollBlocks(items));
}

/** The protocol's bounds of one request. */
const registersMaximum = 125;
const bitsMaximum = 2000;

/**
 * Groups points into read requests: same table, no register between them, within the protocol's bounds. Gaps are not
 * read across, because many devices refuse a request that touches a register they do not have.
 */
export function pollBlocks(items: readonly PollItem[]): PollBlock[] {
  const sorted = items.toSorted((a, b) =>
    a.address.table === b.address.table
      ? a.address.register - b.address.register
      : a.address.table.localeCompare(b.address.table),
  );
  const blocks: { table: ModbusAddress['table']; start: number; count: number; items: PollItem[] }[] = [];
  for (const item of sorted) {
    const { table, register, type } = item.address;
    const end = register + registersOf[type];
    const last = blocks.at(-1);
    const maximum = table === 'coil' || table === 'discrete' ? bitsMaximum : registersMaximum;
    const adjacent = last !== undefined && last.table === table && register <= last.start + last.count;
    if (adjacent && end - last.start <= maximum) {
      last.count = Math.max(last.count, end - last.start);
      last.items.push(item);
    } else blocks.push({ table, start: register, count: end - register, items: [item] });
  }
  return blocks;
}
