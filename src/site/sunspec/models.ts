/** The SunSpec models that Setpoint knows [points §3.4]. A model is a line here and its points in `*-models.ts`. */
import { batteryModels } from './battery-models.ts';
import { commonModels } from './common-models.ts';
import { derModels } from './der-models.ts';
import { inverterModels } from './inverter-models.ts';
import { meterModels } from './meter-models.ts';
import type { SunSpecModel, SunSpecPoint } from './model.ts';

const models: readonly SunSpecModel[] = [
  ...commonModels,
  ...inverterModels,
  ...batteryModels,
  ...meterModels,
  ...derModels,
];

const byNumber = new Map(models.map((model) => [model.model, model]));

export const sunSpecModels: readonly SunSpecModel[] = models;

export function sunSpecModel(model: number): SunSpecModel | undefined {
  return byNumber.get(model);
}

/** `DCW[2]` is the second repetition of `DCW`; a point that does not repeat has no number. */
export interface PointName {
  readonly name: string;
  /** From 1. */
  readonly repetition: number | undefined;
}

export function sunSpecName(text: string): PointName {
  const [, name = text, digits] = /^([A-Za-z0-9_]+)\[([1-9]\d{0,2})\]$/.exec(text) ?? [];
  return { name, repetition: digits === undefined ? undefined : Number(digits) };
}

/** The point of that name, with its offset in a model that has enough repetitions. */
export function pointIn(model: SunSpecModel, { name, repetition }: PointName): SunSpecPoint | undefined {
  if (repetition === undefined) return model.points.find((point) => point.name === name && point.type !== 'pad');
  const point = model.repeated.find((each) => each.name === name && each.type !== 'pad');
  if (point === undefined) return undefined;
  return { ...point, offset: model.fixedLength + (repetition - 1) * model.repeatedLength + point.offset };
}
