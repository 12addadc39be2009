/** Which points make up the balance of a site: of each instance the power that it exchanges, and the level of a storage. */
import type { PointEntry } from '../points/point-queries.ts';

export interface BalanceTile {
  readonly power: PointEntry;
  /** State of charge, where the instance has one. */
  readonly level: PointEntry | null;
}

const powerUnits: readonly string[] = ['W', 'kW', 'MW', 'GW'];
/** Instances of one page; more would be no overview. */
const tilesMax = 12;

export function balanceOf(points: readonly PointEntry[]): BalanceTile[] {
  const measured = points.filter(({ point_type: kind }) => kind === 'measurement');
  const byInstance = Map.groupBy(measured, ({ instance }) => instance);
  return [...byInstance.values()]
    .flatMap((own): BalanceTile[] => {
      const power = own.find(({ unit, name }) => powerUnits.includes(unit) && /power/i.test(name));
      const level = own.find(({ unit, name }) => unit === '%' && /soc|charge/i.test(name)) ?? null;
      return power === undefined ? [] : [{ power, level }];
    })
    .slice(0, tilesMax);
}
