/** The second dialect [rules §4.3]: the same flows in another form, and what only that form can get wrong. */
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, testCatalogue } from '../testing/site-builder.ts';
import { type ParsedFlow, parseFlow, parseTopology } from './parse.ts';
import { serialiseTopology } from './serialise.ts';

type Fields = Record<string, unknown>;
const catalogue = testCatalogue();

const block = (id: string, type: string, config: Fields): Fields => ({
  id,
  type: 'custom',
  position: { x: 0, y: 0 },
  data: { type, label: id, config: { wires: { default: ['end'] }, ...config } },
});
const measured = (name: string, point: number, more: Fields = {}) => ({
  name,
  type: 'single',
  instance: 1,
  pointType: 'measurement',
  point,
  ...more,
});
const actuator = (name: string, point = 1, more: Fields = {}) => ({
  name,
  type: 'single',
  instance: 1,
  pointType: 'action',
  point,
  ...more,
});
const condition = (variables: string, operator: string, value: unknown) => ({
  type: 'variable',
  variables,
  operator,
  value,
});
const relation = (value: string) => ({ type: 'relation', value });
const branch = (name: string, ...rule: object[]) => ({ name, type: 'default', rule });
const flow = (...nodes: Fields[]) => flowDocument(String(nodes[0]?.['id']), nodes);

function accepted(parsed: ParsedFlow) {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed;
}
const nodeOf = (node: Fields) => accepted(parseFlow(flow(node), catalogue)).topology.nodes.get(String(node['id']));
function issuesOf(...nodes: Fields[]) {
  const parsed = parseFlow(flow(...nodes), catalogue);
  if (parsed.ok) throw new Error('the document was accepted');
  return parsed.issues;
}
const issue = (code: string, path: string, node: string) => ({
  code,
  path,
  node_id: node,
  message: expect.any(String),
  hint: expect.any(String),
});

