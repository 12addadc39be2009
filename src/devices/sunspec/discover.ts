/** Finds the models of a SunSpec device [points §3.4]: the marker at one of three base addresses, then one model after the other. */
import type { AskUnit } from '../modbus/modbus-client.ts';
import { exceptionName } from '../modbus/modbus-frame.ts';

/** A model of the device. */
export interface PlacedModel {
  readonly model: number;
  /** Of its first point: the register after model number and length. */
  readonly register: number;
  readonly length: number;
}

/** Base addresses, in the order in which they are tried. */
export const bases = [40_000, 50_000, 0] as const;
const marker = 0x5375_6e53;
const endModel = 0xffff;
const headRegisters = 2;
const registerEnd = 65_536;
/** Maximum number of models of one device; real ones have a few dozen. */
export const modelsMaximum = 200;

/** The models, a text if there are none, null if the connection ended. */
export async function discoverModels(
  ask: AskUnit,
  unit: number,
  order: readonly number[] = bases,
): Promise<readonly PlacedModel[] | string | null> {
  for (const base of order) {
    const answer = await ask(unit, { code: 3, start: base, count: headRegisters });
    if (answer === null) return null;
    if (answer.kind === 'data' && answer.bytes.readUInt32BE() === marker)
      return modelsFrom(ask, unit, base + headRegisters);
  }
  return `no SunSpec device: "SunS" was not found at register ${order.join(', ')}`;
}

async function modelsFrom(ask: AskUnit, unit: number, first: number): Promise<readonly PlacedModel[] | string | null> {
  const models: PlacedModel[] = [];
  let at = first;
  while (at + headRegisters <= registerEnd) {
    const answer = await ask(unit, { code: 3, start: at, count: headRegisters });
    if (answer === null) return null;
    // Some devices have no end mark and refuse reads after their last model.
    if (answer.kind !== 'data')
      return models.length > 0 ? models : refused(answer.kind === 'exception' ? answer.code : 0, at);
    const model = answer.bytes.readUInt16BE(0);
    const length = answer.bytes.readUInt16BE(2);
    if (model === endModel) return models;
    if (models.length === modelsMaximum) return `the device lists more than ${modelsMaximum} models`;
    models.push({ model, register: at + headRegisters, length });
    at += headRegisters + length;
  }
  return models;
}

function refused(code: number, register: number): string {
  return `the device refuses its first model at register ${register}: ${exceptionName(code)}`;
}
