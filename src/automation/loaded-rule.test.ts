/** An accepted rule can be loaded [rules §1.3], even with the largest document allowed. */
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import { automationLimits } from './limits.ts';
import { ruleLoader } from './loaded-rule.ts';
import { deriveColumns, topologyOf } from './rule-document.ts';

const catalogue = testCatalogue();
const loadRule = ruleLoader(automationLimits).load;
const listOf = (count: number, item: (index: number) => object): object[] =>
  Array.from({ length: count }, (_, index) => item(index));
const block = (type: string, config: object) => ({
  id: 'b',
  type: 'custom',
  position: { x: 0, y: 0 },
  data: { type, config: { wires: { default: ['end'] }, ...config } },
});
const bytesOf = (node: object): number => Buffer.byteLength(JSON.stringify(node));
const row = (nodes_json: string, trigger_config: string | null = null) => ({
  id: 1,
  revision: 1,
  enabled: true,
  mode: 'live' as const,
  priority: 0,
  cooldown_ms: 0,
  trigger_config,
  nodes_json,
});
/** Why the stored form of `node` cannot run; null when it can. */
function failureOf(node: Record<string, unknown>): string | null {
  const flow = flowDocument('in', [inputNode(['b'], ['x']), node]);
  const text = deriveColumns({ flow_json: flow }, catalogue).flow?.nodes_json ?? '';
  expect(topologyOf(text, catalogue)?.nodes.has('b')).toBe(true);
  return loadRule(row(text), catalogue).failure;
}

describe('[rules §4.4] a document at its limits is a rule that runs', () => {
  test('256 writes in 64 KiB, without the types of their points', () => {
    const node = (length: number) =>
      editorNode('b', 'action', {
        writes: listOf(256, () => ({ instance: 1, point: 1, value: `x${' '.repeat(length)}` })),
        wires: { default: ['end'] },
      });
    const length = Math.floor((65_536 - bytesOf(node(0))) / 256);
    expect(bytesOf(node(length + 1))).toBeGreaterThan(65_536);
    expect(failureOf(node(length))).toBeNull();
  });

  test('256 combined variables and 256 rules in one block', () => {
    const variables = listOf(256, (index) => ({ name: `v${index}`, type: 'combined', formula: 'x' }));
    const rule = listOf(256, (index) => ({ output: `o${index}`, formula: 'x' }));
    expect(failureOf(block('action-calculation', { variables, rule }))).toBeNull();
  });

  test('256 rules that each write the point of a name of 128 characters, in 64 KiB', () => {
    const name = 'p'.repeat(128);
    const variables = [{ name, type: 'single', instance: 1, pointType: 'measurement', point_id: 9 }];
    const node = (length: number) => {
      const rule = listOf(256, () => ({ output: name, formula: `x${' '.repeat(length)}` }));
      return block('action-calculation', { variables, rule });
    };
    const length = Math.floor((65_536 - bytesOf(node(0))) / 256);
    expect(failureOf(node(length))).toBeNull();
  });

  test.each(['&&', '||'])('128 conditions joined by %s', (value) => {
    const rule = listOf(255, (index) =>
      index % 2 === 0
        ? { type: 'variable', variables: 'x', operator: '>', value: -index }
        : { type: 'relation', value },
    );
    const branches = [{ name: 'a', type: 'default', rule }];
    expect(failureOf(block('function-switch', { rule: branches, wires: { a: ['end'] } }))).toBeNull();
  });
});

describe('[rules §3.4] a broken row says why it cannot run', () => {
  const text = deriveColumns({ flow_json: flowDocument('in', [inputNode(['end'])]) }, catalogue).flow?.nodes_json ?? '';
  test.each<[string, string, string | null, string]>([
    ['a stub', '{}', null, 'no-runnable-flow'],
    ['no JSON', '{"start_node"', null, 'invalid-flow'],
    ['another form', '[]', null, 'invalid-flow'],
    ['a trigger that is no JSON', text, '{', 'invalid-trigger'],
    ['a trigger of an unknown point', text, '{"type":"on_change","point_refs":[]}', 'invalid-trigger'],
    ['a text null for a trigger', text, 'null', 'invalid-trigger'],
  ])('%s', (_, nodes, trigger, failure) => {
    expect(loadRule(row(nodes, trigger), catalogue)).toMatchObject({ failure, compiled: null });
    expect(loadRule(row(text), catalogue)).toMatchObject({ failure: null, scheduled: { runnable: true } });
  });
});