describe('[rules §4.3] both dialects parse into one topology', () => {
  test('a flow in both forms gives equal order, wires, conditions and writes', () => {
    const native = flowDocument('in', [
      editorNode('in', 'decision', {
        branches: [
          { name: 'high', when: '1 > 0' },
          { name: '1', when: '0 > 1' },
        ],
        wires: { high: ['act'], '1': ['end'], else: ['end'] },
      }),
      editorNode('act', 'action', {
        writes: [
          { instance: 1, point: 1, value: -5 },
          { instance: 1, point_type: 'measurement', point: 9, value: 0.5 },
        ],
        wires: { default: ['end'] },
      }),
    ]);
    const second = {
      nodes: [
        block('end', 'end', { wires: {} }),
        block('act', 'action-changeValue', {
          variables: [actuator('p'), measured('v', 9)],
          rule: [
            { Variables: 'p', value: '-5' },
            { Variables: 'v', value: 0.5 },
          ],
        }),
        block('in', 'function-switch', {
          rule: [branch('high', condition('one', '>', 0)), branch('1', condition('one', '<', 0))],
          variables: [{ name: 'one', type: 'combined', formula: ['1'] }],
          wires: { else: ['end'], '1': ['end'], high: ['act'] },
        }),
        block('start', 'start', { wires: { default: ['in'] } }),
      ],
    };
    const [a, b] = [native, second].map((document) => accepted(parseFlow(document, catalogue)).topology);
    expect([...(b?.nodes.keys() ?? [])]).toEqual([...(a?.nodes.keys() ?? [])]);
    for (const id of ['start', 'act', 'end']) expect(b?.nodes.get(id)).toEqual(a?.nodes.get(id));
    expect(b?.nodes.get('in')?.wires).toEqual(a?.nodes.get('in')?.wires);
  });

  test('a switch: conditions and relations in turn, by the precedence of the language', () => {
    const node = block('d', 'function-switch', {
      variables: [
        measured('x', 1, {
          instance_name: 'meter',
          point_name: 'P',
          unit: 'kW',
          id: 'v1',
          label: 'X',
          description: 'd',
        }),
        { name: 'y', type: 'single', instance_id: 1, pointType: 'M', point_id: 2 },
        { name: 's', type: 'combined', formula: ['x', '+', { type: 'variable', value: 'y' }, '*', 2, '-', -3] },
      ],
      rule: [
        branch(
          'a',
          condition('x', '>=', 10),
          relation('&&'),
          condition('y', '=', '20'),
          relation('||'),
          condition('s', '!=', -1),
        ),
        branch('b', condition('x', '<', 'y + 1'), relation('||'), condition('x', '==', 'y')),
      ],
      wires: { a: ['end'], b: ['end'], else: ['end'] },
    });
    expect(nodeOf(node)).toEqual({
      type: 'switch',
      variables: [
        { name: 'x', instance: 1, point_type: 'measurement', point: 1 },
        { name: 'y', instance: 1, point_type: 'measurement', point: 2 },
      ],
      assignments: [{ name: 's', expression: 'x + y * 2 - (-3)' }],
      branches: [
        { name: 'a', when: 'x >= 10 && y == 20 || s != (-1)' },
        { name: 'b', when: 'x < (y + 1) || x == y' },
      ],
      wires: { a: ['end'], b: ['end'], else: ['end'] },
    });
  });

  test('a negative number among the tokens is one operand: (-5) ^ 2', () => {
    const node = block('c', 'action-calculation', { rule: [{ output: 'square', formula: [-5, '^', 2] }] });
    expect(nodeOf(node)).toMatchObject({ assignments: [{ name: 'square', expression: '(-5) ^ 2' }] });
  });

  test('a change: constants in numbers and texts, formulas, and a target that is also read', () => {
    const node = block('a', 'action-changeValue', {
      variables: [
        measured('x', 1),
        actuator('p', 1),
        { name: 'q', type: 'single', instance: 1, pointType: 'A', point_id: 2 },
      ],
      rule: [
        { Variables: 'p', value: ' 1e1 ' },
        { Variables: 'q', value: 'x + p' },
        { Variables: 'p', value: ['x', '*', 2], id: 'r', label: 'l', description: 'd' },
      ],
    });
    expect(nodeOf(node)).toEqual({
      type: 'change',
      variables: [
        { name: 'x', instance: 1, point_type: 'measurement', point: 1 },
        { name: 'p', instance: 1, point_type: 'action', point: 1 },
      ],
      writes: [
        { instance: 1, point_type: 'action', point: 1, value: 10 },
        { instance: 1, point_type: 'action', point: 2, value: 'x + p' },
        { instance: 1, point_type: 'action', point: 1, value: 'x * 2' },
      ],
      wires: { default: ['end'] },
    });
  });

  test('a variable of a change that it neither writes nor uses is still declared for the nodes behind it', () => {
    const first = block('a', 'action-changeValue', {
      variables: [measured('x', 1), actuator('p')],
      rule: [{ Variables: 'p', value: 1 }],
      wires: { default: ['b'] },
    });
    const second = block('b', 'action-changeValue', {
      variables: [actuator('q', 2)],
      rule: [{ Variables: 'q', value: 'x' }],
    });
    expect(accepted(parseFlow(flow(first, second), catalogue)).warnings).toEqual([]);
  });

  test('a calculation: an output that names a declared point variable also writes it', () => {
    const node = block('c', 'action-calculation', {
      variables: [measured('x', 1), actuator('p')],
      rule: [
        { output: 'sum', formula: 'x + 1' },
        { output: 'p', formula: ['sum', '*', 2] },
      ],
    });
    expect(nodeOf(node)).toEqual({
      type: 'calculation',
      variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
      assignments: [
        { name: 'sum', expression: 'x + 1' },
        { name: 'p_result_1', expression: 'sum * 2' },
      ],
      writes: [{ instance: 1, point_type: 'action', point: 1, value: 'p_result_1' }],
      wires: { default: ['end'] },
    });
  });

  test('names of 128 characters: the computed value and the point’s own value stay two variables', () => {
    const name = 'p'.repeat(128);
    const node = block('c', 'action-calculation', {
      variables: [actuator(name)],
      rule: [{ output: name, formula: [name, '+', 1] }],
    });
    const result = `${'p'.repeat(119)}_result_0`;
    expect(nodeOf(node)).toMatchObject({
      variables: [{ name }],
      assignments: [{ name: result, expression: `${name} + 1` }],
      writes: [{ value: result }],
    });
  });

  test('a period delta, with its time zone, into a virtual point or a variable', () => {
    const delta = (more: Fields) =>
      block('p', 'action-periodDelta', {
        variables: [measured('kwh', 1), measured('v', 9)],
        period: 'weekly',
        ...more,
      });
    expect(nodeOf(delta({ input: 'kwh', output: 'v', timezone: 'Asia/Kolkata' }))).toEqual({
      type: 'period-delta',
      variables: [{ name: 'kwh', instance: 1, point_type: 'measurement', point: 1 }],
      input: 'kwh',
      period: 'weekly',
      name: 'v_result',
      timezone: 'Asia/Kolkata',
      writes: [{ instance: 1, point_type: 'measurement', point: 9, value: 'v_result' }],
      wires: { default: ['end'] },
    });
    expect(nodeOf(delta({ input: 'v', output: 'v' }))).toMatchObject({
      variables: [{ name: 'kwh' }, { name: 'v' }],
      input: 'v',
      name: 'v_result',
    });
    expect(nodeOf(delta({ input: 'kwh', output: 'week' }))).toMatchObject({ name: 'week', variables: [{}, {}] });
  });

  test('every block’s stored form reads back to the same bytes', () => {
    const document = flow(
      block('c', 'action-calculation', {
        variables: [measured('x', 1), actuator('p')],
        rule: [{ output: 'p', formula: 'x' }],
        wires: { default: ['d'] },
      }),
      block('d', 'function-switch', {
        variables: [measured('y', 2), { name: 's', type: 'combined', formula: 'y * 2' }],
        rule: [branch('2', condition('s', '>', 1)), branch('1', condition('s', '>', 0.5))],
        wires: { '1': ['e'], '2': ['e'] },
      }),
      block('e', 'action-periodDelta', {
        variables: [measured('kwh', 1), measured('v', 9)],
        input: 'kwh',
        output: 'v',
        period: 'daily',
        timezone: 'UTC',
      }),
    );
    const text = serialiseTopology(accepted(parseFlow(document, catalogue)).topology);
    expect(serialiseTopology(accepted(parseTopology(JSON.parse(text), catalogue)).topology)).toBe(text);
  });
});

