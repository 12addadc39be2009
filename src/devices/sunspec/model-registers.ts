/** The registers of a simulated SunSpec device: the marker, then each model with the values that are given for it. */
import { absentValue, type SunSpecPoint } from '../../site/sunspec/model.ts';
import { pointIn, sunSpecModel, sunSpecName } from '../../site/sunspec/models.ts';
import { encodeRegisters } from '../modbus/modbus-codec.ts';
import type { RegisterBank } from '../modbus/register-bank.ts';
import { registerPlace } from './sunspec-places.ts';

export interface GivenModel {
  readonly model: number;
  /** By point: raw values, before any power of ten; text for strings. What is not given is not implemented. */
  readonly values: Readonly<Record<string, number | string>>;
  /** Of a part that repeats. */
  readonly repetitions?: number;
}

/** Throws an Error that names the point which cannot be. */
export function fillModels(bank: RegisterBank, unit: number, base: number, models: readonly GivenModel[]): void {
  const write = (register: number, bytes: Buffer): void => {
    for (let at = 0; at < bytes.length; at += 2) bank.set('holding', register + at / 2, bytes.readUInt16BE(at));
  };
  write(base, Buffer.from('SunS'));
  let at = base + 2;
  for (const { model: number, values, repetitions = 0 } of models) {
    const model = sunSpecModel(number);
    if (model === undefined) throw new Error(`SunSpec model ${number} is not known`);
    const length = model.fixedLength + repetitions * model.repeatedLength;
    const placed = { model: number, register: at + 2, length };
    write(at, Buffer.from([number >> 8, number & 0xff, length >> 8, length & 0xff]));
    const repeated = Array.from({ length: repetitions }, (_, each) =>
      model.repeated.map(({ name }) => `${name}[${each + 1}]`),
    ).flat();
    const names = [...model.points.map(({ name }) => name), ...repeated];
    const unknown = Object.keys(values).filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`SunSpec model ${number} has no point ${unknown.join(', ')}`);
    for (const name of names) {
      const point = pointIn(model, sunSpecName(name)) ?? model.points.find((each) => each.name === name);
      if (point === undefined) continue;
      const { register, encoding } = registerPlace(placed, model, point, { unit, intervalMs: 0 });
      write(register, registersOf(point, values[name], encoding));
    }
    at = placed.register + length;
  }
  write(at, Buffer.from([0xff, 0xff, 0, 0]));
}

function registersOf(
  point: SunSpecPoint,
  given: number | string | undefined,
  encoding: ReturnType<typeof registerPlace>['encoding'],
): Buffer {
  const bytes = Buffer.alloc(point.length * 2);
  if (typeof given === 'string') {
    if (point.type !== 'string' || Buffer.byteLength(given) > bytes.length)
      throw new Error(`${point.name} cannot be "${given}"`);
    bytes.write(given);
    return bytes;
  }
  if (point.type === 'string' || point.type === 'pad') return bytes;
  if (given === undefined) return absentRegisters(point);
  const encoded = encodeRegisters(given, encoding);
  if (encoded === null) throw new Error(`${point.name} cannot be ${given}`);
  return encoded;
}

/** "Not implemented" on the wire. */
function absentRegisters({ type, length }: SunSpecPoint): Buffer {
  if (type === 'sunssf' || type === 'int16' || type === 'int32')
    return Buffer.from([0x80, ...Array.from({ length: length * 2 - 1 }, () => 0)]);
  if (type === 'float32') return Buffer.from([0x7f, 0xc0, 0, 0]);
  return Buffer.alloc(length * 2, absentValue(type) === 0 ? 0 : 0xff);
}
