/**
 * The demo's rules against the demo's plant: eight weeks of the measured series in steps of one minute, through the real
 * parser, compiler, executor and arbiter, with the plant model answering to what they write.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { decodeRuleFile } from '../../src/automation/import-file.ts';
import { readSeries, seriesValueAt } from '../../src/devices/simulated/series.ts';
import { commandPlant, initialPlant, stepPlant } from '../../src/devices/simulated/simulated-model.ts';
import { createArbiter } from '../../src/rules/arbiter.ts';
import { type CompiledRule, compileRule } from '../../src/rules/compile.ts';
import { createPlan } from '../../src/rules/evaluate.ts';
import { executeRule } from '../../src/rules/executor.ts';
import { parseFlow, parseTopology } from '../../src/rules/parse.ts';
import type { ExecutionRecord } from '../../src/rules/record.ts';
import { createRuleState } from '../../src/rules/state.ts';
import type { SimulatedAddress, SimulatedChannel, SimulatedSignal } from '../../src/site/protocol/simulated.ts';
import { quality } from '../../src/site/quality.ts';
import { readSite, type Site } from '../../src/site/site.ts';
import { siteCatalogue } from '../../src/site/site-catalogue.ts';
import { createSnapshot } from '../../src/site/snapshot.ts';

const folder = 'config/demo';
const site = readSite(readFileSync(join(folder, 'site.yaml'), 'utf8'), 'site.yaml');
const catalogue = siteCatalogue(site);
const fileNames = readdirSync(join(folder, 'rules')).toSorted();
const stepMs = 60_000;
const steps = (8 * 7 * 24 * 3_600_000) / stepMs;

function plantOf(demo: Site): SimulatedChannel {
  const channel = demo.channels.find(({ id }) => id === 'plant');
  if (channel?.driver !== 'simulated') throw new Error('the demo has no simulated channel');
  return channel;
}

function compiledRules(): CompiledRule[] {
  return fileNames.flatMap((name, index) => {
    const read = decodeRuleFile(name, readFileSync(join(folder, 'rules', name), 'utf8'), catalogue);
    if (!read.ok) throw new Error(read.problems.join('\n'));
    return read.rules.map(({ changes }) => {
      const parsed = parseTopology(JSON.parse(changes.flow?.nodes_json ?? '{}'), catalogue);
      if (!parsed.ok) throw new Error(`${name} does not read back`);
      const source = { id: index + 1, revision: 1, priority: changes.priority ?? 0, periodMs: stepMs };
      return compileRule(source, parsed.topology, catalogue);
    });
  });
}

interface Step {
  readonly signals: Readonly<Record<SimulatedSignal, number>>;
  readonly records: readonly ExecutionRecord[];
  readonly virtual: ReadonlyMap<string, number>;
}

/** Runs all rules once a step, by priority, and applies their writes to the plant. */
function simulate(): Step[] {
  const channel = plantOf(site);
  const series = (name: string) => readSeries(readFileSync(join(folder, name), 'utf8'), name, site.timezone);
  const load = series(channel.load_series);
  const pv = series(channel.pv_series);
  const rules = compiledRules()
    .toSorted((a, b) => b.priority - a.priority)
    .map((rule) => ({ rule, state: createRuleState(rule), plan: createPlan() }));
  const arbiter = createArbiter();
  const snapshot = createSnapshot(site.points.length);
  const virtual = new Map<string, number>();
  const startMs = Date.UTC(2026, 5, 1);
  let plant = initialPlant(channel);
  const result: Step[] = [];
  const port = {
    submit({ pointIndex, value }: { pointIndex: number; value: number }) {
      const point = site.points[pointIndex];
      if (point === undefined) return 'no-route' as const;
      if (site.channels[point.channel]?.driver === 'virtual') virtual.set(point.name, value);
      else plant = commandPlant(plant, (point.address as SimulatedAddress).signal, value);
      return 'accepted' as const;
    },
  };
  for (let step = 0; step < steps; step++) {
    const wallMs = startMs + step * stepMs;
    const inputs = {
      loadKw: seriesValueAt(load, wallMs, site.timezone),
      pvAvailableKw: seriesValueAt(pv, wallMs, site.timezone),
    };
    const next = stepPlant(plant, channel, inputs, stepMs / 1000);
    plant = next.state;
    snapshot.wallMs = wallMs;
    snapshot.monotonicMs = step * stepMs;
    for (const point of site.points) {
      if (site.channels[point.channel]?.driver !== 'simulated') continue;
      snapshot.values[point.index] = next.signals[(point.address as SimulatedAddress).signal];
      snapshot.quality[point.index] = quality.good;
      snapshot.observedMs[point.index] = snapshot.monotonicMs;
    }
    arbiter.beginCycle(snapshot);
    const records = rules.map(({ rule, state, plan }) =>
      executeRule(rule, snapshot, state, arbiter, port, plan, {
        executionId: `run-${step}-${rule.id}`,
        correlationId: `run-${step}-${rule.id}`,
        trigger: { type: 'interval' },
        startedAt: new Date(wallMs).toISOString(),
        durationUs: () => 0,
      }),
    );
    result.push({ signals: next.signals, records, virtual: new Map(virtual) });
  }
  return result;
}

