/**
 * The package's templates [rules §13.3]: each makes a rule that the service would store, passes its own tests with any numbers in range,
 * and is tried on the demo's measured load and PV over a week, with the demo's battery in the loop where it commands one.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ruleLoader } from '../../src/automation/loaded-rule.ts';
import { deriveColumns } from '../../src/automation/rule-document.ts';
import { readSeries, seriesValueAt } from '../../src/devices/simulated/series.ts';
import { Backtest, type BacktestResult } from '../../src/rules/backtest/backtest.ts';
import type { PlantAssumption } from '../../src/rules/backtest/plant-run.ts';
import type { SampledValue } from '../../src/rules/backtest/simulation.ts';
import { runTest } from '../../src/rules/rule-test.ts';
import { packageTemplates } from '../../src/rules/template/index.ts';
import {
  instantiate,
  type NumberArguments,
  type PointArguments,
  type RuleTemplate,
  type TemplateContent,
} from '../../src/rules/template/template.ts';
import type { PointRef } from '../../src/site/catalogue.ts';
import { readSite } from '../../src/site/site.ts';
import { siteCatalogue } from '../../src/site/site-catalogue.ts';
import { engineRule } from '../../src/testing/tank-site.ts';

const folder = 'config/demo';
const site = readSite(readFileSync(join(folder, 'site.yaml'), 'utf8'), 'site.yaml');
const catalogue = siteCatalogue(site);
const ref = (instance: number, point_type: PointRef['point_type'], point: number): PointRef => ({
  instance,
  point_type,
  point,
});
/** The demo point for each parameter; the demo's outputs serve as charger and heater. */
const points: PointArguments = {
  load: ref(2, 'measurement', 1),
  pv: ref(3, 'measurement', 1),
  soc: ref(4, 'measurement', 1),
  import: ref(1, 'measurement', 1),
  setpoint: ref(4, 'action', 1),
  pv_limit: ref(3, 'action', 1),
  charging: ref(4, 'action', 1),
  release: ref(5, 'action', 1),
};
const pointsFor = (template: RuleTemplate): PointArguments =>
  Object.fromEntries(
    template.points.map(({ name }) => {
      const point = points[name];
      if (point === undefined) throw new Error(`the demo has nothing for ${name}`);
      return [name, point];
    }),
  );
const limits = {
  tick_interval_ms: 60_000,
  event_min_interval_ms: 20,
  evaluations_max: 1_000_000,
  differences_max: 10,
  plant_step_ms: 60_000,
};

function loaded(content: TemplateContent) {
  const derived = deriveColumns(content, catalogue);
  const trigger_config = JSON.stringify({ type: 'interval', interval_ms: 60_000 });
  const row = engineRule(1, { nodes_json: derived.flow?.nodes_json ?? '{}', trigger_config });
  const { scheduled, compiled } = ruleLoader(limits).load(row, catalogue);
  if (compiled === null) throw new Error('the rule does not compile');
  return { derived, scheduled, compiled };
}

const fromMs = Date.parse('2026-06-15T00:00:00Z');
const toMs = fromMs + 7 * 86_400_000;
const series = (name: string) => readSeries(readFileSync(join(folder, 'series', name), 'utf8'), name, site.timezone);
const loadSeries = series('load-steel-site.csv');
const pvSeries = series('pv-hfdp.csv');
const indexOf = (point: PointRef): number => catalogue.point(point)?.index ?? -1;
const plant: PlantAssumption = {
  battery: { capacityKwh: 800, maxPowerKw: 250, efficiency: 0.9025 },
  initialSoc: 55,
  setpoint: { index: indexOf(ref(4, 'action', 1)), kwPerUnit: 1 },
  soc: indexOf(ref(4, 'measurement', 1)),
  power: { index: indexOf(ref(4, 'measurement', 2)), kwPerUnit: 1 },
  load: { index: indexOf(ref(2, 'measurement', 1)), kwPerUnit: 1 },
  pv: { index: indexOf(ref(3, 'measurement', 1)), kwPerUnit: 1 },
  grid: { index: indexOf(ref(1, 'measurement', 1)), kwPerUnit: 1 },
};

