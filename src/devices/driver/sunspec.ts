/** Driver `sunspec` [points §3.4]: Modbus whose points are found by name, in the models of the device. */
import { sunSpecAddressOf } from '../../site/address.ts';
import { registersPerRequest } from '../../site/protocol/modbus-raw.ts';
import type { SunSpecChannel } from '../../site/protocol/sunspec.ts';
import { sunSpecDefaults } from '../../site/sunspec/defaults.ts';
import { modelsWith } from '../../site/sunspec/models.ts';
import type { Driver, DriverContext } from '../driver.ts';
import type { OpenWire } from '../modbus/modbus-client.ts';
import { type FoundPlaces, ModbusDriver } from '../modbus/modbus-driver.ts';
import type { RegisterPlace } from '../modbus/register-place.ts';
import { bases, discoverModels } from '../sunspec/discover.ts';
import { layOutModels } from '../sunspec/lay-out-models.ts';
import { scanModels } from '../sunspec/scan-models.ts';
import { placeInModels } from '../sunspec/sunspec-places.ts';

export function createSunSpecDriver(channel: SunSpecChannel, context: DriverContext, open?: OpenWire): Driver {
  const settings = { ...sunSpecDefaults, ...channel };
  const known = modelsWith(channel.models);
  const { unit_id: unit, poll_interval_ms: pollIntervalMs } = settings;
  // A device may not answer for missing registers: the next connection starts with the next base address.
  let order: readonly number[] = bases;
  return new ModbusDriver({
    connection: settings,
    context,
    async find(ask) {
      const found = await discoverModels(ask, unit, order);
      if (found === null) order = [...order.slice(1), ...order.slice(0, 1)];
      if (found === null || typeof found === 'string') return found;
      const models = await layOutModels(ask, unit, found, known);
      if (models === null) return null;
      const places = new Map<number, RegisterPlace>();
      const missing = new Map<number, string>();
      for (const point of context.points) {
        const intervalMs = point.pollIntervalMs ?? pollIntervalMs;
        const place = placeInModels(models, sunSpecAddressOf(point), { unit, intervalMs });
        if (typeof place === 'string') missing.set(point.index, place);
        else places.set(point.index, place);
      }
      return { places, missing } satisfies FoundPlaces;
    },
    bridges: true,
    scan: (ask, question) => scanModels(ask, question, settings.max_registers ?? registersPerRequest, known),
    unit,
    open,
  });
}