describe('[rules §4.3] refused in the second dialect: once, with node, place and hint', () => {
  const config = '/nodes/1/data/config';
  const deciding = (...rule: object[]) =>
    block('d', 'function-switch', {
      variables: [measured('x', 1)],
      rule: [branch('a', ...rule)],
      wires: { a: ['end'] },
    });
  test.each<[string, Fields, [string, string]]>([
    ['an unknown block', block('d', 'function-loop', {}), ['unknown-node-type', '/nodes/1/data/type']],
    [
      'a block without a type',
      { ...block('d', '', {}), data: { config: {} } },
      ['unknown-node-type', '/nodes/1/data/type'],
    ],
    ['an unknown operator', deciding(condition('x', '~', 1)), ['unknown-operator', `${config}/rule/0/rule/0/operator`]],
    [
      'the operator constructor',
      deciding(condition('x', 'constructor', 1)),
      ['unknown-operator', `${config}/rule/0/rule/0/operator`],
    ],
    [
      'an unknown relation',
      deciding(condition('x', '>', 1), relation('xor'), condition('x', '<', 9)),
      ['unknown-relation', `${config}/rule/0/rule/1/value`],
    ],
    [
      'a relation at the end',
      deciding(condition('x', '>', 1), relation('&&')),
      ['invalid-field', `${config}/rule/0/rule`],
    ],
    [
      'a condition in a relation’s place',
      deciding(condition('x', '>', 1), condition('x', '<', 9)),
      ['invalid-field', `${config}/rule/0/rule/1/type`],
    ],
    ['no conditions', deciding(), ['invalid-field', `${config}/rule/0/rule`]],
    [
      'an unknown function in a condition',
      deciding(condition('x', '>', 'sinh(x)')),
      ['unknown-function', `${config}/rule/0/rule/0/value`],
    ],
    [
      'a condition on a variable that nobody declares',
      deciding(condition('nobody', '>', 1)),
      ['undeclared-variable', `${config}/rule/0/rule`],
    ],
    [
      'an unknown field in the config',
      block('d', 'function-switch', {
        rule: [branch('a', condition('x', '>', 1))],
        variables: [measured('x', 1)],
        wires: { a: ['end'] },
        cron: 1,
      }),
      ['unknown-field', `${config}/cron`],
    ],
    [
      'an unknown field in a variable',
      block('d', 'action-calculation', {
        variables: [measured('x', 1, { scale: 2 })],
        rule: [{ output: 'o', formula: 'x' }],
      }),
      ['unknown-field', `${config}/variables/0/scale`],
    ],
    [
      'an unknown field in a condition',
      deciding({ ...condition('x', '>', 1), negate: true }),
      ['unknown-field', `${config}/rule/0/rule/0/negate`],
    ],
    [
      'a variable that is neither single nor combined',
      block('d', 'action-calculation', {
        variables: [{ name: 'x', type: 'double' }],
        rule: [{ output: 'o', formula: 'x' }],
      }),
      ['invalid-field', `${config}/variables/0/type`],
    ],
    [
      'an unknown point',
      block('d', 'action-calculation', { variables: [measured('x', 77)], rule: [{ output: 'o', formula: 'x' }] }),
      ['unknown-point', `${config}/variables/0`],
    ],
    [
      'an unknown point that is written',
      block('d', 'action-changeValue', { variables: [actuator('p', 77)], rule: [{ Variables: 'p', value: 1 }] }),
      ['unknown-point', `${config}/variables/0`],
    ],
    [
      'a variable declared twice, though neither is read',
      block('d', 'action-changeValue', {
        variables: [actuator('p', 1), actuator('p', 2)],
        rule: [{ Variables: 'p', value: 1 }],
      }),
      ['duplicate-variable', `${config}/variables/1/name`],
    ],
    [
      'two names for one number that differ',
      block('d', 'action-changeValue', {
        variables: [actuator('p', 1, { point_id: 2 })],
        rule: [{ Variables: 'p', value: 1 }],
      }),
      ['invalid-field', `${config}/variables/0/point_id`],
    ],
    [
      'a write to a measurement',
      block('d', 'action-changeValue', { variables: [measured('p', 1)], rule: [{ Variables: 'p', value: 1 }] }),
      ['not-writable', `${config}/rule/0/Variables`],
    ],
    [
      'a write to a variable that is not declared',
      block('d', 'action-changeValue', { variables: [actuator('p')], rule: [{ Variables: 'q', value: 1 }] }),
      ['undeclared-variable', `${config}/rule/0/Variables`],
    ],
    [
      'a write to a combined variable',
      block('d', 'action-changeValue', {
        variables: [{ name: 's', type: 'combined', formula: '1' }],
        rule: [{ Variables: 's', value: 1 }],
      }),
      ['undeclared-variable', `${config}/rule/0/Variables`],
    ],
    [
      'a constant out of range among tokens',
      block('d', 'action-changeValue', {
        variables: [actuator('p')],
        rule: [{ Variables: 'p', value: ['(', 101, ')'] }],
      }),
      ['out-of-range', `${config}/rule/0/value`],
    ],
    [
      'a constant out of range as the formula of an output that is written',
      block('d', 'action-calculation', { variables: [actuator('p')], rule: [{ output: 'p', formula: [-101] }] }),
      ['out-of-range', `${config}/rule/0/formula`],
    ],
    [
      'a constant out of range, in a text too',
      block('d', 'action-changeValue', { variables: [actuator('p')], rule: [{ Variables: 'p', value: '101' }] }),
      ['out-of-range', `${config}/rule/0/value`],
    ],
    [
      'a number that the language does not know',
      block('d', 'action-changeValue', { variables: [actuator('p')], rule: [{ Variables: 'p', value: '0x10' }] }),
      ['expression-syntax', `${config}/rule/0/value`],
    ],
    [
      'a formula that does not parse',
      block('d', 'action-calculation', { variables: [measured('x', 1)], rule: [{ output: 'o', formula: ['x', '+'] }] }),
      ['expression-syntax', `${config}/rule/0/formula`],
    ],
    [
      'a token that is not a token',
      block('d', 'action-calculation', {
        variables: [measured('x', 1)],
        rule: [{ output: 'o', formula: ['x', null] }],
      }),
      ['invalid-field', `${config}/rule/0/formula`],
    ],
    [
      'a formula on a variable that nobody declares',
      block('d', 'action-calculation', {
        variables: [{ name: 's', type: 'combined', formula: ['nobody'] }],
        rule: [{ output: 'o', formula: 's' }],
      }),
      ['undeclared-variable', `${config}/variables/0/formula`],
    ],
    [
      'an output that writes a measurement',
      block('d', 'action-calculation', { variables: [measured('x', 1)], rule: [{ output: 'x', formula: '1' }] }),
      ['not-writable', `${config}/rule/0/output`],
    ],
    [
      'a period that is none of the four',
      block('d', 'action-periodDelta', { variables: [measured('x', 1)], input: 'x', output: 'o', period: 'hourly' }),
      ['invalid-field', `${config}/period`],
    ],
    [
      'an unknown time zone',
      block('d', 'action-periodDelta', {
        variables: [measured('x', 1)],
        input: 'x',
        output: 'o',
        period: 'daily',
        timezone: 'Mars/Olympus',
      }),
      ['unknown-timezone', `${config}/timezone`],
    ],
    [
      'an input of a delta that nobody declares',
      block('d', 'action-periodDelta', { input: 'x', output: 'o', period: 'daily' }),
      ['undeclared-variable', `${config}/input`],
    ],
    [
      'a dangling wire',
      block('d', 'action-calculation', { rule: [{ output: 'o', formula: '1' }], wires: { default: ['gone'] } }),
      ['dangling-wire', `${config}/wires/default/0`],
    ],
    [
      'a branch named else',
      block('d', 'function-switch', {
        variables: [measured('x', 1)],
        rule: [branch('else', condition('x', '>', 1))],
        wires: { else: ['end'] },
      }),
      ['reserved-name', `${config}/rule/0/name`],
    ],
    [
      'two branches of one name',
      block('d', 'function-switch', {
        variables: [measured('x', 1)],
        rule: [branch('a', condition('x', '>', 1)), branch('a', condition('x', '<', 1))],
        wires: { a: ['end'] },
      }),
      ['duplicate-branch', `${config}/rule`],
    ],
  ])('%s', (_, node, [code, path]) => expect(issuesOf(node)).toEqual([issue(code, path, 'd')]));
});

