/**
 * Evaluations per second of the battery charge rule of the demo site: through the real executor, against the same logic
 * written by hand, and against two public rule engines. Interleaved rounds, medians; every figure is a ratio of one run.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Engine } from 'json-rules-engine';
import { createArbiter } from '../src/rules/arbiter.ts';
import { compileRule } from '../src/rules/compile.ts';
import { createPlan, evaluateRule } from '../src/rules/evaluate.ts';
import { executeRule } from '../src/rules/executor.ts';
import { parseFlow } from '../src/rules/parse.ts';
import { createRuleState } from '../src/rules/state.ts';
import { quality } from '../src/site/quality.ts';
import { readSite } from '../src/site/site.ts';
import { siteCatalogue } from '../src/site/site-catalogue.ts';
import { createSnapshot } from '../src/site/snapshot.ts';
import { sizes } from './fixture/sizes.ts';

const demo = join(import.meta.dirname, '..', 'config', 'demo');
const site = readSite(readFileSync(join(demo, 'site.yaml'), 'utf8'), 'site.yaml');
const catalogue = siteCatalogue(site);

/** Three thresholds without hysteresis, for all contestants: the public engines keep no state. */
const flow = {
  nodes: [
    node('start', 'start', { wires: { default: ['in'] } }),
    node('in', 'input', {
      variables: [
        { name: 'soc', instance: 4, point_type: 'measurement', point: 1 },
        { name: 'load', instance: 2, point_type: 'measurement', point: 1 },
        { name: 'pv', instance: 3, point_type: 'measurement', point: 1 },
      ],
      wires: { default: ['level'] },
    }),
    node('level', 'decision', {
      branches: [
        { name: 'critical', when: 'soc < 20' },
        { name: 'low', when: 'soc < 40 && load > pv' },
        { name: 'full', when: 'soc > 90' },
      ],
      wires: { critical: ['genset'], low: ['rest'], full: ['curtail'], else: ['store'] },
    }),
    node('genset', 'action', {
      writes: [
        { instance: 5, point: 1, value: 1 },
        { instance: 4, point: 1, value: -40 },
      ],
      wires: { default: ['end'] },
    }),
    node('rest', 'action', { writes: [{ instance: 4, point: 1, value: 0 }], wires: { default: ['end'] } }),
    node('curtail', 'action', {
      writes: [{ instance: 3, point: 1, value: 'min(280, load + 50)' }],
      wires: { default: ['end'] },
    }),
    node('store', 'action', {
      writes: [{ instance: 4, point: 1, value: 'clamp(load - pv, -250, 250)' }],
      wires: { default: ['end'] },
    }),
    node('end', 'end', {}),
  ],
  edges: [],
};

function node(id: string, type: string, config: object): object {
  return { id, type, position: { x: 0, y: 0 }, data: { config } };
}

const parsed = parseFlow(flow, catalogue);
if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
const rule = compileRule({ id: 1, revision: 1, priority: 0, periodMs: 1000 }, parsed.topology, catalogue);
const snapshot = createSnapshot(site.points.length);
snapshot.quality.fill(quality.good);
snapshot.values.fill(50);
snapshot.monotonicMs = 1;
const state = createRuleState(rule);
const plan = createPlan();
const [soc = 0, load = 0, pv = 0] = rule.readPoints.map(({ pointIndex }) => pointIndex);
const [gensetRun = 0, setpoint = 0, pvLimit = 0] = [
  [5, 1],
  [4, 1],
  [3, 1],
].map(([instance = 0, point = 0]) => catalogue.point({ instance, point_type: 'action', point })?.index ?? 0);

/** Inputs that visit every branch, the same for all contestants. */
const inputs = Array.from(
  { length: 256 },
  (_, index) => [(index * 37) % 101, (index * 53) % 300, (index * 29) % 280] as const,
);
let cursor = 0;
function nextInput(): void {
  const [s, l, p] = inputs[cursor++ & 255] ?? [0, 0, 0];
  snapshot.values[soc] = s;
  snapshot.values[load] = l;
  snapshot.values[pv] = p;
}

/** Validity of one reading, as the executor checks it. */
function ok(index: number): boolean {
  const value = snapshot.values[index] ?? Number.NaN;
  const code = snapshot.quality[index];
  return (
    (code === quality.good || code === quality.uncertain) &&
    value - value === 0 &&
    snapshot.monotonicMs - (snapshot.observedMs[index] ?? 0) <= 5000
  );
}

