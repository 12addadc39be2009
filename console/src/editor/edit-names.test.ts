import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExpression } from '../../../src/rules/expression/parse.ts';
import { addNode, setBranches, setConfig } from './edit-flow.ts';
import { declarations, renameBranch, renameVariable, withName } from './edit-names.ts';
import { connect } from './edit-wires.ts';
import { configOf, type FlowDocument, newDocument, nodeOf, wiresOf } from './flow-document.ts';

function drawn(): FlowDocument {
  let flow = newDocument();
  for (const kind of ['input', 'calculation', 'decision', 'period-delta', 'action'] as const)
    flow = addNode(flow, kind, { x: 0, y: 0 }).document;
  flow = setConfig(flow, 'input', 'variables', [{ name: 'soc', instance: 4, point: 1 }, { name: 'meter' }]);
  flow = setConfig(flow, 'input', 'parameters', [{ name: 'limit', parameter: 'soc_upper' }]);
  flow = setConfig(flow, 'calculation', 'assignments', [
    { name: 'room', expression: 'limit - soc' },
    { name: 'share', expression: 'room / limit' },
  ]);
  flow = setBranches(flow, 'decision', [
    { name: 'low', when: 'soc < 1e5 && soc_2 > soc' },
    { name: 'high', when: '1' },
  ]);
  flow = setConfig(flow, 'period_delta', 'input', 'meter');
  flow = setConfig(flow, 'period_delta', 'name', 'today');
  flow = setConfig(flow, 'action', 'writes', [{ instance: 4, point: 1, value: 'min(soc, 5)' }, { value: 3 }]);
  flow = connect(flow, 'decision', 'low', 'action');
  return connect(flow, 'decision', 'high', 'end');
}

function configIn(flow: FlowDocument, id: string) {
  const node = nodeOf(flow, id);
  return node === undefined ? {} : configOf(node);
}

describe('[rules §5.1] a name', () => {
  test('of a variable changes wherever expressions read it, and nowhere else', () => {
    const flow = renameVariable(drawn(), 'input', { list: 'variables', at: 0 }, 'e5');
    expect(configIn(flow, 'input')['variables']).toEqual([{ name: 'e5', instance: 4, point: 1 }, { name: 'meter' }]);
    expect(configIn(flow, 'calculation')['assignments']).toMatchObject([
      { name: 'room', expression: 'limit - e5' },
      { name: 'share', expression: 'room / limit' },
    ]);
    expect(configIn(flow, 'decision')['branches']).toMatchObject([{ when: 'e5 < 1e5 && soc_2 > e5' }, { when: '1' }]);
    expect(configIn(flow, 'action')['writes']).toMatchObject([{ value: 'min(e5, 5)' }, { value: 3 }]);
  });

  test('of a parameter, of a computed variable and of a selected input follows too', () => {
    let flow = renameVariable(drawn(), 'input', { list: 'parameters', at: 0 }, 'upper');
    flow = renameVariable(flow, 'calculation', { list: 'assignments', at: 0 }, 'space');
    flow = renameVariable(flow, 'input', { list: 'variables', at: 1 }, 'counter');
    flow = renameVariable(flow, 'period_delta', { field: 'name' }, 'this_day');
    expect(configIn(flow, 'calculation')['assignments']).toMatchObject([
      { name: 'space', expression: 'upper - soc' },
      { name: 'share', expression: 'space / upper' },
    ]);
    expect(configIn(flow, 'period_delta')).toMatchObject({ input: 'counter', name: 'this_day' });
  });

  test('that another entry declares too is changed alone: it is not known which one an expression reads', () => {
    const twice = setConfig(drawn(), 'calculation', 'assignments', [{ name: 'soc', expression: '1' }]);
    const flow = renameVariable(twice, 'input', { list: 'variables', at: 0 }, 'level');
    expect(configIn(flow, 'decision')['branches']).toMatchObject([{ when: 'soc < 1e5 && soc_2 > soc' }, {}]);
    const merged = renameVariable(drawn(), 'input', { list: 'variables', at: 0 }, 'limit');
    expect(configIn(merged, 'calculation')['assignments']).toMatchObject([{ expression: 'limit - soc' }, {}]);
    expect(declarations(merged, 'limit')).toBe(2);
  });

  test('of a branch takes its wires along, removing the branch takes them away', () => {
    const renamed = renameBranch(drawn(), 'decision', 0, 'empty');
    const decision = nodeOf(renamed, 'decision');
    expect(decision === undefined ? null : wiresOf(decision)).toMatchObject({ empty: ['action'], high: ['end'] });
    expect(setBranches(renamed, 'decision', []).edges).toHaveLength(0);
  });

  test('replaced in an expression reads as the parser reads it, for any text that is an expression', () => {
    const word = fc.constantFrom(
      'soc',
      'soc_2',
      'e5',
      '1e5',
      '.5e1',
      '5.',
      'min(soc, 2)',
      '(soc)',
      'max(e5,soc)',
      '!soc',
    );
    const sign = fc.constantFrom('+', '-', ' * ', '/', ' && ', ' || ', '^');
    fc.assert(
      fc.property(fc.array(fc.tuple(word, sign), { maxLength: 8 }), word, (parts, last) => {
        const text = `${parts.flat().join('')}${last}`;
        const before = parseExpression(text);
        const after = parseExpression(withName(text, 'soc', 'level'));
        if (!before.ok || !after.ok) throw new Error(`${text} is no expression`);
        const expected = before.expression.variables.map((name) => (name === 'soc' ? 'level' : name));
        expect(after.expression.variables).toEqual(expected);
        expect(parseExpression(withName(withName(text, 'soc', 'level'), 'level', 'soc'))).toEqual(before);
      }),
    );
  });
});
