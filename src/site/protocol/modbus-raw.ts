/** Sizes and ranges of the Modbus types [points §3.1]; without schemas, for the device thread too. */

/** The raw values that an address can hold. */
export interface RawRange {
  readonly whole: boolean;
  readonly low: number;
  readonly high: number;
}

/** Maximum number of registers, and of bits, per read request in the protocol. */
export const registersPerRequest = 125;
export const bitsPerRequest = 2000;

/** Registers (of 16 bits each) or bits of a Modbus value with a fixed size. */
const registersOf = {
  bool: 1,
  int16: 1,
  uint16: 1,
  int32: 2,
  uint32: 2,
  int64: 4,
  uint64: 4,
  float32: 2,
  float64: 4,
} as const;

type ModbusNumberType = keyof typeof registersOf;
/** A `bitfield` is unsigned, a `string` is text; both take as many registers as their `length` says. */
export type ModbusType = ModbusNumberType | 'bitfield' | 'string';

/** Maximum number of registers of a bit field: more would not fit a double. */
export const bitfieldRegistersMaximum = 3;

export function registersTaken({ type, length }: { readonly type: ModbusType; readonly length?: number }): number {
  return type === 'bitfield' || type === 'string' ? (length ?? 1) : registersOf[type];
}

const rawRangeOf: Readonly<Record<ModbusNumberType, RawRange | undefined>> = {
  bool: { whole: true, low: 0, high: 1 },
  int16: { whole: true, low: -32_768, high: 32_767 },
  uint16: { whole: true, low: 0, high: 65_535 },
  int32: { whole: true, low: -2_147_483_648, high: 2_147_483_647 },
  uint32: { whole: true, low: 0, high: 4_294_967_295 },
  // Of 64 bits only the integers that a double can represent: a command beyond them is refused.
  int64: { whole: true, low: Number.MIN_SAFE_INTEGER, high: Number.MAX_SAFE_INTEGER },
  uint64: { whole: true, low: 0, high: Number.MAX_SAFE_INTEGER },
  float32: { whole: false, low: -3.402_823_466_385_288_6e38, high: 3.402_823_466_385_288_6e38 },
  float64: undefined,
};

/** The raw values that can be written to a Modbus value; undefined for double precision, which can hold every number. */
export function rawRangeIn(address: { readonly type: ModbusType; readonly length?: number }): RawRange | undefined {
  if (address.type === 'string') return undefined;
  if (address.type === 'bitfield') return { whole: true, low: 0, high: 2 ** (16 * registersTaken(address)) - 1 };
  return rawRangeOf[address.type];
}
