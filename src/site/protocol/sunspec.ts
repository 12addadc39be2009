/** SunSpec devices in site.yaml [points §3.4]: points by name, at any base address. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { sunSpecDefaults } from '../sunspec/defaults.ts';
import { groupDepthMaximum } from '../sunspec/definition.ts';
import { declaredPoint } from '../sunspec/layout.ts';
import type { SunSpecModel, SunSpecPoint } from '../sunspec/model.ts';
import { modelsWith } from '../sunspec/models.ts';
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

const namePart = '[A-Za-z][A-Za-z0-9_]{0,63}(\\[[1-9][0-9]{0,4}\\])?';

const sunSpecAddress = strict({
  /** Needed if several models of the device have the point. */
  model: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_534 })),
  /** Index among the models with that number, from 1. */
  nth: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  point: Type.String({
    pattern: `^${namePart}(\\.${namePart}){0,${groupDepthMaximum}}$`,
    description: 'a SunSpec point such as W, SoC, DCW[2] or Crv[1].Pt[2].V',
  }),
});

export type SunSpecChannel = Static<typeof sunSpecSettings> & {
  /** Models defined by the site: not a setting, they come from files next to site.yaml. */
  readonly models?: readonly SunSpecModel[];
};
export type SunSpecAddress = Static<typeof sunSpecAddress>;

/** The point in every known model that may be meant. */
function candidates({ model, point }: SunSpecAddress, channel: SunSpecChannel): SunSpecPoint[] {
  const known = modelsWith(channel.models);
  const models = model === undefined ? [...known.values()] : [known.get(model)];
  return models.flatMap((each) => (each === undefined ? [] : (declaredPoint(each, point) ?? [])));
}

export const sunSpec: Protocol<SunSpecChannel, SunSpecAddress> = {
  settings: decoder(sunSpecSettings),
  withFiles: (channel, { sunSpecModels }) =>
    sunSpecModels.length === 0 ? channel : { ...channel, models: sunSpecModels },
  address: decoder(sunSpecAddress),
  pollIntervalMs: ({ poll_interval_ms = sunSpecDefaults.poll_interval_ms }) => poll_interval_ms,
  traced: true,
  defaultMaxAgeMs: ({ poll_interval_ms = sunSpecDefaults.poll_interval_ms }, own = poll_interval_ms) => 5 * own,
  places: ({ model, nth, point }, { host, port = sunSpecDefaults.port, unit_id = sunSpecDefaults.unit_id }) => [
    `${host}:${port}/${unit_id}/${model ?? 'any'}/${nth ?? 1}/${point}`,
  ],
  hasNoNumber: (address, channel) => candidates(address, channel)[0]?.type === 'string',
  unitScale: (address, unit, channel) => {
    const [first] = candidates(address, channel);
    return first === undefined || first.unit === '' ? 1 : unitFactor(first.unit, unit);
  },
  checkAddress(address, kind, fault, channel) {
    const { model, nth, point } = address;
    const known = modelsWith(channel.models);
    if (model !== undefined && !known.has(model))
      return fault(
        'address/model',
        `SunSpec model ${model} is not known; known are ${[...known.keys()].join(', ')}. Put its definition ` +
          `(model_${model}.json of the SunSpec Alliance, or the vendor's) into a folder sunspec next to site.yaml`,
      );
    if (nth !== undefined && model === undefined) fault('address/nth', 'nth needs a model number: set model');
    const found = candidates(address, channel);
    if (found.length === 0)
      return fault(
        'address/point',
        model === undefined ? `no SunSpec model has a point ${point}` : `SunSpec model ${model} has no point ${point}`,
      );
    if (kind === 'action' && !found.some(({ writable }) => writable))
      fault('address/point', `${point} cannot be written`);
  },
};
