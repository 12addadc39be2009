/** The closed loop of a backtest [rules §10.6], against the simulated plant and against a loop that looks at every step. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ruleLoader } from '../../automation/loaded-rule.ts';
import { commandPlant, initialPlant, stepPlant } from '../../devices/simulated/simulated-model.ts';
import { readSite } from '../../site/site.ts';
import { siteCatalogue } from '../../site/site-catalogue.ts';
import { engineRule } from '../../testing/tank-site.ts';
import { Backtest, type BacktestResult, type RuleBacktestParts } from './backtest.ts';
import { PlantModel } from './plant-model.ts';
import type { PlantAssumption } from './plant-run.ts';

const site = readSite(
  `
schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels: [{ id: derived, driver: virtual }]
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: derived, max_age_ms: 5000 }
      - { id: 2, name: power, kind: measurement, unit: kW, channel: derived, max_age_ms: 5000 }
      - { id: 1, name: setpoint, kind: action, unit: kW, channel: derived, min: -50, max: 50 }
  - id: 2
    name: site
    points:
      - { id: 1, name: load, kind: measurement, unit: W, channel: derived, max_age_ms: 5000 }
      - { id: 2, name: pv, kind: measurement, unit: kW, channel: derived, max_age_ms: 5000 }
      - { id: 3, name: grid, kind: measurement, unit: kW, channel: derived, max_age_ms: 5000 }
`,
  'site.yaml',
);
const base = siteCatalogue(site);
const [soc, power, setpoint, load, pv, grid] = [0, 1, 2, 3, 4, 5] as const;
const battery = { capacityKwh: 10, maxPowerKw: 40, efficiency: 0.81 };
const assumed: PlantAssumption = {
  battery,
  initialSoc: 50,
  setpoint: { index: setpoint, kwPerUnit: 1 },
  soc,
  power: { index: power, kwPerUnit: 1 },
  load: { index: load, kwPerUnit: 0.001 },
  pv: { index: pv, kwPerUnit: 1 },
  grid: { index: grid, kwPerUnit: 1 },
};
const limits = {
  tick_interval_ms: 1000,
  event_min_interval_ms: 20,
  evaluations_max: 100_000,
  differences_max: 10,
  plant_step_ms: 1000,
};

/** Discharges what is imported above 20 kW, and charges with what is exported, while the charge allows it. */
const follow = JSON.stringify({
  start_node: 's',
  nodes: {
    s: { type: 'start', wires: { default: ['i'] } },
    i: {
      type: 'input',
      variables: [
        { name: 'soc', instance: 1, point_type: 'measurement', point: 1 },
        { name: 'power', instance: 1, point_type: 'measurement', point: 2 },
        { name: 'grid', instance: 2, point_type: 'measurement', point: 3 },
      ],
      wires: { default: ['d'] },
    },
    d: {
      type: 'switch',
      branches: [
        { name: 'peak', when: 'grid + power > 20 && soc > 10' },
        { name: 'sun', when: 'grid + power < 0 && soc < 90' },
      ],
      wires: { peak: ['a'], sun: ['a'], else: ['z'] },
    },
    a: {
      type: 'change',
      writes: [
        {
          instance: 1,
          point_type: 'action',
          point: 1,
          value: 'clamp(grid + power - min(20, max(0, grid + power)), -50, 50)',
        },
      ],
      wires: { default: ['e'] },
    },
    z: {
      type: 'change',
      writes: [{ instance: 1, point_type: 'action', point: 1, value: 0 }],
      wires: { default: ['e'] },
    },
    e: { type: 'end', wires: {} },
  },
});

interface Sample {
  readonly atMs: number;
  readonly index: number;
  readonly value: number;
}

function run(samples: readonly Sample[], toMs: number, more: Partial<RuleBacktestParts> = {}): BacktestResult {
  const catalogue = more.catalogue ?? base;
  const { scheduled, compiled } = ruleLoader(limits).load(
    engineRule(1, { nodes_json: follow, trigger_config: '{"type":"interval","interval_ms":1000}' }),
    catalogue,
  );
  if (compiled === null) throw new Error('the rule does not compile');
  const backtest = new Backtest({
    candidate: { scheduled, compiled },
    running: null,
    baseline: null,
    recorded: [],
    limits,
    recordIntervalMs: 60_000,
    fromMs: 0,
    toMs,
    pointsMax: 100_000,
    plant: assumed,
    ...more,
    catalogue,
  });
  for (const [atMs, values] of Map.groupBy(samples, (sample) => sample.atMs))
    backtest.take(
      atMs,
      values.map((sample) => ({ ...sample, isUncertain: false })),
    );
  return backtest.end();
}

