/** Modbus registers to values and back [points §3.1]: types, the order of registers and bytes, bits, text. */
import { type ModbusType, rawRangeIn } from '../../site/protocol/modbus-raw.ts';

type Order = 'big' | 'little';

/** How a value is encoded in its registers. */
export interface Encoding {
  readonly type: ModbusType;
  /** Number of registers. */
  readonly length: number;
  /** Which register, and which byte of each, is the most significant: the first (`big`) or the last. */
  readonly wordOrder: Order;
  readonly byteOrder: Order;
  /** One bit of the register, 0 the lowest. */
  readonly bit: number | undefined;
}

/** The bytes with the most significant one first, and back. */
function ordered(bytes: Buffer, { wordOrder, byteOrder }: Pick<Encoding, 'wordOrder' | 'byteOrder'>): Buffer {
  const result = Buffer.from(bytes);
  if (wordOrder === 'little')
    for (let at = 0; at < bytes.length; at += 2) bytes.copy(result, bytes.length - at - 2, at, at + 2);
  return byteOrder === 'little' ? result.swap16() : result;
}

/** The number in the registers; NaN for text. */
export function decodeRegisters(bytes: Buffer, encoding: Encoding): number {
  const data = ordered(bytes, encoding);
  if (encoding.bit !== undefined) return (data.readUInt16BE() >> encoding.bit) & 1;
  switch (encoding.type) {
    case 'int16':
      return data.readInt16BE();
    case 'uint16':
    case 'bool':
      return data.readUInt16BE();
    case 'int32':
      return data.readInt32BE();
    case 'uint32':
      return data.readUInt32BE();
    case 'int64':
      return Number(data.readBigInt64BE());
    case 'uint64':
      return Number(data.readBigUInt64BE());
    case 'float32':
      return data.readFloatBE();
    case 'float64':
      return data.readDoubleBE();
    case 'bitfield':
      return data.readUIntBE(0, data.length);
    case 'string':
      return Number.NaN;
  }
}

/** The text in the registers, two characters in each, up to the first NUL and without blanks around it. */
export function decodeText(bytes: Buffer, encoding: Pick<Encoding, 'wordOrder' | 'byteOrder'>): string {
  const text = ordered(bytes, encoding).toString('utf8');
  const end = text.indexOf('\0');
  return (end === -1 ? text : text.slice(0, end)).trim();
}

/** Null if the value does not fit the registers: no other value is sent instead. */
export function encodeRegisters(value: number, encoding: Encoding): Buffer | null {
  const range = rawRangeIn(encoding);
  const number = range?.whole === true ? Math.round(value) : value;
  if (!Number.isFinite(number) || (range !== undefined && (number < range.low || number > range.high))) return null;
  const bytes = Buffer.alloc(encoding.length * 2);
  switch (encoding.type) {
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
    case 'int64':
      bytes.writeBigInt64BE(BigInt(number));
      break;
    case 'uint64':
      bytes.writeBigUInt64BE(BigInt(number));
      break;
    case 'float32':
      bytes.writeFloatBE(number);
      break;
    case 'float64':
      bytes.writeDoubleBE(number);
      break;
    case 'bitfield':
      bytes.writeUIntBE(number, 0, bytes.length);
      break;
    // Neither can be written to whole registers.
    case 'bool':
    case 'string':
      return null;
  }
  return ordered(bytes, encoding);
}

/** Largest power of ten that a scale register may hold, either way. */
const exponentMaximum = 10;

/** The exponent in a scale register; null for an invalid one, such as "not implemented". */
export function exponentOf(bytes: Buffer): number | null {
  const exponent = bytes.readInt16BE();
  return Math.abs(exponent) <= exponentMaximum ? exponent : null;
}

/** raw × 10^exponent, rounded once: 123 at −1 is 12.3. */
export function scaledBy(raw: number, exponent: number): number {
  return exponent < 0 ? raw / 10 ** -exponent : raw * 10 ** exponent;
}
