/** The points of an assumed plant [rules §10.6]: their units and signs. */
import { describe, expect, test } from 'vitest';
import { readSite } from '../site/site.ts';
import { plantAssumption } from './plant-assumption.ts';

const site = readSite(
  `
schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels: [{ id: derived, driver: virtual }]
instances:
  - id: 1
    name: plant
    points:
      - { id: 1, name: setpoint, kind: action, unit: W, channel: derived, sign_convention: positive_charge }
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: derived }
      - { id: 2, name: power, kind: measurement, unit: MW, channel: derived, sign_convention: positive_discharge }
      - { id: 3, name: load, kind: measurement, unit: kW, channel: derived, sign_convention: positive_consumption }
      - { id: 4, name: pv, kind: measurement, unit: kW, channel: derived }
      - { id: 5, name: grid, kind: measurement, unit: kW, channel: derived, sign_convention: positive_export }
`,
  'site.yaml',
);
const at = (point: number) => ({ instance: 1, point });
const battery = { capacity_kwh: 10, max_power_kw: 5, efficiency: 0.9, setpoint: at(1), soc: at(1), power: at(2) };

describe('[rules §10.6] the points of an assumed plant', () => {
  test('W, kW and MW are converted, and an opposite sign is turned around', () => {
    const plant = plantAssumption(site, { battery, load: at(3), pv: at(4), grid: at(5) });
    expect(plant).toEqual({
      battery: { capacityKwh: 10, maxPowerKw: 5, efficiency: 0.9 },
      initialSoc: null,
      setpoint: { index: 0, kwPerUnit: -0.001 },
      soc: 1,
      power: { index: 2, kwPerUnit: 1000 },
      load: { index: 3, kwPerUnit: 1 },
      pv: { index: 4, kwPerUnit: 1 },
      grid: { index: 5, kwPerUnit: -1 },
    });
  });

  test('a charge in another unit than percent is refused, and so is a power in percent', () => {
    expect(() => plantAssumption(site, { battery: { ...battery, soc: at(3) }, load: at(3), pv: at(4) })).toThrow(
      'body /assume/battery/soc: its unit is kW; choose a point in %',
    );
    expect(() => plantAssumption(site, { battery, load: at(1), pv: at(4) })).toThrow(
      'body /assume/load: its unit is %; choose a point in W, kW or MW',
    );
  });
});