const powers = fc.array(fc.record({ loadKw: fc.integer({ min: 0, max: 80 }), pvKw: fc.integer({ min: 0, max: 80 }) }), {
  minLength: 1,
  maxLength: 30,
});
const close = (a: number, b: number, tolerance: number): void => expect(Math.abs(a - b)).toBeLessThan(tolerance);

describe('[rules §10.6] the assumed plant', () => {
  test('follows the simulated plant, whose efficiency is of one way', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 1, maxLength: 60 }), (setpoints) => {
        const settings = {
          battery: { capacity_kwh: 10, max_power_kw: 40, initial_soc_percent: 50, efficiency: 0.9 },
          genset: { rated_kw: 1 },
        };
        let plant = initialPlant(settings);
        const model = new PlantModel(battery, 50, 0);
        for (const [at, value] of setpoints.entries()) {
          plant = commandPlant(plant, 'battery_setpoint_kw', value);
          model.command(at * 60_000, value);
          for (let second = 0; second < 60; second++)
            plant = stepPlant(plant, settings, { loadKw: 0, pvAvailableKw: 0 }, 1).state;
          model.advance((at + 1) * 60_000);
          close(model.socPercent(), (100 * plant.socKwh) / 10, 1e-6);
        }
      }),
    );
  });

  test('conserves energy for any steps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -60, max: 60 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 7_000_000 }),
        (setpoints, stepMs) => {
          const model = new PlantModel(battery, 50, 0);
          model.setInputs(0, 30, 10);
          for (const [at, value] of setpoints.entries()) model.command(at * stepMs, value);
          model.advance(setpoints.length * stepMs);
          const { charged_kwh, discharged_kwh, losses_kwh, imported_kwh, exported_kwh } = model.energies();
          const stored = (battery.capacityKwh * (model.socPercent() - 50)) / 100;
          close(charged_kwh - discharged_kwh - losses_kwh, stored, 1e-6);
          const consumed = (20 * setpoints.length * stepMs) / 3_600_000;
          close(imported_kwh - exported_kwh, consumed + charged_kwh - discharged_kwh, 1e-6);
        },
      ),
    );
  });
});

