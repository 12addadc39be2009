/** The only path of a flow or trigger into the store [rules §1.3]. */
import { describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import type { Issue } from '../rules/issues.ts';
import { flowLimits } from '../rules/limits.ts';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import { deriveColumns, topologyOf, triggerOf } from './rule-document.ts';

const catalogue = testCatalogue();
const action = (id: string, point: number, more: object = {}, next = 'end') =>
  editorNode(id, 'action', { writes: [{ instance: 1, point, value: 1, ...more }], wires: { default: [next] } });
const flow = flowDocument('in', [inputNode(['a'], ['x']), action('a', 1)]);
const interval = { type: 'interval', interval_ms: 1000 };

function refusal(...args: Parameters<typeof deriveColumns>): { code: string; message: string; issues: Issue[] } {
  try {
    deriveColumns(...args);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, message: error.message, issues: (error.details as { issues: Issue[] }).issues };
  }
  throw new Error('the document was accepted');
}

describe('[rules §1.3] both columns of a flow are derived from one document', () => {
  test('an editor document: stored as sent, with its topology', () => {
    const { flow: columns, trigger, warnings } = deriveColumns({ flow_json: flow }, catalogue);
    expect(JSON.parse(columns?.flow_json ?? '')).toEqual(flow);
    expect(JSON.parse(columns?.nodes_json ?? '')).toMatchObject({ start_node: 'start' });
    expect([trigger, warnings]).toEqual([undefined, []]);
  });

  test('a compact-only rule: the same topology byte for byte, and no editor document', () => {
    const { nodes_json: text = '' } = deriveColumns({ flow_json: flow }, catalogue).flow ?? {};
    const compact = deriveColumns({ nodes_json: JSON.parse(text) }, catalogue).flow;
    expect([compact?.flow_json, compact?.nodes_json]).toEqual([null, text]);
  });

  test('members that are absent change nothing; a trigger of null is cleared, a flow of null is refused', () => {
    expect(deriveColumns({}, catalogue)).toEqual({ warnings: [] });
    expect(deriveColumns({ trigger_config: null }, catalogue)).toEqual({
      trigger: { trigger_config: null, trigger: null },
      warnings: [],
    });
    expect(refusal({ flow_json: null }, catalogue)).toMatchObject({
      code: 'invalid-flow',
      issues: [{ path: '/flow_json' }],
    });
  });

  test('a trigger is stored in one order of its members', () => {
    const { trigger } = deriveColumns({ trigger_config: { interval_ms: 1000, type: 'interval' } }, catalogue);
    expect(trigger?.trigger_config).toBe(JSON.stringify(interval));
  });

  test('warnings point into the request', () => {
    const lost = flowDocument('in', [inputNode(['a'], ['x']), action('a', 1), action('lost', 2)]);
    const [warning, ...more] = deriveColumns({ flow_json: lost }, catalogue).warnings;
    expect(more).toEqual([]);
    expect(warning).toEqual({
      code: 'unreachable-node',
      message: expect.any(String),
      path: '/flow_json/nodes/3',
      node_id: 'lost',
      hint: expect.any(String),
    });
  });
});

describe('[rules §2.3] nothing that is wrong is stored, and all of it is said at once', () => {
  test('the issues of flow and trigger in one answer, named after the flow', () => {
    const wrong = flowDocument('in', [inputNode(['a'], ['x']), action('a', 77), action('b', 1, { value: 'nowhere' })]);
    const { code, message, issues } = refusal({ flow_json: wrong, trigger_config: { type: 'cron' } }, catalogue);
    expect(code).toBe('invalid-flow');
    expect(message).toContain(issues[0]?.message);
    expect(issues.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^\/flow_json\/nodes\/2\/data\/config\/writes\/0/),
      '/trigger_config/type',
    ]);
  });

  test('a wrong trigger alone', () => {
    const { code, issues } = refusal(
      { flow_json: flow, trigger_config: { type: 'interval', interval_ms: 0 } },
      catalogue,
    );
    expect([code, issues.map(({ path }) => path)]).toEqual(['invalid-trigger', ['/trigger_config/interval_ms']]);
  });

  test('a wrong compact-only rule', () => {
    const { code, issues } = refusal({ nodes_json: { start_node: 's', nodes: {} } }, catalogue);
    expect([code, issues.length > 0, issues.every(({ path }) => path.startsWith('/nodes_json'))]).toEqual([
      'invalid-flow',
      true,
      true,
    ]);
  });

  test('limits can be set', () => {
    const { issues } = refusal({ flow_json: flow }, catalogue, { ...flowLimits, nodesMaximum: 3 });
    expect(issues.map(({ code }) => code)).toEqual(['too-many-nodes']);
  });
});

describe('stored rows', () => {
  test('a stored topology is read back; a stub, a damaged text and a flow with an unknown point have none', () => {
    const text = deriveColumns({ flow_json: flow }, catalogue).flow?.nodes_json ?? '';
    expect([...(topologyOf(text, catalogue)?.nodes.keys() ?? [])]).toEqual(['start', 'in', 'a', 'end']);
    expect([
      topologyOf('{}', catalogue),
      topologyOf('{', catalogue),
      topologyOf('null', catalogue),
      topologyOf(text, { ...catalogue, point: () => undefined }),
    ]).toEqual([null, null, null, null]);
  });

  test('a trigger that is no longer valid is null', () => {
    expect(triggerOf(JSON.stringify(interval), catalogue)).toEqual(interval);
    expect([null, '', '{', '{"type":"cron"}'].map((text) => triggerOf(text, catalogue))).toEqual(Array(4).fill(null));
  });
});