const hand = { points: [0, 0], values: [0, 0], count: 0 };
function byHand(): number {
  hand.count = 0;
  if (!ok(soc) || !ok(load) || !ok(pv)) return -1;
  const [s = 0, l = 0, p = 0] = [snapshot.values[soc], snapshot.values[load], snapshot.values[pv]];
  if (s < 20) {
    put(gensetRun, 1);
    put(setpoint, -40);
    return 0;
  }
  if (s < 40 && l > p) {
    put(setpoint, 0);
    return 1;
  }
  if (s > 90) {
    put(pvLimit, Math.min(280, l + 50));
    return 2;
  }
  put(setpoint, Math.min(Math.max(l - p, -250), 250));
  return 3;
}
function put(point: number, value: number): void {
  hand.points[hand.count] = point;
  hand.values[hand.count++] = value;
}

const branchNames = ['critical', 'low', 'full', 'else'];
const paths = [
  ['start', 'in', 'level', 'genset', 'end'],
  ['start', 'in', 'level', 'rest', 'end'],
  ['start', 'in', 'level', 'curtail', 'end'],
  ['start', 'in', 'level', 'store', 'end'],
];
/** The hand-written logic with the same record as the executor's. */
function byHandWithRecord(): object {
  const taken = byHand();
  const actions: object[] = [];
  for (let index = 0; index < hand.count; index++) {
    const point = catalogue.points[hand.points[index] ?? 0];
    const value = hand.values[index] ?? 0;
    if (point === undefined) throw new Error('no such point');
    const written = Number((Math.round(value / (point.step ?? 1)) * (point.step ?? 1)).toPrecision(15));
    if (point.min !== undefined && written < point.min) continue;
    if (point.max !== undefined && written > point.max) continue;
    actions.push({
      node_id: paths[taken]?.[3],
      instance: point.instance,
      point_type: point.point_type,
      point: point.point,
      value,
      written,
      success: true,
    });
  }
  return {
    execution_id: 'e',
    rule_id: 1,
    rule_revision: 1,
    trigger: { type: 'interval' },
    started_at: 't',
    duration_us: 1,
    outcome: 'acted',
    success: true,
    error: null,
    actions_executed: actions,
    execution_path: [...(paths[taken] ?? [])],
    matched_condition: branchNames[taken],
    variable_values: { soc: snapshot.values[soc], load: snapshot.values[load], pv: snapshot.values[pv] },
    node_details: {
      level: {
        type: 'switch',
        branches: [
          { name: 'critical', result: taken === 0 },
          { name: 'low', result: taken < 1 ? null : taken === 1 },
          { name: 'full', result: taken < 2 ? null : taken === 2 },
        ],
        output: branchNames[taken],
      },
    },
    correlation_id: 'c',
  };
}

const arbiter = createArbiter();
const port = { submit: () => 'accepted' as const };
const context = {
  executionId: 'e',
  correlationId: 'c',
  trigger: { type: 'interval' as const },
  startedAt: 't',
  durationUs: () => 1,
};

const jre = new Engine([
  { conditions: { all: [{ fact: 'soc', operator: 'lessThan', value: 20 }] }, event: { type: 'critical' }, priority: 4 },
  {
    conditions: {
      all: [
        { fact: 'soc', operator: 'lessThan', value: 40 },
        { fact: 'load', operator: 'greaterThan', value: { fact: 'pv' } },
      ],
    },
    event: { type: 'low' },
    priority: 3,
  },
  { conditions: { all: [{ fact: 'soc', operator: 'greaterThan', value: 90 }] }, event: { type: 'full' }, priority: 2 },
]);
const decision = zenEngine()?.createDecision({
  contentType: 'application/vnd.gorules.decision',
  nodes: [
    { id: 'i', type: 'inputNode', name: 'in', position: { x: 0, y: 0 } },
    { id: 'o', type: 'outputNode', name: 'out', position: { x: 0, y: 0 } },
    {
      id: 't',
      type: 'decisionTableNode',
      name: 'table',
      position: { x: 0, y: 0 },
      content: {
        hitPolicy: 'first',
        inputs: [{ id: 'c', name: 'c' }],
        outputs: [{ id: 'w', name: 'w', field: 'write' }],
        rules: [
          { _id: '1', c: 'soc < 20', w: '-40' },
          { _id: '2', c: 'soc < 40 and load > pv', w: '0' },
          { _id: '3', c: 'soc > 90', w: 'load + 50' },
          { _id: '4', c: '', w: 'load - pv' },
        ],
      },
    },
  ],
  edges: [
    { id: 'e1', sourceId: 'i', targetId: 't', type: 'edge' },
    { id: 'e2', sourceId: 't', targetId: 'o', type: 'edge' },
  ],
});

