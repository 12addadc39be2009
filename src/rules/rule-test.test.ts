/** Tests of a rule [rules §11]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import { compileRule } from './compile.ts';
import { parseFlow } from './parse.ts';
import { catalogueOfTest, type RuleTest, runTest, testMoment, unknownInTest } from './rule-test.ts';

const catalogue = testCatalogue({ min: 0, max: 100, step: 0.5 });
const given = (value: number | null) => [{ instance: 1, point_type: 'measurement', point: 1, value }] as const;
const nodes = [
  inputNode(['d'], ['x']),
  editorNode('d', 'decision', {
    branches: [{ name: 'high', when: 'x > 10' }],
    wires: { high: ['act'], else: ['end'] },
  }),
  editorNode('act', 'action', { writes: [{ instance: 1, point: 1, value: 'x * 2' }], wires: { default: ['end'] } }),
];

function tried(then: RuleTest['then'], value: number | null = 20.1, more: Partial<RuleTest> = {}, flow = nodes) {
  const one: RuleTest = { name: 'one', given: given(value), ...more, then };
  const own = catalogueOfTest(one, catalogue);
  const parsed = parseFlow(flowDocument('in', flow), own);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const rule = compileRule({ id: 1, revision: 1, priority: 0, periodMs: 1000 }, parsed.topology, own);
  return runTest(rule, one, own);
}

describe('a test', () => {
  test('[rules §11.1] compares outcome, output and writes with the values for the device', () => {
    const writes = [{ instance: 1, point: 1, value: 40 }];
    expect(tried({ outcome: 'acted', output: { node_id: 'd', name: 'high' }, writes })).toEqual({
      name: 'one',
      passed: true,
      differences: [],
      outcome: 'acted',
      error: null,
      writes,
    });
    expect(tried({ outcome: 'no_action', output: { node_id: 'd', name: 'else' }, writes: [] }).differences).toEqual([
      { field: '/then/outcome', expected: 'no_action', actual: 'acted' },
      { field: '/then/writes (1:1)', expected: null, actual: 40 },
      { field: '/then/output (d)', expected: 'else', actual: 'high' },
    ]);
  });

  test('[rules §11.1] the writes are the whole set: one that is missing differs, as does one too many', () => {
    expect(tried({ writes: [{ instance: 1, point: 1, value: 40 }] }, 3).differences).toEqual([
      { field: '/then/writes (1:1)', expected: 40, actual: null },
    ]);
    expect(tried({ writes: [] }, 3).passed).toBe(true);
    // Beyond its range nothing would be written, and the run says why.
    expect(tried({ writes: [], outcome: 'failed' }, 90)).toMatchObject({
      passed: true,
      error: '1 of 1 actions failed',
    });
  });

  test('[rules §11.1] a point without a value, or not given, is missing', () => {
    expect(tried({ outcome: 'skipped' }, null)).toMatchObject({ passed: true, error: 'no usable value for x' });
    expect(tried({ outcome: 'skipped' }, 20, { given: [] }).passed).toBe(true);
    expect(tried({ output: { node_id: 'd', name: 'high' } }, null).differences).toEqual([
      { field: '/then/output (d)', expected: 'high', actual: null },
    ]);
  });

  test('[rules §11.1] memory is fresh in each run, and the moment is its own', () => {
    const clock = [
      inputNode(['d'], ['x']),
      editorNode('d', 'decision', {
        branches: [{ name: 'noon', when: 'time_of_day() == 13' }],
        wires: { noon: ['act'], else: ['end'] },
      }),
      editorNode('act', 'action', {
        writes: [{ instance: 1, point: 1, value: 'moving_avg(x, 60)' }],
        wires: { default: ['end'] },
      }),
    ];
    const noon = (at?: string) => {
      const output = { node_id: 'd', name: 'noon' };
      return tried({ output, writes: [{ instance: 1, point: 1, value: 20 }] }, 20, at ? { at } : {}, clock).passed;
    };
    expect(testMoment).toBe('2000-01-01T12:00:00.000Z');
    // 13 in Amsterdam in winter, 14 in summer.
    expect([undefined, '2026-01-05T12:00:00Z', '2026-07-05T11:00:00Z', '2026-07-05T12:00:00Z'].map(noon)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test('[rules §11.1] parameters are replaced by name, and for the test alone', () => {
    const byParameter = [
      editorNode('in', 'input', {
        variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
        parameters: [{ name: 'most', parameter: 'high' }],
        wires: { default: ['d'] },
      }),
      editorNode('d', 'decision', {
        branches: [{ name: 'high', when: 'x > most' }],
        wires: { high: ['end'], else: ['end'] },
      }),
    ];
    const output = { node_id: 'd', name: 'high' };
    expect(tried({ output }, 20, {}, byParameter).passed).toBe(false);
    expect(tried({ output }, 20, { parameters: { high: 15 } }, byParameter).passed).toBe(true);
    const own = catalogueOfTest({ name: 'p', given: [], parameters: { high: 15 }, then: {} }, catalogue);
    expect([own.parameter('high'), own.parameter('low'), catalogue.parameter('high')]).toEqual([
      { value: 15, unit: '%' },
      { value: 20, unit: '%' },
      { value: 90, unit: '%' },
    ]);
  });

  test('[rules §11.1] points and parameters that the site does not have are named', () => {
    const unknown: RuleTest = {
      name: 'unknown',
      given: [...given(1), { instance: 7, point_type: 'action', point: 3, value: 1 }],
      parameters: { nothing: 1 },
      then: { outcome: 'acted' },
    };
    expect(unknownInTest(unknown, catalogue)).toEqual([
      { field: '/given/1', expected: 'a point of the site', actual: 'action 3 of instance 7' },
      { field: '/parameters/nothing', expected: 'a parameter of the site', actual: 'nothing' },
    ]);
  });

  test('[rules §11.1] the result of a run is a test that passes; with another value it fails', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -50, max: 80 }), (value) => {
        const { outcome, writes } = tried({ outcome: 'acted' }, value);
        if (outcome === null) throw new Error('the test ran');
        expect(tried({ outcome, writes }, value).passed).toBe(true);
        const moved = writes.map((write) => ({ ...write, value: write.value + 0.5 }));
        expect(tried({ outcome, writes: moved }, value).passed).toBe(writes.length === 0);
      }),
    );
  });
});
