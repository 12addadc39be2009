/** Every model of a SunSpec device, and the current values of the known ones. */
import { Fault } from '../../base/fault.ts';
import type { PlacedPoint } from '../../site/sunspec/layout.ts';
import { absentValue } from '../../site/sunspec/model.ts';
import type { SunSpecModels } from '../../site/sunspec/models.ts';
import type { ScanAnswer } from '../driver.ts';
import type { AskUnit } from '../modbus/modbus-client.ts';
import { decodeRegisters, decodeText, exponentOf, scaledBy } from '../modbus/modbus-codec.ts';
import type { ScanOfUnit } from '../modbus/scan-registers.ts';
import { discoverModels, type PlacedModel } from './discover.ts';
import { layOutModels } from './lay-out-models.ts';
import { encodingOf } from './sunspec-places.ts';

type ScannedModel = ScanAnswer['models'][number];

/** Null if the connection ended. Throws a Fault if the unit has no models, or if registers were chosen. */
export async function scanModels(
  ask: AskUnit,
  { unit, table, from, count }: ScanOfUnit,
  maxRegisters: number,
  known: SunSpecModels,
): Promise<ScanAnswer | null> {
  if (table !== undefined || from !== undefined || count !== undefined)
    throw new Fault('invalid-input', 'a SunSpec device is scanned for its models: leave out table, from and count');
  const found = await discoverModels(ask, unit);
  if (found === null) return null;
  if (typeof found === 'string') throw new Fault('engine-unavailable', `unit ${unit}: ${found}`);
  const models = await layOutModels(ask, unit, found, known);
  if (models === null) return null;
  const scanned: ScannedModel[] = [];
  for (const { points, ...placed } of models) {
    const bytes = points.length === 0 ? undefined : await modelBytes(ask, unit, placed, maxRegisters);
    if (bytes === null) return null;
    scanned.push({
      ...placed,
      points:
        bytes === undefined
          ? []
          : points
              .filter(({ type }) => type !== 'pad' && type !== 'sunssf')
              .map((point) => ({ point: point.name, unit: point.unit, value: valueOf(point, bytes) })),
    });
  }
  return { registers: [], models: scanned };
}

async function modelBytes(
  ask: AskUnit,
  unit: number,
  { register, length }: PlacedModel,
  maxRegisters: number,
): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  for (let at = 0; at < length; at += maxRegisters) {
    const count = Math.min(maxRegisters, length - at);
    const answer = await ask(unit, { code: 3, start: register + at, count });
    if (answer === null) return null;
    // A register that the device refuses counts as absent.
    parts.push(answer.kind === 'data' ? answer.bytes : Buffer.alloc(count * 2, 0xff));
  }
  return Buffer.concat(parts);
}

function valueOf(point: PlacedPoint, bytes: Buffer): number | string | null {
  const encoding = encodingOf(point);
  const part = (offset: number, length: number): Buffer => bytes.subarray(offset * 2, (offset + length) * 2);
  if (point.type === 'string') return decodeText(part(point.offset, point.length), encoding);
  const raw = decodeRegisters(part(point.offset, point.length), encoding);
  if (Object.is(raw, absentValue(point.type)) || !Number.isFinite(raw)) return null;
  const exponent = point.scaleOffset === undefined ? point.exponent : exponentOf(part(point.scaleOffset, 1));
  return exponent === null ? null : scaledBy(raw, exponent);
}
