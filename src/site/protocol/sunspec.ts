/** SunSpec devices in site.yaml [points §3.4]: points by their names, wherever the device has its models. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { sunSpecDefaults } from '../sunspec/defaults.ts';
import type { SunSpecPoint } from '../sunspec/model.ts';
import { pointIn, sunSpecModel, sunSpecModels, sunSpecName } from '../sunspec/models.ts';
import { unitFactor } from '../units.ts';
import { modbusConnection } from './modbus-tcp.ts';
import { milliseconds, type Protocol } from './protocol.ts';

const sunSpecSettings = strict({
  ...modbusConnection,
  driver: Type.Literal('sunspec'),
  port: Type.Optional(modbusConnection.port),
  unit_id: Type.Optional(Type.Integer({ minimum: 0, maximum: 255 })),
  poll_interval_ms: Type.Optional(milliseconds(10, 3_600_000)),
  timeout_ms: Type.Optional(milliseconds(10, 60_000)),
});

const sunSpecAddress = strict({
  /** Where several models of the device have the point. */
  model: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_534 })),
  /** Which of several models with that number, from 1. */
  nth: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  point: Type.String({
    pattern: '^[A-Za-z][A-Za-z0-9_]{0,31}(\\[[1-9][0-9]{0,2}\\])?$',
    description: 'a SunSpec point such as W, SoC or DCW[2]',
  }),
});

export type SunSpecChannel = Static<typeof sunSpecSettings>;
export type SunSpecAddress = Static<typeof sunSpecAddress>;

/** The point in every known model that can be meant. */
function candidates({ model, point }: SunSpecAddress): SunSpecPoint[] {
  const models = model === undefined ? sunSpecModels : [sunSpecModel(model)];
  return models.flatMap((each) => (each === undefined ? [] : (pointIn(each, sunSpecName(point)) ?? [])));
}

export const sunSpec: Protocol<SunSpecChannel, SunSpecAddress> = {
  settings: decoder(sunSpecSettings),
  address: decoder(sunSpecAddress),
  polled: true,
  defaultMaxAgeMs: ({ poll_interval_ms = sunSpecDefaults.poll_interval_ms }, own = poll_interval_ms) => 5 * own,
  hasNoNumber: (address) => candidates(address)[0]?.type === 'string',
  unitScale: (address, unit) => {
    const [first] = candidates(address);
    return first === undefined || first.unit === '' ? 1 : unitFactor(first.unit, unit);
  },
  checkAddress(address, kind, fault) {
    const { model, nth, point } = address;
    if (model !== undefined && sunSpecModel(model) === undefined)
      return fault(
        'address/model',
        `SunSpec model ${model} is not known; known are ${sunSpecModels.map((each) => each.model).join(', ')}`,
      );
    if (nth !== undefined && model === undefined) fault('address/nth', 'nth needs a model number: set model');
    const found = candidates(address);
    if (found.length === 0)
      return fault(
        'address/point',
        model === undefined ? `no SunSpec model has a point ${point}` : `SunSpec model ${model} has no point ${point}`,
      );
    if (kind === 'action' && !found.some(({ writable }) => writable))
      fault('address/point', `${point} cannot be written`);
  },
};
