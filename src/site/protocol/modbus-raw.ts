/** What Modbus types take and hold [points §3.1]; without schemas, for the device thread too. */

/** The raw values that a place in a device can hold. */
export interface RawRange {
  readonly whole: boolean;
  readonly low: number;
  readonly high: number;
}

/** Registers (of 16 bits each) or bits that a Modbus value takes. */
export const registersOf = {
  bool: 1,
  int16: 1,
  uint16: 1,
  int32: 2,
  uint32: 2,
  float32: 2,
  float64: 4,
} as const;

export type ModbusType = keyof typeof registersOf;

/** The raw values that a Modbus type can hold; undefined for double precision, which holds every number. */
export const rawRangeOf: Readonly<Record<ModbusType, RawRange | undefined>> = {
  bool: { whole: true, low: 0, high: 1 },
  int16: { whole: true, low: -32_768, high: 32_767 },
  uint16: { whole: true, low: 0, high: 65_535 },
  int32: { whole: true, low: -2_147_483_648, high: 2_147_483_647 },
  uint32: { whole: true, low: 0, high: 4_294_967_295 },
  float32: { whole: false, low: -3.402_823_466_385_288_6e38, high: 3.402_823_466_385_288_6e38 },
  float64: undefined,
};