describe('[rules §10.6] a rule in a closed loop', () => {
  test('reads the effect of its writes on the plant, like a loop with one step at a time', () => {
    fc.assert(
      fc.property(powers, (inputs) => {
        const samples = inputs.flatMap(({ loadKw, pvKw }, minute): Sample[] => [
          { atMs: minute * 60_000, index: load, value: loadKw * 1000 },
          { atMs: minute * 60_000, index: pv, value: pvKw },
        ]);
        const result = run(samples, inputs.length * 60_000);

        let [socKwh, imported, exported] = [5, 0, 0];
        for (let second = 0; second < inputs.length * 60; second++) {
          const { loadKw, pvKw } = inputs[Math.floor(second / 60)] ?? { loadKw: 0, pvKw: 0 };
          const net = loadKw - pvKw;
          const charge = socKwh * 10;
          // The meter readings at this second: the power of the previous setpoint, on the load of now.
          const isPeak = net > 20 && charge > 10;
          const isSun = net < 0 && charge < 90;
          const next = isPeak || isSun ? Math.max(-50, Math.min(50, net - Math.min(20, Math.max(0, net)))) : 0;
          const used = Math.max(-40, Math.min(40, next));
          const limited =
            used > 0 ? Math.min(used, socKwh * 0.9 * 3600) : Math.max(used, (-(10 - socKwh) / 0.9) * 3600);
          socKwh -= (limited > 0 ? limited / 0.9 : limited * 0.9) / 3600;
          const gridKw = net - limited;
          if (gridKw > 0) imported += gridKw / 3600;
          else exported -= gridKw / 3600;
        }
        expect(result.outcomes).toEqual({ acted: inputs.length * 60, no_action: 0, skipped: 0, failed: 0 });
        const { plant } = result;
        // A second in which the battery gets full or empty may export and import.
        close(plant?.imported_kwh ?? Number.NaN, imported, 0.03);
        close(plant?.exported_kwh ?? Number.NaN, exported, 0.03);
        const last = plant?.soc.at(-1)?.value ?? Number.NaN;
        close(last, socKwh * 10, 40 / 36 + 0.2);
      }),
      { numRuns: 50 },
    );
  });

  test('the same inputs give the same answer', () => {
    const samples = [0, 1, 2].flatMap((minute): Sample[] => [
      { atMs: minute * 60_000, index: load, value: 45_000 },
      { atMs: minute * 60_000, index: pv, value: 1 },
    ]);
    expect(JSON.stringify(run(samples, 180_000))).toBe(JSON.stringify(run(samples, 180_000)));
  });

  test('recorded readings of the plant are not read, and load or PV that is not known is never zero', () => {
    const samples: Sample[] = [
      { atMs: 0, index: soc, value: 5 },
      { atMs: 0, index: load, value: 45_000 },
      { atMs: 0, index: pv, value: 0 },
      { atMs: 100_000, index: soc, value: 5 },
    ];
    // A row is valid for 65 s. After that the grid is unknown: the rule is skipped, and no energy is counted.
    const { outcomes, plant, notes } = run(samples, 120_000);
    expect(outcomes).toMatchObject({ acted: 66, skipped: 54 });
    expect(notes).toContain('load-or-pv-missing');
    close(plant?.imported_kwh ?? Number.NaN, (20 * 65 + 1) / 3600, 0.01);
  });

  test('where the rule stops writing the battery gets the safe value, after hold_max_ms', () => {
    const catalogue = siteCatalogue({
      ...site,
      points: site.points.map((point) =>
        point.index === setpoint ? { ...point, safeValue: 0, holdMaxMs: 10_000 } : point,
      ),
    });
    const samples: Sample[] = [
      { atMs: 0, index: load, value: 45_000 },
      { atMs: 0, index: pv, value: 0 },
    ];
    // 25 kW from 0 to the last write at 65 s, and 10 s on.
    const { plant } = run(samples, 200_000, { catalogue });
    close(plant?.discharged_kwh ?? Number.NaN, (25 * 75) / 3600, 0.01);
  });

  test('the initial charge is the recorded one when absent; without a recorded one it is required', () => {
    const plant = { ...assumed, initialSoc: null };
    const started = run([{ atMs: -1000, index: soc, value: 30 }], 60_000, { plant });
    expect(started.plant?.soc[0]).toEqual({ at: '1970-01-01T00:00:00.000Z', value: 30 });
    expect(() => run([], 60_000, { plant })).toThrow('initial_soc');
  });
});

describe('[rules §10.6] the error of the assumed plant', () => {
  const minutes = 60;
  /** The record of a battery of this capacity on commands of 10 kW, back and forth. */
  function recorded(capacityKwh: number, gapMinutes = 0): Sample[] {
    const model = new PlantModel({ ...battery, capacityKwh }, 50, 0);
    return Array.from({ length: minutes }, (_, minute): Sample[] => {
      const atMs = (minute < 30 ? minute : minute + gapMinutes) * 60_000;
      const value = minute % 20 < 10 ? 10 : -10;
      model.command(minute * 60_000, value);
      return [
        { atMs, index: soc, value: model.socPercent() },
        { atMs, index: setpoint, value },
      ];
    }).flat();
  }

  test('is zero if the battery is the assumed one, also over a gap, and has a note otherwise', () => {
    const same = run(recorded(10), minutes * 60_000);
    close(same.plant?.recorded_soc_error ?? Number.NaN, 0, 1e-9);
    expect(same.notes).not.toContain('plant-differs');
    const gap = run(recorded(10, 300), (minutes + 300) * 60_000);
    close(gap.plant?.recorded_soc_error ?? Number.NaN, 0, 1e-9);
    const other = run(recorded(7), minutes * 60_000);
    expect(other.plant?.recorded_soc_error).toBeGreaterThan(2);
    expect(other.notes).toContain('plant-differs');
  });

  test('is not known where nothing was recorded', () => {
    const { plant, notes } = run([], 60_000);
    expect(plant?.recorded_soc_error).toBeNull();
    expect(notes).toContain('plant-not-compared');
  });
});
