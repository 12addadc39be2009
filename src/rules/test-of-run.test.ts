/** A run of the past as a test of its rule [rules §11.3]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CommandPort } from '../site/command-port.ts';
import { quality } from '../site/quality.ts';
import { createSnapshot } from '../site/snapshot.ts';
import { editorNode, flowDocument, testCatalogue } from '../testing/site-builder.ts';
import { createArbiter } from './arbiter.ts';
import { compileRule } from './compile.ts';
import { createPlan } from './evaluate.ts';
import { executeRule } from './executor.ts';
import { parseFlow } from './parse.ts';
import { catalogueOfTest, runTest } from './rule-test.ts';
import { createRuleState } from './state.ts';
import { testOfRun } from './test-of-run.ts';

const catalogue = testCatalogue({ min: 0, max: 100, step: 0.5 });
const facts = { id: 1, revision: 1, priority: 0, periodMs: 1000 };
const read = editorNode('in', 'input', {
  variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
  parameters: [{ name: 'most', parameter: 'high' }],
  wires: { default: ['d'] },
});
const nodes = [
  read,
  editorNode('d', 'decision', {
    branches: [{ name: 'high', when: 'x > most / 9' }],
    wires: { high: ['act'], else: ['end'] },
  }),
  editorNode('act', 'action', { writes: [{ instance: 1, point: 1, value: 'x * 2' }], wires: { default: ['end'] } }),
];

function topologyOf(flow = nodes) {
  const parsed = parseFlow(flowDocument('in', flow), catalogue);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.topology;
}

function runOf(value: number | null, flow = nodes, answer: ReturnType<CommandPort['submit']> = 'accepted') {
  const rule = compileRule(facts, topologyOf(flow), catalogue);
  const snapshot = createSnapshot(catalogue.points.length);
  const atMs = Date.parse('2026-07-05T11:00:00.250Z');
  snapshot.wallMs = atMs;
  snapshot.monotonicMs = atMs;
  snapshot.quality.fill(quality.bad);
  const index = catalogue.point({ instance: 1, point_type: 'measurement', point: 1 })?.index ?? -1;
  if (value !== null) {
    snapshot.values[index] = value;
    snapshot.quality[index] = quality.good;
    snapshot.observedMs[index] = atMs;
  }
  const arbiter = createArbiter();
  arbiter.beginCycle(snapshot);
  return executeRule(rule, snapshot, createRuleState(rule), arbiter, { submit: () => answer }, createPlan(), {
    executionId: 'run',
    correlationId: 'run',
    trigger: { type: 'manual' },
    startedAt: new Date(atMs).toISOString(),
    durationUs: () => 0,
  });
}

function resultOf(run: ReturnType<typeof runOf>, flow = nodes) {
  const made = testOfRun(run, topologyOf(flow), 'of a run');
  const own = catalogueOfTest(made, catalogue);
  return { made, result: runTest(compileRule(facts, topologyOf(flow), own), made, own) };
}

describe('a run as a test', () => {
  test('[rules §11.3] has the values, the parameters and the moment of the run, and expects its decision', () => {
    expect(resultOf(runOf(20.1)).made).toEqual({
      name: 'of a run',
      at: '2026-07-05T11:00:00.250Z',
      given: [{ instance: 1, point_type: 'measurement', point: 1, value: 20.1 }],
      parameters: { high: 90 },
      then: {
        outcome: 'acted',
        writes: [{ instance: 1, point: 1, value: 40 }],
        output: { node_id: 'd', name: 'high' },
      },
    });
  });

  test('[rules §11.3] passes for any value, and for a run without a value', () => {
    const value = fc.option(fc.double({ noNaN: true, min: -50, max: 80 }), { nil: null });
    fc.assert(
      fc.property(value, (given) => {
        expect(resultOf(runOf(given)).result).toMatchObject({ passed: true, differences: [] });
      }),
    );
    expect(resultOf(runOf(null)).made).toMatchObject({ then: { outcome: 'skipped', writes: [] } });
    // Beyond the range of the point the rule itself fails.
    expect(resultOf(runOf(80)).made.then).toMatchObject({ outcome: 'failed', writes: [] });
  });

  test('[rules §11.3] values that the plant refused are not expected of the rule', () => {
    const { made, result } = resultOf(runOf(20, nodes, 'offline'));
    expect(made.then).toEqual({ outcome: 'acted', output: { node_id: 'd', name: 'high' } });
    expect(result.passed).toBe(true);
  });

  test('[rules §11.3] a name that is declared again hides the reading: it is omitted', () => {
    const again = [
      editorNode('in', 'input', {
        variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
        wires: { default: ['calc'] },
      }),
      editorNode('calc', 'calculation', {
        assignments: [{ name: 'x', expression: 'x + 1' }],
        wires: { default: ['end'] },
      }),
    ];
    const run = runOf(3, again);
    expect(run.variable_values).toEqual({ x: 4 });
    expect(resultOf(run, again).made.given).toEqual([]);
  });
});
