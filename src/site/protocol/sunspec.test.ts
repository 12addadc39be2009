/** The address of a SunSpec point [points §3.4], and the unit of the point. */
import { describe, expect, test } from 'vitest';
import { curves } from '../../testing/sunspec-definition.ts';
import { readSite } from '../site.ts';
import { readModelDefinition } from '../sunspec/definition.ts';

const text = (point: string): string => `schema: svc.site.v1
site: { id: s, name: s, timezone: UTC }
channels: [{ id: inverter, driver: sunspec, host: 10.0.0.7 }]
instances:
  - id: 1
    name: inverter
    points:
      - { id: 1, name: p, channel: inverter, ${point} }
`;

function refusal(point: string): string[] {
  try {
    readSite(text(point), 'site.yaml');
  } catch (error) {
    return error instanceof Error ? error.message.split('\n') : [];
  }
  return [];
}

describe('[points §3.4] the address of a SunSpec point', () => {
  test.each([
    ['kind: measurement, unit: W, address: { model: 999, point: W }', 'SunSpec model 999 is not known'],
    ['kind: measurement, unit: W, address: { point: Watts }', 'no SunSpec model has a point Watts'],
    ['kind: measurement, unit: W, address: { model: 103, point: SoC }', 'SunSpec model 103 has no point SoC'],
    ['kind: measurement, unit: W, address: { point: W, nth: 2 }', 'set model'],
    ['kind: action, unit: W, address: { model: 103, point: W }', 'W cannot be written'],
    ['kind: measurement, unit: kWh, address: { model: 103, point: W }', 'cannot be converted to kWh'],
    ['kind: measurement, unit: "1", record: true, address: { point: Mn }', 'text is not recorded'],
  ])('%s is refused', (point, reason) => {
    expect(refusal(point)).toEqual([expect.stringContaining(reason)]);
  });

  test('a model of the site is known to its points, and overrides one of the package with the same number', () => {
    const own = [64_901, 103].map((model) =>
      readModelDefinition(JSON.stringify({ ...curves, id: model }), 'model.json'),
    );
    const site = (point: string) =>
      readSite(text(point), 'site.yaml', { templates: new Map(), sunSpecModels: own }).points[0]?.scale;
    expect(site('kind: measurement, unit: kV, address: { model: 64901, point: "Crv[1].Pt[2].V" }')).toBe(0.001);
    expect(site('kind: action, unit: V, address: { model: 103, point: "Crv[1].Pt[2].V" }')).toBe(1);
    expect(() => site('kind: measurement, unit: W, address: { model: 103, point: W }')).toThrow(
      'SunSpec model 103 has no point W',
    );
    expect(() => site('kind: action, unit: Wh, address: { point: Total }')).toThrow('Total cannot be written');
  });

  test('the unit of the point gives the scale, unless the point has one', () => {
    const scaleOf = (more: string): number | undefined =>
      readSite(text(`kind: measurement, ${more} address: { model: 103, point: W }`), 'site.yaml').points[0]?.scale;
    expect([scaleOf('unit: kW,'), scaleOf('unit: MW,'), scaleOf('unit: kWh, scale: 3,')]).toEqual([0.001, 1e-6, 3]);
  });
});
