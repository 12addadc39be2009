/** The plant that a backtest assumes [rules §10.6]: the points that the caller names, with their units and signs. */
import type { Static } from 'typebox';
import type { ruleBacktest } from '../api/backtest.ts';
import { Fault } from '../base/fault.ts';
import type { PlantAssumption, PlantPoint } from '../rules/backtest/plant-run.ts';
import type { PointKind } from '../site/catalogue.ts';
import type { Site, SitePoint } from '../site/site.ts';

type Assumption = NonNullable<Static<typeof ruleBacktest.run.body>['assume']>;
interface PointNumbers {
  readonly instance: number;
  readonly point: number;
}

const kwByUnit: Readonly<Record<string, number>> = { W: 0.001, kW: 1, MW: 1000 };
/** Conventions under which a positive value means the opposite of what the plant counts as positive. */
const opposite: Readonly<Record<string, readonly string[]>> = {
  battery: ['positive_charge', 'positive_consumption', 'positive_import'],
  load: ['positive_generation', 'positive_production', 'positive_export'],
  pv: ['positive_consumption', 'positive_import'],
  grid: ['positive_export'],
};

export function plantAssumption(site: Site, { battery, load, pv, grid }: Assumption): PlantAssumption {
  const pointAt = (path: string, kind: PointKind, { instance, point: id }: PointNumbers): SitePoint => {
    const found = site.points.find((point) => point.instance === instance && point.kind === kind && point.id === id);
    if (found !== undefined) return found;
    throw new Fault('invalid-input', `body /assume/${path}: the site has no ${kind} point ${instance}:${id}`);
  };
  const power = (path: string, kind: PointKind, numbers: PointNumbers): PlantPoint => {
    const { index, unit, signConvention } = pointAt(path, kind, numbers);
    const kwPerUnit = kwByUnit[unit];
    if (kwPerUnit === undefined)
      throw new Fault('invalid-input', `body /assume/${path}: its unit is ${unit}; choose a point in W, kW or MW`);
    const part = path.split('/')[0] ?? path;
    const isOpposite = signConvention !== undefined && opposite[part]?.includes(signConvention) === true;
    return { index, kwPerUnit: isOpposite ? -kwPerUnit : kwPerUnit };
  };
  return {
    battery: {
      capacityKwh: battery.capacity_kwh,
      maxPowerKw: battery.max_power_kw,
      efficiency: battery.efficiency,
    },
    initialSoc: battery.initial_soc ?? null,
    setpoint: power('battery/setpoint', 'action', battery.setpoint),
    soc: socPoint(pointAt('battery/soc', 'measurement', battery.soc)),
    power: battery.power === undefined ? null : power('battery/power', 'measurement', battery.power),
    load: power('load', 'measurement', load),
    pv: power('pv', 'measurement', pv),
    grid: grid === undefined ? null : power('grid', 'measurement', grid),
  };
}

function socPoint({ index, unit }: SitePoint): number {
  if (unit === '%') return index;
  throw new Fault('invalid-input', `body /assume/battery/soc: its unit is ${unit}; choose a point in %`);
}
