/**
 * The power balance of a site, from its points' own metadata: for each instance its first power measurement, the direction given
 * by the sign convention, and a storage's level. The unmeasured remainder is shown as the rest.
 */
import type { PointEntry } from '../points/point-queries.ts';
import { isGood } from '../points/point-words.ts';

type FeederKind = 'grid' | 'load' | 'source' | 'storage';
export type FlowDirection = 'in' | 'out' | 'still';

export interface Feeder {
  readonly power: PointEntry;
  /** State of charge, where the instance has one. */
  readonly level: PointEntry | null;
  /** Null for a point without a sign convention: nobody knows which way it flows. */
  readonly sign: { readonly kind: FeederKind; readonly positiveIs: 'in' | 'out' } | null;
}

const wattsOf: Readonly<Record<string, number>> = { W: 1, kW: 1e3, MW: 1e6, GW: 1e9 };
const signs: Readonly<Record<string, Feeder['sign']>> = {
  positive_import: { kind: 'grid', positiveIs: 'in' },
  positive_export: { kind: 'grid', positiveIs: 'out' },
  positive_generation: { kind: 'source', positiveIs: 'in' },
  positive_production: { kind: 'source', positiveIs: 'in' },
  positive_discharge: { kind: 'storage', positiveIs: 'in' },
  positive_charge: { kind: 'storage', positiveIs: 'out' },
  positive_consumption: { kind: 'load', positiveIs: 'out' },
};
const order: readonly (FeederKind | undefined)[] = ['grid', 'source', 'storage', 'load', undefined];
/** Of all flows together: what is less is how exactly meters agree. */
const balancedShare = 0.001;

/** The grid first, then what delivers, what stores, and what consumes. */
export function feedersOf(points: readonly PointEntry[]): Feeder[] {
  const measured = points.filter(({ point_type: kind }) => kind === 'measurement');
  const byInstance = Map.groupBy(measured, ({ instance }) => instance);
  return [...byInstance.values()]
    .flatMap((own): Feeder[] => {
      const powers = own.filter(({ unit }) => Object.hasOwn(wattsOf, unit));
      const power = powers.find((each) => signOf(each) !== null) ?? powers.find(({ name }) => /power/i.test(name));
      const level = own.find(({ unit, name }) => unit === '%' && /soc|charge/i.test(name)) ?? null;
      return power === undefined ? [] : [{ power, level, sign: signOf(power) }];
    })
    .toSorted((one, other) => order.indexOf(one.sign?.kind) - order.indexOf(other.sign?.kind));
}

function signOf({ sign_convention: convention }: PointEntry): Feeder['sign'] {
  return convention === null ? null : (signs[convention] ?? null);
}

/** Of the busbar: `in` feeds it. Null where it is not known. */
export function directionOf(
  { sign }: Pick<Feeder, 'sign'>,
  { value }: Pick<PointEntry, 'value'>,
): FlowDirection | null {
  if (sign === null || value === null) return null;
  if (value === 0) return 'still';
  if (value > 0) return sign.positiveIs;
  return sign.positiveIs === 'in' ? 'out' : 'in';
}

/**
 * Inflow minus outflow, in the unit of the first feeder: positive where more comes in than is accounted for. Null unless a grid
 * connection is measured and every feeder has a sign and a good value: an incomplete sum would mislead.
 */
export function restOf(feeders: readonly Feeder[]): number | null {
  const scale = wattsOf[feeders[0]?.power.unit ?? ''];
  if (scale === undefined || !feeders.some(({ sign }) => sign?.kind === 'grid')) return null;
  let watts = 0;
  let gross = 0;
  for (const { power, sign } of feeders) {
    const unit = wattsOf[power.unit];
    if (sign === null || unit === undefined || power.value === null || !isGood(power)) return null;
    watts += (sign.positiveIs === 'in' ? power.value : -power.value) * unit;
    gross += Math.abs(power.value) * unit;
  }
  return Math.abs(watts) <= gross * balancedShare ? 0 : watts / scale;
}
