/** [rules §2.3] What one click fixes: the problem is gone, and no new one has appeared. */
import { describe, expect, test } from 'vitest';
import { catalogueSite } from './catalogue-fixture.ts';
import { addNode, setBranches, setConfig } from './edit-flow.ts';
import { connect, disconnect } from './edit-wires.ts';
import { fixOf } from './fixes.ts';
import { configOf, type FlowDocument, newDocument, nodeOf } from './flow-document.ts';
import { checkContent, type Problem } from './problems.ts';

/** start → input → decision → action → end, where `when` is the condition of the one branch. */
function drawn(when: string): FlowDocument {
  let flow = newDocument();
  for (const kind of ['input', 'decision', 'action'] as const) flow = addNode(flow, kind, { x: 0, y: 0 }).document;
  const soc = { name: 'soc', instance: 4, point_type: 'measurement', point: 1 };
  flow = setConfig(flow, 'input', 'variables', [soc]);
  flow = setBranches(flow, 'decision', [{ name: 'low', when }]);
  const setpoint = { instance: 4, point_type: 'action', point: 1 };
  flow = setConfig(flow, 'action', 'writes', [{ ...setpoint, value: '5' }]);
  const start = flow.nodes.find(({ type }) => type === 'start')?.id ?? '';
  const wires = [
    [start, 'default', 'input'],
    ['input', 'default', 'decision'],
    ['decision', 'low', 'action'],
    ['decision', 'else', 'end'],
    ['action', 'default', 'end'],
  ] as const;
  for (const [source, output, target] of wires) flow = connect(flow, source, output, target);
  return flow;
}

const catalogue = catalogueSite();

function problemsOf(flow: FlowDocument): readonly Problem[] {
  const content = { name: 'r', description: '', priority: 0, cooldown_ms: 0, trigger_config: null, flow };
  return checkContent(content, catalogue).problems;
}

/** Fixes the only problem of the flow; returns the button's label and the flow afterwards. */
function fixed(flow: FlowDocument, code: string): { readonly label: string; readonly flow: FlowDocument } {
  const problems = problemsOf(flow);
  expect(problems.map((problem) => problem.code)).toEqual([code]);
  const fix = problems[0] === undefined ? null : fixOf(problems[0], flow);
  if (fix === null) throw new Error(`there is no fix for ${JSON.stringify(problems[0])}`);
  const after = fix.apply(flow);
  expect(problemsOf(after)).toEqual([]);
  return { label: fix.label, flow: after };
}

function configIn(flow: FlowDocument, id: string) {
  const node = nodeOf(flow, id);
  return node === undefined ? {} : configOf(node);
}

test('the flow of these tests has no problem', () => {
  expect(problemsOf(drawn('soc < 40'))).toEqual([]);
});

describe('one click', () => {
  test('uses the variable that was meant, everywhere in the expression', () => {
    const { label, flow } = fixed(drawn('soic < 40 && soic > 2'), 'undeclared-variable');
    expect(label).toBe('Use “soc”');
    expect(configIn(flow, 'decision')['branches']).toEqual([{ name: 'low', when: 'soc < 40 && soc > 2' }]);
  });

  test('uses the function that was meant', () => {
    const { flow } = fixed(drawn('hysteresys(soc, 30, 40)'), 'unknown-function');
    expect(configIn(flow, 'decision')['branches']).toEqual([{ name: 'low', when: 'hysteresis(soc, 30, 40)' }]);
  });

  test('renames the second variable of one name', () => {
    const soc = { name: 'soc', instance: 4, point_type: 'measurement', point: 1 };
    const twice = setConfig(drawn('soc < 40'), 'input', 'variables', [soc, { ...soc }]);
    const { label, flow } = fixed(twice, 'duplicate-variable');
    expect(label).toBe('Rename to “soc_2”');
    expect(configIn(flow, 'input')['variables']).toEqual([soc, { ...soc, name: 'soc_2' }]);
  });

  test('removes a node that nothing leads to', () => {
    const { document: lonely } = addNode(drawn('soc < 40'), 'end', { x: 0, y: 0 });
    expect(fixed(lonely, 'unreachable-node').flow).toEqual(drawn('soc < 40'));
  });

  test('leads a branch without a wire to the end', () => {
    const flow = drawn('soc < 40');
    const loose = setBranches(flow, 'decision', [
      { name: 'low', when: 'soc < 40' },
      { name: 'high', when: 'soc > 90' },
    ]);
    const { flow: wired } = fixed(loose, 'branch-without-wire');
    expect(configIn(wired, 'decision')['wires']).toMatchObject({ low: ['action'], high: ['end'], else: ['end'] });
  });

  test('puts the narrower of two conditions first', () => {
    const low = { name: 'low', when: 'soc < 40' };
    const lowest = { name: 'lowest', when: 'soc < 10' };
    const shadowed = connect(setBranches(drawn('1'), 'decision', [low, lowest]), 'decision', 'lowest', 'end');
    const { flow } = fixed(shadowed, 'shadowed-branch');
    expect(configIn(flow, 'decision')['branches']).toEqual([lowest, low]);
  });

  test('adds the end that is missing', () => {
    const flow = drawn('soc < 40');
    const wireless = disconnect(disconnect(flow, 'action', 'default', 'end'), 'decision', 'else', 'end');
    const endless = { ...wireless, nodes: wireless.nodes.filter(({ id }) => id !== 'end') };
    const [problem] = problemsOf(endless);
    const fix = problem === undefined ? null : fixOf(problem, endless);
    // The end is added without wires: what leads to it is for the person to decide.
    expect(problemsOf(fix?.apply(endless) ?? endless).map(({ code }) => code)).toEqual(['unreachable-node']);
  });

  test('draws misleading edges again', () => {
    const flow = drawn('soc < 40');
    const { flow: redrawn } = fixed({ ...flow, edges: flow.edges?.slice(1) ?? [] }, 'edges-differ');
    expect(redrawn.edges).toHaveLength(5);
  });

  test('is not offered where a person has to choose', () => {
    for (const when of ['soc <', 'speed < 40', 'xyzzy(soc)']) {
      const [problem] = problemsOf(drawn(when));
      expect(problem === undefined ? problem : fixOf(problem, drawn(when))).toBeNull();
    }
  });
});
