/** The points of the models of a SunSpec device [points §3.4]: the repeat count of groups is read from the device. */
import { countPoints, type PlacedPoint, placedPoints } from '../../site/sunspec/layout.ts';
import type { SunSpecModel } from '../../site/sunspec/model.ts';
import type { SunSpecModels } from '../../site/sunspec/models.ts';
import type { AskUnit } from '../modbus/modbus-client.ts';
import type { PlacedModel } from './discover.ts';

export interface LaidOutModel extends PlacedModel {
  /** Null for an unknown model, which has no points. */
  readonly name: string | null;
  readonly points: readonly PlacedPoint[];
}

const notImplemented = 0xffff;

/** Null if the connection ended. */
export async function layOutModels(
  ask: AskUnit,
  unit: number,
  models: readonly PlacedModel[],
  known: SunSpecModels,
): Promise<readonly LaidOutModel[] | null> {
  const laidOut: LaidOutModel[] = [];
  for (const placed of models) {
    const model = known.get(placed.model);
    const counts = model === undefined ? {} : await countsOf(ask, unit, placed, model);
    if (counts === null) return null;
    const points = model === undefined ? [] : placedPoints(model, { length: placed.length, counts });
    laidOut.push({ ...placed, name: model?.name ?? null, points });
  }
  return laidOut;
}

async function countsOf(
  ask: AskUnit,
  unit: number,
  { register, length }: PlacedModel,
  model: SunSpecModel,
): Promise<Record<string, number> | null> {
  const counts: Record<string, number> = {};
  for (const { name, offset } of countPoints(model)) {
    if (offset >= length) continue;
    const answer = await ask(unit, { code: 3, start: register + offset, count: 1 });
    if (answer === null) return null;
    // A device that refuses it, or has none, has no such groups.
    const count = answer.kind === 'data' ? answer.bytes.readUInt16BE() : notImplemented;
    if (count !== notImplemented) counts[name] = count;
  }
  return counts;
}
