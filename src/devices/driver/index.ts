/** The registry of drivers: one line for each name of the grammar of site.yaml. */
import type { Channel, DriverName } from '../../points/channel.ts';
import type { Driver, DriverContext } from '../driver.ts';
import { createModbusDriver } from './modbus-tcp.ts';
import { createSimulatedDriver, type SimulatedOptions } from './simulated.ts';
import { createVirtualDriver } from './virtual.ts';

/** `simulated` gives the particulars of a simulated channel, by its id. */
type Create<Name extends DriverName> = (
  channel: Extract<Channel, { readonly driver: Name }>,
  context: DriverContext,
  simulated: ReadonlyMap<string, SimulatedOptions>,
) => Driver;

/** Null: the grammar knows the name, but this version has no such driver; a site that uses it is refused at start. */
const drivers: { readonly [Name in DriverName]: Create<Name> | null } = {
  'modbus-tcp': createModbusDriver,
  mqtt: null,
  simulated: (channel, context, simulated) => {
    const options = simulated.get(channel.id);
    if (options === undefined) throw new Error(`channel ${channel.id} has no series`);
    return createSimulatedDriver(channel, options, context);
  },
  virtual: (_, context) => createVirtualDriver(context),
};

export function hasDriver(name: DriverName): boolean {
  return drivers[name] !== null;
}

export function createDriver(
  channel: Channel,
  context: DriverContext,
  simulated: ReadonlyMap<string, SimulatedOptions>,
): Driver {
  // A channel's driver name picks the one function that takes this kind of channel.
  const create = drivers[channel.driver] as Create<DriverName> | null;
  if (create === null) throw new Error(`a site with the absent driver ${channel.driver} was not refused`);
  return create(channel, context, simulated);
}
