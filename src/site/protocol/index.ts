/** The registry of protocols, by the name of their driver: one file and one line each, here and in `devices/driver/`. */
import type { Decoded } from '../../base/decode.ts';
import { modbus } from './modbus-tcp.ts';
import { mqtt } from './mqtt.ts';
import type { Protocol } from './protocol.ts';
import { simulated } from './simulated.ts';
import { sunSpec } from './sunspec.ts';
import { virtual } from './virtual.ts';

const protocols = { 'modbus-tcp': modbus, sunspec: sunSpec, mqtt, virtual, simulated } as const;

export type DriverName = keyof typeof protocols;
type DecodedBy<D> = D extends (value: unknown) => Decoded<infer T> ? T : never;
/** Settings of a channel, one kind for each protocol. */
export type Channel = DecodedBy<(typeof protocols)[DriverName]['settings']>;
/** The address of a point in its channel. */
export type Address = DecodedBy<(typeof protocols)[DriverName]['address']>;

export const driverNames = Object.keys(protocols) as DriverName[];

/** The protocol for a driver name. Pass it only channels and addresses of that driver. */
export function protocolOf(driver: DriverName): Protocol<Channel, Address> {
  return protocols[driver];
}