interface Contestant {
  readonly name: string;
  readonly runs: number;
  readonly run: (runs: number) => void | Promise<void>;
}
let sink: unknown;
const contestants: readonly Contestant[] = [
  { name: 'evaluate', runs: 400_000, run: repeat(() => evaluateRule(rule, snapshot, state, plan)) },
  { name: 'by hand', runs: 2_000_000, run: repeat(() => (sink = byHand())) },
  {
    name: 'execute with record',
    runs: 100_000,
    run: repeat(() => {
      arbiter.beginCycle(snapshot);
      sink = executeRule(rule, snapshot, state, arbiter, port, plan, context);
    }),
  },
  { name: 'by hand with record', runs: 200_000, run: repeat(() => (sink = byHandWithRecord())) },
  {
    name: 'json-rules-engine',
    runs: 500,
    run: repeatAsync(async ([s, l, p]) => (sink = await jre.run({ soc: s, load: l, pv: p }))),
  },
  ...zenContestant(),
];

interface Zen {
  createDecision(content: object): { evaluate(input: object): Promise<unknown> };
}

/** Undefined when `npm run bench:peers` was not run on this machine. */
function zenEngine(): Zen | undefined {
  try {
    const peer = createRequire(join(import.meta.dirname, 'peers', 'package.json'))('@gorules/zen-engine') as {
      ZenEngine: new () => Zen;
    };
    return new peer.ZenEngine();
  } catch {
    console.log('zen-engine is left out: run "npm run bench:peers" first');
    return undefined;
  }
}

function zenContestant(): Contestant[] {
  if (decision === undefined) return [];
  const run = repeatAsync(async ([s, l, p]) => (sink = await decision.evaluate({ soc: s, load: l, pv: p })));
  return [{ name: 'zen-engine', runs: 500, run }];
}

function repeat(once: () => void): (runs: number) => void {
  return (runs) => {
    for (let index = 0; index < runs; index++) {
      nextInput();
      once();
    }
  };
}
function repeatAsync(
  once: (input: readonly [number, number, number]) => Promise<unknown>,
): (runs: number) => Promise<void> {
  return async (runs) => {
    for (let index = 0; index < runs; index++) await once(inputs[index & 255] ?? [0, 0, 0]);
  };
}

/** `share`: part of the runs of a round. */
const { rounds, share } = sizes({ rounds: 9, share: 1 }, { rounds: 3, share: 0.001 });
const rates = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
for (let round = 0; round < rounds; round++) {
  for (const { name, runs: most, run } of contestants) {
    const runs = Math.ceil(most * share);
    const began = process.hrtime.bigint();
    await run(runs);
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    // The first rounds warm the compiler up.
    if (round >= 2) rates.get(name)?.push(runs / seconds);
  }
}
const median = (name: string): number =>
  (rates.get(name) ?? []).sort((a, b) => a - b)[Math.floor((rounds - 2) / 2)] ?? 0;
for (const { name } of contestants)
  console.log(`${name.padEnd(22)} ${Math.round(median(name)).toLocaleString('en')} a second`);
const ratio = (what: string, a: string, b: string, aim: string): void =>
  console.log(`${what}: ${(median(a) / median(b)).toFixed(2)} (aim ${aim})`);
ratio('evaluate : by hand', 'evaluate', 'by hand', '>= 0.5');
ratio('execute with record : by hand with record', 'execute with record', 'by hand with record', '>= 1');
ratio('execute with record : json-rules-engine 7.3.1', 'execute with record', 'json-rules-engine', '>= 10');
if (decision !== undefined)
  ratio('execute with record : zen-engine 0.54.0', 'execute with record', 'zen-engine', '>= 10');
if (sink === undefined) throw new Error('nothing was measured');
