/** The addresses of a site's points in a SunSpec device, given its models: pure. */

import type { ModbusType } from '../../site/protocol/modbus-raw.ts';
import type { SunSpecAddress } from '../../site/protocol/sunspec.ts';
import type { PlacedPoint } from '../../site/sunspec/layout.ts';
import { absentValue, type SunSpecType } from '../../site/sunspec/model.ts';
import type { Encoding } from '../modbus/modbus-codec.ts';
import type { RegisterPlace } from '../modbus/register-place.ts';
import type { PlacedModel } from './discover.ts';
import type { LaidOutModel } from './lay-out-models.ts';

const modbusTypes: Readonly<Record<Exclude<SunSpecType, 'pad'>, ModbusType>> = {
  int16: 'int16',
  sunssf: 'int16',
  uint16: 'uint16',
  acc16: 'uint16',
  enum16: 'uint16',
  bitfield16: 'bitfield',
  int32: 'int32',
  int64: 'int64',
  uint32: 'uint32',
  acc32: 'uint32',
  bitfield32: 'bitfield',
  uint64: 'uint64',
  acc64: 'uint64',
  float32: 'float32',
  float64: 'float64',
  string: 'string',
};

/** The address of a point, or what the device lacks. */
export function placeInModels(
  models: readonly LaidOutModel[],
  { model, nth, point }: SunSpecAddress,
  how: { readonly unit: number; readonly intervalMs: number },
): RegisterPlace | string {
  const wanted =
    model === undefined ? models : models.filter((each) => each.model === model).slice((nth ?? 1) - 1, nth ?? 1);
  const found = wanted.flatMap((placed) => {
    const place = placed.points.find(({ name, type }) => name === point && type !== 'pad');
    return place === undefined ? [] : [{ placed, place }];
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
  return registerPlace(first.placed, first.place, how);
}

function registerPlace(
  { register }: PlacedModel,
  point: PlacedPoint,
  { unit, intervalMs }: { readonly unit: number; readonly intervalMs: number },
): RegisterPlace {
  const absent = absentValue(point.type);
  return {
    unit,
    table: 'holding',
    register: register + point.offset,
    encoding: encodingOf(point),
    scaleFrom: point.scaleOffset === undefined ? undefined : register + point.scaleOffset,
    exponent: point.exponent,
    // Devices accept whole values in one write: function 16 is the one that all of them have.
    writeFunction: 'multiple',
    intervalMs,
    ...(absent === undefined ? {} : { absent }),
  };
}

export function encodingOf({ type, length }: PlacedPoint): Encoding {
  return {
    type: type === 'pad' ? 'uint16' : modbusTypes[type],
    length,
    wordOrder: 'big',
    byteOrder: 'big',
    bit: undefined,
  };
}
