/** The SunSpec models of the package [points §3.4]. A model is one line here, with its points in `*-models.ts`. */
import { batteryModels } from './battery-models.ts';
import { commonModels } from './common-models.ts';
import { derModels } from './der-models.ts';
import { inverterModels } from './inverter-models.ts';
import { meterModels } from './meter-models.ts';
import type { SunSpecModel } from './model.ts';

const models: readonly SunSpecModel[] = [
  ...commonModels,
  ...inverterModels,
  ...batteryModels,
  ...meterModels,
  ...derModels,
];

/** By number. */
export type SunSpecModels = ReadonlyMap<number, SunSpecModel>;

export const packagedModels: SunSpecModels = new Map(models.map((model) => [model.model, model]));

/** Those of the package and those of the site, which override models of the package with the same number. */
export function modelsWith(own: readonly SunSpecModel[] = []): SunSpecModels {
  return own.length === 0
    ? packagedModels
    : new Map([...packagedModels, ...own.map((each) => [each.model, each] as const)]);
}
