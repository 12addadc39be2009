/** Driver `modbus-tcp` [points §3.1]: site.yaml gives the addresses of the points. */
import { modbusAddressOf } from '../../site/address.ts';
import type { ModbusChannel } from '../../site/protocol/modbus-tcp.ts';
import type { Driver, DriverContext } from '../driver.ts';
import type { OpenWire } from '../modbus/modbus-client.ts';
import { ModbusDriver } from '../modbus/modbus-driver.ts';
import { placeOf } from '../modbus/register-place.ts';

export function createModbusDriver(channel: ModbusChannel, context: DriverContext, open?: OpenWire): Driver {
  const places = new Map(
    context.points.map((point) => [point.index, placeOf(modbusAddressOf(point), channel, point.pollIntervalMs)]),
  );
  return new ModbusDriver({
    connection: channel,
    context,
    find: async () => ({ places, missing: new Map() }),
    bridges: false,
    unit: channel.unit_id,
    open,
  });
}