const ruleId = (name: string): number => fileNames.indexOf(name) + 1;
const recordOf = (step: Step, name: string): ExecutionRecord => {
  const record = step.records.find((candidate) => candidate.rule_id === ruleId(name));
  if (record === undefined) throw new Error(`${name} did not run`);
  return record;
};

describe('the demo rules as documents', () => {
  test.each(fileNames)('[rules §4.5] %s is accepted without a warning, drawing included', (name) => {
    const document = JSON.parse(readFileSync(join(folder, 'rules', name), 'utf8')) as {
      rules: { flow_json: unknown }[];
    };
    for (const { flow_json: flow } of document.rules) {
      expect(parseFlow(flow, catalogue)).toMatchObject({ ok: true, warnings: [] });
    }
  });
});

describe('eight weeks of the demo', () => {
  let run: Step[] = [];
  const management = 'battery-charge-management.json';
  const shaving = 'peak-shaving.json';
  beforeAll(() => {
    run = simulate();
  });

  test('[rules §7.1] no rule fails or misses an input', () => {
    const outcomes = new Set(run.flatMap(({ records }) => records.map(({ outcome }) => outcome)));
    expect([...outcomes].toSorted()).toEqual(['acted', 'no_action']);
  });

  test('[rules §6.2] the two writers of the setpoint do not fight: shaving wins, management is outranked', () => {
    const shaved = run.filter((step) => recordOf(step, shaving).outcome === 'acted');
    expect(shaved.length).toBeGreaterThan(100);
    for (const step of shaved) {
      expect(recordOf(step, shaving).actions_executed.every(({ success }) => success)).toBe(true);
      const setpoint = recordOf(step, management).actions_executed.find(({ instance }) => instance === 4);
      expect(setpoint).toMatchObject({ success: false, reason: 'outranked', outranked_by: ruleId(shaving) });
    }
  });

  test('every level is reached, and the generator runs from the critical threshold to its band', () => {
    const levels = new Set(run.map((step) => recordOf(step, management).execution_path.at(-2)));
    expect([...levels].toSorted()).toEqual(['back_up', 'recharge_battery', 'stop_charging', 'store_surplus']);
    const changes = run.flatMap((step, index) => {
      const before = run[index - 1]?.signals.genset_run ?? 0;
      return step.signals.genset_run === before
        ? []
        : [{ on: step.signals.genset_run === 1, soc: step.signals.battery_soc }];
    });
    // A step of the rules may lie between the threshold and the switch: 1 % is more than the battery moves in it.
    for (const { on, soc } of changes) expect(Math.abs(soc - (on ? 20 : 25))).toBeLessThan(1);
    expect(changes.length).toBeGreaterThan(2);
  });

  test('above the upper threshold the battery does not charge and no more than the limit is fed in', () => {
    const full = run.filter((step, index) => {
      const before = run[index - 1];
      return (
        before !== undefined &&
        [before, step].every((at) => recordOf(at, management).execution_path.at(-2) === 'stop_charging')
      );
    });
    expect(full.length).toBeGreaterThan(100);
    for (const { signals } of full) {
      expect(signals.battery_kw).toBeGreaterThanOrEqual(0);
      // The limit was computed from the load of the step before.
      if (signals.battery_kw === 0) expect(signals.grid_kw).toBeGreaterThan(-50 - 40);
    }
  });

  test('with charge in the battery, the import settles at the demand limit', () => {
    const over = run.filter((step) => {
      const charged = step.signals.battery_soc > 25 && step.signals.battery_kw > 0 && step.signals.battery_kw < 249;
      return charged && step.signals.grid_kw > 200 + 40;
    });
    expect(over).toEqual([]);
  });

  test('[rules §6] the alarm is set above its limit and cleared below its band', () => {
    for (const { signals, virtual } of run) {
      if (signals.grid_kw > 220) expect(virtual.get('import_alarm')).toBe(1);
      if (signals.grid_kw < 200) expect(virtual.get('import_alarm')).toBe(0);
    }
    expect(run.some(({ virtual }) => virtual.get('import_alarm') === 1)).toBe(true);
  });

  test('[rules §4.6] the energy of a day counts up from local midnight and starts again at 0', () => {
    const energies = run.map(({ virtual }) => virtual.get('load_energy_today') ?? Number.NaN);
    const resets = energies.flatMap((energy, index) => (energy < (energies[index - 1] ?? 0) ? [index] : []));
    // The first minute is 00:00Z, which is 02:00 in Amsterdam in June: midnight comes 22 hours later, then each day.
    expect(resets).toEqual(Array.from({ length: 8 * 7 }, (_, day) => 22 * 60 + day * 24 * 60));
    for (const index of resets) expect(energies[index]).toBe(0);
  });
});
