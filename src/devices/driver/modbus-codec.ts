/** Modbus registers to numbers and back: types, word order, and which registers to read together. */
import type { ModbusAddress, ModbusChannel } from '../../points/channel.ts';

type WordOrder = ModbusChannel['word_order'];
type RegisterType = Exclude<ModbusAddress['type'], 'bool'>;

/** Registers (16 bits each) of a value. */
export const registerCount: Readonly<Record<ModbusAddress['type'], number>> = {
  bool: 1,
  int16: 1,
  uint16: 1,
  int32: 2,
  uint32: 2,
  float32: 2,
  float64: 4,
};

const integerRange: Readonly<Partial<Record<RegisterType, readonly [number, number]>>> = {
  int16: [-32_768, 32_767],
  uint16: [0, 65_535],
  int32: [-2_147_483_648, 2_147_483_647],
  uint32: [0, 4_294_967_295],
};

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

/** Null when the value does not fit the registers: it is not sent in another one's place. */
export function encodeRegisters(value: number, type: RegisterType, order: WordOrder): Buffer | null {
  const range = integerRange[type];
  const number = range === undefined ? value : Math.round(value);
  if (!Number.isFinite(number) || (range !== undefined && (number < range[0] || number > range[1]))) return null;
  const bytes = Buffer.alloc(registerCount[type] * 2);
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

/** The protocol's bounds of one request. */
const registersMaximum = 125;
const bitsMaximum = 2000;
/** Reading a few unused registers costs less than another request. */
const gapMaximum = 8;

/** Groups points into read requests: same table, near each other, within the protocol's bounds. */
export function pollBlocks(items: readonly PollItem[]): PollBlock[] {
  const sorted = [...items].sort(
    (a, b) => a.address.table.localeCompare(b.address.table) || a.address.register - b.address.register,
  );
  const blocks: { table: ModbusAddress['table']; start: number; count: number; items: PollItem[] }[] = [];
  for (const item of sorted) {
    const { table, register, type } = item.address;
    const end = register + registerCount[type];
    const last = blocks.at(-1);
    const maximum = table === 'coil' || table === 'discrete' ? bitsMaximum : registersMaximum;
    if (
      last !== undefined &&
      last.table === table &&
      register <= last.start + last.count + gapMaximum &&
      end - last.start <= maximum
    ) {
      last.count = Math.max(last.count, end - last.start);
      last.items.push(item);
    } else blocks.push({ table, start: register, count: end - register, items: [item] });
  }
  return blocks;
}
