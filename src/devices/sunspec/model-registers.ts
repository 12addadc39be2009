/** The registers of a simulated SunSpec device: the marker, then each model with the given values. */
import { countPoints, modelLength, type PlacedPoint, placedPoints } from '../../site/sunspec/layout.ts';
import { absentValue } from '../../site/sunspec/model.ts';
import { packagedModels, type SunSpecModels } from '../../site/sunspec/models.ts';
import { encodeRegisters } from '../modbus/modbus-codec.ts';
import type { RegisterBank } from '../modbus/register-bank.ts';
import { encodingOf } from './sunspec-places.ts';

export interface GivenModel {
  readonly model: number;
  /**
   * By point: raw values, before any power of ten; text for strings. A point that is left out holds the value that SunSpec reserves for
   * absent points.
   */
  readonly values: Readonly<Record<string, number | string>>;
  /** Of the group without a count; other groups are repeated as the values of their count points demand. */
  readonly repetitions?: number;
}

/** Throws an Error that names the invalid point. */
export function fillModels(
  bank: RegisterBank,
  unit: number,
  base: number,
  models: readonly GivenModel[],
  known: SunSpecModels = packagedModels,
): void {
  const write = (register: number, bytes: Buffer): void => {
    for (let at = 0; at < bytes.length; at += 2) bank.set('holding', register + at / 2, bytes.readUInt16BE(at));
  };
  write(base, Buffer.from('SunS'));
  let at = base + 2;
  for (const { model: number, values, repetitions = 0 } of models) {
    const model = known.get(number);
    if (model === undefined) throw new Error(`SunSpec model ${number} is not known`);
    const counts = Object.fromEntries(countPoints(model).map(({ name }) => [name, Number(values[name] ?? 0)]));
    const length = modelLength(model, counts, repetitions);
    write(at, Buffer.from([number >> 8, number & 0xff, length >> 8, length & 0xff]));
    const points = placedPoints(model, { length, counts });
    const names = new Set(points.map(({ name }) => name));
    const unknown = Object.keys(values).filter((name) => !names.has(name));
    if (unknown.length > 0) throw new Error(`SunSpec model ${number} has no point ${unknown.join(', ')}`);
    for (const point of points) write(at + 2 + point.offset, registersOf(point, values[point.name]));
    at += 2 + length;
  }
  write(at, Buffer.from([0xff, 0xff, 0, 0]));
}

function registersOf(point: PlacedPoint, given: number | string | undefined): Buffer {
  const bytes = Buffer.alloc(point.length * 2);
  if (typeof given === 'string') {
    if (point.type !== 'string' || Buffer.byteLength(given) > bytes.length)
      throw new Error(`${point.name} cannot be "${given}"`);
    bytes.write(given);
    return bytes;
  }
  if (point.type === 'string' || point.type === 'pad') return bytes;
  if (given === undefined) return absentRegisters(point);
  const encoded = encodeRegisters(given, encodingOf(point));
  if (encoded === null) throw new Error(`${point.name} cannot be ${given}`);
  return encoded;
}

/** "Not implemented" on the wire. */
function absentRegisters({ type, length }: PlacedPoint): Buffer {
  if (type === 'sunssf' || type === 'int16' || type === 'int32' || type === 'int64')
    return Buffer.from([0x80, ...Array.from({ length: length * 2 - 1 }, () => 0)]);
  if (type === 'float32') return Buffer.from([0x7f, 0xc0, 0, 0]);
  if (type === 'float64') return Buffer.from([0x7f, 0xf8, 0, 0, 0, 0, 0, 0]);
  return Buffer.alloc(length * 2, absentValue(type) === 0 ? 0 : 0xff);
}