/** A week of the demo's measured series, one reading a minute. */
function backtested(content: TemplateContent, inLoop: boolean): BacktestResult {
  const { scheduled, compiled } = loaded(content);
  const backtest = new Backtest({
    candidate: { scheduled, compiled },
    running: null,
    baseline: null,
    recorded: [],
    catalogue,
    limits,
    recordIntervalMs: 60_000,
    fromMs,
    toMs,
    pointsMax: 1000,
    plant: inLoop ? plant : null,
  });
  for (let atMs = fromMs; atMs < toMs; atMs += 60_000) {
    const [load, pv] = [seriesValueAt(loadSeries, atMs, site.timezone), seriesValueAt(pvSeries, atMs, site.timezone)];
    const sample = (index: number, value: number): SampledValue => ({ atMs, index, value, isUncertain: false });
    const grid = inLoop ? [] : [sample(plant.grid?.index ?? -1, load - pv)];
    backtest.take(atMs, [sample(plant.load.index, load), sample(plant.pv.index, pv), ...grid]);
  }
  return backtest.end();
}

describe.each(packageTemplates)('[rules §13.3] $name', (template) => {
  const usual = instantiate(template, pointsFor(template), {});

  test('creates a rule without a warning, with its origin', () => {
    const { derived } = loaded(usual);
    expect(derived.warnings).toEqual([]);
    expect(usual.flow_json).toMatchObject({
      from_template: { template: template.name, version: template.version, points: pointsFor(template) },
    });
  });

  test('passes its own tests, with its defaults and with other numbers', () => {
    const passes = (numbers: NumberArguments): void => {
      const content = instantiate(template, pointsFor(template), numbers);
      const { compiled } = loaded(content);
      expect(content.tests.length).toBeGreaterThan(1);
      for (const each of content.tests) {
        const { passed, differences } = runTest(compiled, each, catalogue);
        expect(passed, `${each.name}: ${JSON.stringify(differences)}`).toBe(true);
      }
    };
    passes({});
    const numbers = fc.record(
      Object.fromEntries(
        template.numbers.map(({ name, max, default: chosen }) => [
          name,
          fc.constantFrom(...[chosen, chosen + 1, chosen * 2 + 3].filter((value) => max === null || value <= max)),
        ]),
      ),
    );
    fc.assert(fc.property(numbers, passes), { numRuns: 10 });
  });

  test('over a week of the demo it decides both ways, never fails, and commands within the range', () => {
    const hasBattery = template.points.some(({ name }) => name === 'setpoint');
    const { evaluations, outcomes, outputs_share: shares, writes, plant: found } = backtested(usual, hasBattery);
    expect(evaluations).toBe((toMs - fromMs) / 60_000);
    expect(outcomes).toMatchObject({ skipped: 0, failed: 0 });
    const taken = Object.keys(shares['decide'] ?? {});
    // The demo's load never approaches the default connection limit.
    expect(taken.length, JSON.stringify(shares)).toBeGreaterThanOrEqual(template.name === 'ev-load-management' ? 1 : 2);
    expect(writes.length).toBeGreaterThan(0);
    if (hasBattery) for (const { value } of found?.soc ?? []) expect(value >= 0 && value <= 100).toBe(true);
  });
});

test('[rules §13.3] hours across midnight: charges from evening to morning; equal hours charge never', () => {
  const template = packageTemplates.find(({ name }) => name === 'battery-night-charge');
  if (template === undefined) throw new Error('no such template');
  /** Local hours of a winter day in which it charges. */
  const hours = (from_hour: number, to_hour: number): number[] => {
    const content = instantiate(template, pointsFor(template), { from_hour, to_hour });
    const { compiled } = loaded(content);
    const charges = (localHour: number): boolean => {
      const at = new Date(Date.parse('2026-01-15T23:30:00Z') + localHour * 3_600_000).toISOString();
      const given = [{ ...ref(4, 'measurement', 1), value: 40 }];
      const then = { writes: [{ instance: 4, point: 1, value: -50 }] };
      return runTest(compiled, { name: 'charges', at, given, then }, catalogue).passed;
    };
    return Array.from({ length: 24 }, (_, hour) => hour).filter(charges);
  };
  expect(hours(22, 6)).toEqual([0, 1, 2, 3, 4, 5, 22, 23]);
  expect(hours(1, 5)).toEqual([1, 2, 3, 4]);
  expect(hours(0, 24)).toHaveLength(24);
  expect(hours(7, 7)).toEqual([]);
});
