/** The registry of drivers: one line for each driver name in site.yaml. */
import { isDeepStrictEqual } from 'node:util';
import type { Channel, DriverName } from '../../site/protocol/index.ts';
import type { Driver, DriverContext } from '../driver.ts';
import type { OpenWire } from '../modbus/modbus-client.ts';
import { createModbusDriver } from './modbus-tcp.ts';
import { createMqttDriver, type MqttCredentials } from './mqtt.ts';
import { createSimulatedDriver, type SimulatedOptions } from './simulated.ts';
import { createSunSpecDriver } from './sunspec.ts';
import { createVirtualDriver } from './virtual.ts';

/** Files and secrets that drivers need beside site.yaml, by channel id: read once, before the device thread starts. */
export interface DriverMaterials {
  readonly simulated: ReadonlyMap<string, SimulatedOptions>;
  readonly mqtt: ReadonlyMap<string, MqttCredentials>;
  /** In a simulation: the transport of Modbus channels instead of TCP. */
  readonly modbusWire?: OpenWire;
}

/** Whether the driver of channel `id` gets the same from both. */
export function sameMaterials(id: string, one: DriverMaterials, other: DriverMaterials): boolean {
  const of = ({ simulated, mqtt }: DriverMaterials) => [simulated.get(id), mqtt.get(id)];
  return isDeepStrictEqual(of(one), of(other));
}

type Create<Name extends DriverName> = (
  channel: Extract<Channel, { readonly driver: Name }>,
  context: DriverContext,
  materials: DriverMaterials,
) => Driver;

const drivers: { readonly [Name in DriverName]: Create<Name> } = {
  'modbus-tcp': (channel, context, { modbusWire }) => createModbusDriver(channel, context, modbusWire),
  sunspec: (channel, context, { modbusWire }) => createSunSpecDriver(channel, context, modbusWire),
  mqtt: (channel, context, { mqtt }) => createMqttDriver(channel, ofChannel(mqtt, channel.id), context),
  simulated: (channel, context, { simulated }) =>
    createSimulatedDriver(channel, ofChannel(simulated, channel.id), context),
  virtual: (_, context) => createVirtualDriver(context),
};

function ofChannel<T>(materials: ReadonlyMap<string, T>, id: string): T {
  const found = materials.get(id);
  if (found === undefined) throw new Error(`nothing was read for channel ${id}`);
  return found;
}

export function createDriver(channel: Channel, context: DriverContext, materials: DriverMaterials): Driver {
  // A channel's driver name selects the function for this type of channel.
  const create = drivers[channel.driver] as Create<DriverName>;
  return create(channel, context, materials);
}
