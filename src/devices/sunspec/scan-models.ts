/** Every model of a SunSpec device, and what the points of the known ones hold now. */
import { absentValue, type SunSpecModel, type SunSpecPoint } from '../../site/sunspec/model.ts';
import { pointIn, sunSpecModel } from '../../site/sunspec/models.ts';
import type { ScanAnswer } from '../driver.ts';
import type { AskUnit } from '../modbus/modbus-client.ts';
import { decodeRegisters, decodeText, exponentOf, scaledBy } from '../modbus/modbus-codec.ts';
import { discoverModels, type PlacedModel } from './discover.ts';
import { registerPlace } from './sunspec-places.ts';

type ScannedModel = ScanAnswer['models'][number];

/** Null when the connection ended, or where there is no SunSpec device. */
export async function scanModels(ask: AskUnit, unit: number, maxRegisters: number): Promise<ScanAnswer | null> {
  const models = await discoverModels(ask, unit);
  if (models === null || typeof models === 'string') return null;
  const scanned: ScannedModel[] = [];
  for (const placed of models) {
    const known = sunSpecModel(placed.model);
    const bytes = known === undefined ? undefined : await modelBytes(ask, unit, placed, maxRegisters);
    if (bytes === null) return null;
    scanned.push({
      ...placed,
      name: known?.name ?? null,
      points: known === undefined || bytes === undefined ? [] : pointsOf(placed, known, bytes, unit),
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
    // What it refuses is not implemented.
    parts.push(answer.kind === 'data' ? answer.bytes : Buffer.alloc(count * 2, 0xff));
  }
  return Buffer.concat(parts);
}

function pointsOf(placed: PlacedModel, model: SunSpecModel, bytes: Buffer, unit: number): ScannedModel['points'] {
  const repetitions =
    model.repeatedLength === 0 ? 0 : Math.floor((placed.length - model.fixedLength) / model.repeatedLength);
  const repeated = Array.from({ length: Math.max(0, repetitions) }, (_, at) =>
    model.repeated.flatMap(({ name }) => {
      const point = pointIn(model, { name, repetition: at + 1 });
      return point === undefined ? [] : [{ ...point, name: `${name}[${at + 1}]` }];
    }),
  ).flat();
  return [...model.points, ...repeated]
    .filter(({ type, offset, length }) => type !== 'pad' && type !== 'sunssf' && offset + length <= placed.length)
    .map((point) => ({ point: point.name, unit: point.unit, value: valueOf(placed, model, point, bytes, unit) }));
}

function valueOf(
  placed: PlacedModel,
  model: SunSpecModel,
  point: SunSpecPoint,
  bytes: Buffer,
  unit: number,
): number | string | null {
  const { encoding, scaleFrom } = registerPlace(placed, model, point, { unit, intervalMs: 0 });
  const part = (offset: number, length: number): Buffer => bytes.subarray(offset * 2, (offset + length) * 2);
  if (point.type === 'string') return decodeText(part(point.offset, point.length), encoding);
  const raw = decodeRegisters(part(point.offset, point.length), encoding);
  if (Object.is(raw, absentValue(point.type)) || !Number.isFinite(raw)) return null;
  const exponent = scaleFrom === undefined ? 0 : exponentOf(part(scaleFrom - placed.register, 1));
  return exponent === null ? null : scaledBy(raw, exponent);
}
