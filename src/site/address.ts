/** Typed access to the address of a point, which the site parser has validated (`channel.ts`). */
import type { Address, ModbusAddress, MqttAddress, SimulatedSignal } from './channel.ts';

/** Registers (of 16 bits each) or bits that a Modbus value takes. */
export const registersOf: Readonly<Record<ModbusAddress['type'], number>> = {
  bool: 1,
  int16: 1,
  uint16: 1,
  int32: 2,
  uint32: 2,
  float32: 2,
  float64: 4,
};

/** The raw values that a Modbus type can hold; undefined for double precision, which holds every number. */
export const rawRangeOf: Readonly<
  Record<ModbusAddress['type'], { readonly whole: boolean; readonly low: number; readonly high: number } | undefined>
> = {
  bool: { whole: true, low: 0, high: 1 },
  int16: { whole: true, low: -32_768, high: 32_767 },
  uint16: { whole: true, low: 0, high: 65_535 },
  int32: { whole: true, low: -2_147_483_648, high: 2_147_483_647 },
  uint32: { whole: true, low: 0, high: 4_294_967_295 },
  float32: { whole: false, low: -3.402_823_466_385_288_6e38, high: 3.402_823_466_385_288_6e38 },
  float64: undefined,
};

/** The address of a point of a `modbus-tcp` channel: the site's reader checked it against that channel's grammar. */
export function modbusAddressOf(point: { readonly address: Address | undefined }): ModbusAddress {
  if (point.address === undefined || !('table' in point.address)) throw new Error('the point has no register');
  return point.address;
}

/** The topic of a point of an `mqtt` channel, checked likewise. */
export function mqttAddressOf(point: { readonly address: Address | undefined }): MqttAddress {
  if (point.address === undefined || !('topic' in point.address)) throw new Error('the point has no topic');
  return point.address;
}

/** The signal of a point of a `simulated` channel, checked likewise. */
export function signalOf(point: { readonly address: Address | undefined }): SimulatedSignal {
  if (point.address === undefined || !('signal' in point.address)) throw new Error('the point has no signal');
  return point.address.signal;
}
