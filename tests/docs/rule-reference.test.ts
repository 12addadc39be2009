/** The rule reference is true: its expressions are evaluated, its rule is parsed and run. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createArbiter } from '../../src/rules/arbiter.ts';
import { compileRule } from '../../src/rules/compile.ts';
import { createPlan } from '../../src/rules/evaluate.ts';
import { executeRule } from '../../src/rules/executor.ts';
import { functionTable } from '../../src/rules/expression/function-table.ts';
import { parseFlow } from '../../src/rules/parse.ts';
import type { ActionReason, ExecutionRecord } from '../../src/rules/record.ts';
import { createRuleState } from '../../src/rules/state.ts';
import { parseTrigger } from '../../src/rules/trigger/parse.ts';
import type { SiteCatalogue } from '../../src/site/catalogue.ts';
import { quality } from '../../src/site/quality.ts';
import { readSite } from '../../src/site/site.ts';
import { siteCatalogue } from '../../src/site/site-catalogue.ts';
import { createSnapshot, type Snapshot } from '../../src/site/snapshot.ts';
import { editorNode, flowDocument, inputNode, testCatalogue, testSnapshot } from '../../src/testing/site-builder.ts';
import { codeBlocks } from './blocks.ts';

const file = 'docs/guides/rule-reference.md';
const text = readFileSync(file, 'utf8');
const blocks = codeBlocks(file);
const ofKind = (...info: string[]) => blocks.filter((block) => block.info.join(' ') === info.join(' '));
/** 14:30 in Amsterdam, as the text says. */
const wallMs = Date.parse('2026-08-15T12:30:00Z');
const demo = siteCatalogue(readSite(readFileSync('config/demo/site.yaml', 'utf8'), 'site.yaml'));

function runRule(document: object, catalogue: SiteCatalogue, snapshots: readonly Snapshot[]): ExecutionRecord[] {
  const parsed = parseFlow(document, catalogue);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const rule = compileRule({ id: 1, revision: 1, priority: 0, periodMs: 1000 }, parsed.topology, catalogue);
  const [state, arbiter, plan] = [createRuleState(rule), createArbiter(), createPlan()];
  const run = {
    executionId: 'e',
    correlationId: 'c',
    trigger: { type: 'manual' as const },
    startedAt: '2026-08-15T12:30:00.000Z',
    durationUs: () => 1,
  };
  const port = { submit: () => 'accepted' as const };
  return snapshots.map((snapshot) => executeRule(rule, snapshot, state, arbiter, port, plan, run));
}

interface Example {
  readonly line: string;
  readonly expression: string;
  readonly expected: readonly (number | 'not-finite')[];
  readonly values: Readonly<Record<string, readonly number[]>>;
}

const numbers = (list: string): number[] => list.split(', ').map(Number);

/** `EXPRESSION → RESULT, …, with NAME = VALUE, …`; several names each have one value. */
function readExample(line: string): Example {
  const [expression = '', rest = ''] = line.split(' → ');
  const [results = '', given = ''] = rest.split(', with ');
  const values: Record<string, readonly number[]> = {};
  for (const [, name = '', list = ''] of given.matchAll(/([a-z]) = (-?[0-9.]+(?:, -?[0-9.]+)*)/g))
    values[name] = numbers(list);
  const expected = results.split(', ').map((result) => (result === 'not-finite' ? result : Number(result)));
  return { line, expression, expected, values };
}

const examples = ofKind('expression').flatMap((block) => block.text.split('\n').map(readExample));

describe('the expressions of the reference', () => {
  test.each(examples.map((example) => [example.line, example] as const))('%s', (_line, example) => {
    const names = ['a', 'b'];
    const assign = editorNode('calc', 'calculation', {
      assignments: [{ name: 'result', expression: example.expression }],
      wires: { default: ['end'] },
    });
    const snapshots = example.expected.map((_result, index) =>
      testSnapshot(
        names.map((name) => example.values[name]?.[index] ?? 0),
        1000 * (index + 1),
        wallMs,
      ),
    );
    const records = runRule(flowDocument('in', [inputNode(['calc'], names), assign]), testCatalogue(), snapshots);
    records.forEach((record, index) => {
      const expected = example.expected[index];
      if (expected === 'not-finite') expect(record.error).toMatchObject({ code: 'not-finite' });
      else expect(record.variable_values['result']).toBeCloseTo(expected ?? Number.NaN, 12);
    });
  });

  test('every function and every operator has one', () => {
    const all = examples.map(({ expression }) => expression).join('\n');
    const missing = [
      ...Object.keys(functionTable).filter((name) => !all.includes(`${name}(`)),
      ...'^ ! * / % + - < <= > >= == != && || ?'.split(' ').filter((operator) => !all.includes(operator)),
    ];
    expect(missing).toEqual([]);
  });
});

describe('the rule of the reference', () => {
  const nodes = ofKind('json', 'node').map((block): { type: string } => JSON.parse(block.text));

  test('shows every kind of node', () => {
    const kinds = new Set(nodes.map(({ type }) => type));
    expect(kinds).toEqual(new Set(['start', 'input', 'calculation', 'period-delta', 'decision', 'action', 'end']));
  });

  test('runs as it says', () => {
    const snapshot = createSnapshot(demo.points.length);
    for (const [instance, point, value] of [
      [4, 1, 62.5],
      [1, 1, 260],
      [2, 2, 12_000],
    ] as const) {
      const index = demo.point({ instance, point_type: 'measurement', point })?.index ?? -1;
      snapshot.values[index] = value;
      snapshot.quality[index] = quality.good;
      snapshot.observedMs[index] = 1000;
    }
    Object.assign(snapshot, { monotonicMs: 1000, wallMs, generation: 1 });
    const [record] = runRule({ nodes, edges: [] }, demo, [snapshot]);
    const [expected] = ofKind('json', 'record').map((block): object => JSON.parse(block.text));
    expect(record).toMatchObject(expected ?? {});
    expect(expected).toBeDefined();
  });

  test('has no warnings', () => {
    expect(parseFlow({ nodes, edges: [] }, demo)).toMatchObject({ ok: true, warnings: [] });
  });
});

test('the triggers of the reference are triggers', () => {
  const triggers = ofKind('json', 'trigger').map((block): unknown => JSON.parse(block.text));
  expect(triggers.map((trigger) => parseTrigger(trigger, demo))).toMatchObject([
    { ok: true, trigger: { type: 'interval' } },
    { ok: true, trigger: { type: 'on_change' } },
  ]);
});

test('every reason of a failed action is explained', () => {
  const reasons: Readonly<Record<ActionReason, true>> = {
    'not-finite': true,
    'out-of-range': true,
    unavailable: true,
    'stale-generation': true,
    offline: true,
    'no-route': true,
    overridden: true,
    outranked: true,
    'rate-limited': true,
  };
  expect(Object.keys(reasons).filter((reason) => !text.includes(`| \`${reason}\` |`))).toEqual([]);
});