describe('[rules §4.5] warnings in the second dialect', () => {
  test('a wire without its branch is never taken, of any block; an empty one is not a wire', () => {
    const node = block('d', 'function-switch', {
      variables: [measured('x', 1)],
      rule: [branch('a', condition('x', '>', 1))],
      wires: { a: ['end'], 'old/branch': ['end', 'gone'], empty: [] },
    });
    const change = block('c', 'action-changeValue', {
      variables: [actuator('p')],
      rule: [{ Variables: 'p', value: 1 }],
      wires: { default: ['d'], failure: ['end'] },
    });
    const { warnings, topology } = accepted(parseFlow(flow(change, node), catalogue));
    expect(warnings).toEqual([
      issue('wire-without-branch', '/nodes/1/data/config/wires/failure', 'c'),
      issue('wire-without-branch', '/nodes/2/data/config/wires/old~1branch', 'd'),
    ]);
    expect([topology.nodes.get('d')?.wires, topology.nodes.get('c')?.wires]).toEqual([
      { a: ['end'] },
      { default: ['d'] },
    ]);
  });

  test('a branch without a wire and a shadowed one are named where they stand', () => {
    const node = block('d', 'function-switch', {
      variables: [measured('x', 1)],
      rule: [branch('a', condition('x', '>', 1)), branch('b', condition('x', '>', 2))],
      wires: { b: ['end'] },
    });
    expect(accepted(parseFlow(flow(node), catalogue)).warnings).toEqual([
      issue('branch-without-wire', '/nodes/1/data/config/rule/0', 'd'),
      issue('shadowed-branch', '/nodes/1/data/config/rule/1', 'd'),
    ]);
  });
});
