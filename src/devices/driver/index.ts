/** The registry of drivers: one line for each driver of this program, keyed by the name that site.yaml uses. */
import type { Channel, DriverName } from '../../points/channel.ts';
import type { Driver, DriverContext } from '../driver.ts';
import { createModbusDriver } from './modbus-tcp.ts';
import { createSimulatedDriver, type SimulatedOptions } from './simulated.ts';
import { createVirtualDriver } from './virtual.ts';

/** Names of the grammar that this version has no driver for; a site that uses one is refused at start. */
export const absentDrivers: readonly DriverName[] = ['mqtt'];

/** `simulated` gives the particulars of a simulated channel, by its id. */
export function createDriver(
  channel: Channel,
  context: DriverContext,
  simulated: ReadonlyMap<string, SimulatedOptions>,
): Driver {
  switch (channel.driver) {
    case 'modbus-tcp':
      return createModbusDriver(channel, context);
    case 'virtual':
      return createVirtualDriver(context);
    case 'simulated': {
      const options = simulated.get(channel.id);
      if (options === undefined) throw new Error(`channel ${channel.id} has no series`);
      return createSimulatedDriver(channel, options, context);
    }
    case 'mqtt':
      throw new Error('a site with an absent driver was not refused');
  }
}
