/** Where the points of a site are in a SunSpec device, given its models: pure. */

import type { ModbusType } from '../../site/protocol/modbus-raw.ts';
import type { SunSpecAddress } from '../../site/protocol/sunspec.ts';
import { absentValue, type SunSpecModel, type SunSpecPoint, type SunSpecType } from '../../site/sunspec/model.ts';
import { pointIn, sunSpecModel, sunSpecName } from '../../site/sunspec/models.ts';
import type { RegisterPlace } from '../modbus/register-place.ts';
import type { PlacedModel } from './discover.ts';

const modbusTypes: Readonly<Record<Exclude<SunSpecType, 'pad'>, ModbusType>> = {
  int16: 'int16',
  sunssf: 'int16',
  uint16: 'uint16',
  acc16: 'uint16',
  enum16: 'uint16',
  bitfield16: 'bitfield',
  int32: 'int32',
  uint32: 'uint32',
  acc32: 'uint32',
  bitfield32: 'bitfield',
  uint64: 'uint64',
  float32: 'float32',
  string: 'string',
};

/** The place of a point, or what the device lacks. */
export function placeInModels(
  models: readonly PlacedModel[],
  { model, nth, point }: SunSpecAddress,
  how: { readonly unit: number; readonly intervalMs: number },
): RegisterPlace | string {
  const wanted =
    model === undefined ? models : models.filter((each) => each.model === model).slice((nth ?? 1) - 1, nth ?? 1);
  const found = wanted.flatMap((placed) => {
    const known = sunSpecModel(placed.model);
    const place = known === undefined ? undefined : pointIn(known, sunSpecName(point));
    // A device may have an older, shorter edition of a model.
    return known === undefined || place === undefined || place.offset + place.length > placed.length
      ? []
      : [{ placed, known, place }];
  });
  const [first, ...others] = found;
  const present = models.map((each) => each.model).join(', ');
  if (first === undefined)
    return model === undefined
      ? `the device has no point ${point}; its models are ${present}`
      : `the device has no point ${point} in model ${model}; its models are ${present}`;
  const rivals = others.filter(({ placed }) => model === undefined && placed.register !== first.placed.register);
  if (rivals.length > 0) {
    const among = [first, ...rivals].map(({ placed }) => placed.model).join(' and ');
    return `${point} is in the models ${among} of the device: say which with model, or nth`;
  }
  return registerPlace(first.placed, first.known, first.place, how);
}

export function registerPlace(
  placed: PlacedModel,
  model: SunSpecModel,
  point: SunSpecPoint,
  { unit, intervalMs }: { readonly unit: number; readonly intervalMs: number },
): RegisterPlace {
  const scale = point.scale === undefined ? undefined : model.points.find(({ name }) => name === point.scale);
  const absent = absentValue(point.type);
  return {
    unit,
    table: 'holding',
    register: placed.register + point.offset,
    encoding: {
      type: point.type === 'pad' ? 'uint16' : modbusTypes[point.type],
      length: point.length,
      wordOrder: 'big',
      byteOrder: 'big',
      bit: undefined,
    },
    scaleFrom: scale === undefined ? undefined : placed.register + scale.offset,
    // Devices take whole values in one write: function 16 is the one that all of them have.
    writeFunction: 'multiple',
    intervalMs,
    ...(absent === undefined ? {} : { absent }),
  };
}
