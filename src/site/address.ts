/** Typed access to the address of a point, which the site parser has validated (`protocol/`). */
import type { Address } from './protocol/index.ts';
import type { ModbusAddress } from './protocol/modbus-tcp.ts';
import type { MqttAddress } from './protocol/mqtt.ts';
import type { SimulatedSignal } from './protocol/simulated.ts';
import type { SunSpecAddress } from './protocol/sunspec.ts';

/** The address of a point of a `modbus-tcp` channel, validated by the site parser against that channel's grammar. */
export function modbusAddressOf(point: { readonly address: Address | undefined }): ModbusAddress {
  if (point.address === undefined || !('table' in point.address)) throw new Error('the point has no register');
  return point.address;
}

/** The topic of a point of an `mqtt` channel, validated likewise. */
export function mqttAddressOf(point: { readonly address: Address | undefined }): MqttAddress {
  if (point.address === undefined || !('topic' in point.address)) throw new Error('the point has no topic');
  return point.address;
}

/** The signal of a point of a `simulated` channel, validated likewise. */
export function signalOf(point: { readonly address: Address | undefined }): SimulatedSignal {
  if (point.address === undefined || !('signal' in point.address)) throw new Error('the point has no signal');
  return point.address.signal;
}

/** The SunSpec point of a point of a `sunspec` channel, validated likewise. */
export function sunSpecAddressOf(point: { readonly address: Address | undefined }): SunSpecAddress {
  if (point.address === undefined || !('point' in point.address)) throw new Error('the point has no SunSpec name');
  return point.address;
}
