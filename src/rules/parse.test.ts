/** Every refusal and limit of a flow document, sentence by sentence [rules §4.4]. */
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import type { Issue } from './issues.ts';
import { flowLimits, storedFlowLimits } from './limits.ts';
import { type ParsedFlow, parseFlow, parseTopology } from './parse.ts';
import { serialiseTopology } from './serialise.ts';
import type { Topology } from './topology.ts';

type Fields = Record<string, unknown>;

const catalogue = testCatalogue();
const action = (id: string, writes: object[], next = ['end']) =>
  editorNode(id, 'action', { writes, wires: { default: next } });
const write = (value: unknown, point = 1, more: Fields = {}) => ({ instance: 1, point, value, ...more });
const decision = (branches: object[], wires: Record<string, string[]> = { a: ['end'] }, id = 'd') =>
  editorNode(id, 'decision', { branches, wires });
const calculation = (id: string, assignments: object[], next = ['end']) =>
  editorNode(id, 'calculation', { assignments, wires: { default: next } });
const read = (point: number, more: Fields = {}) => ({
  name: 'x',
  instance: 1,
  point_type: 'measurement',
  point,
  ...more,
});
const input = (config: Fields, next = ['end']) => editorNode('in', 'input', { ...config, wires: { default: next } });

function issuesOf(parsed: ParsedFlow): readonly Issue[] {
  if (parsed.ok) throw new Error('the document was accepted');
  return parsed.issues;
}
function topologyOf(parsed: ParsedFlow): Topology {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.topology;
}
/** start → in (x, y, z) → the nodes → end. */
const withInput = (...nodes: Fields[]) =>
  flowDocument('in', [inputNode([String(nodes[0]?.['id'] ?? 'end')]), ...nodes]);

interface Refusal {
  readonly code: string;
  readonly path: string;
  /** Undefined where no node is at fault. */
  readonly node: string | undefined;
}

/** Exactly one issue: a fault is named once, with its node, its place and a hint, and nothing is blamed for it twice. */
function expectRefusal(document: unknown, { code, path, node }: Refusal): void {
  const issues = issuesOf(parseFlow(document, catalogue));
  expect(issues).toEqual([
    {
      code,
      path,
      message: expect.any(String),
      hint: expect.any(String),
      ...(node === undefined ? {} : { node_id: node }),
    },
  ]);
}

describe('[rules §4.1] accepted', () => {
  test('[rules §4.1] the minimal document: a start whose wires.default lists the end', () => {
    const minimal = {
      nodes: [
        { id: 's', type: 'start', position: { x: 0, y: 0 }, data: { config: { wires: { default: ['e'] } } } },
        { id: 'e', type: 'end', position: { x: 1, y: 1 } },
      ],
      edges: [],
    };
    expect(parseFlow(minimal, catalogue)).toMatchObject({
      ok: true,
      warnings: [],
      topology: {
        start_node: 's',
        nodes: new Map([
          ['s', { type: 'start', wires: { default: ['e'] } }],
          ['e', { type: 'end', wires: {} }],
        ]),
      },
    });
  });

  test.each([
    ['absent', {}],
    ['empty', { data: {} }],
    ['with an empty config', { data: { config: {} } }],
    ['with empty wires', { data: { config: { wires: {} } } }],
    ['with an empty default wire', { data: { config: { wires: { default: [] } } } }],
  ])('data of an end may be %s', (_, more) => {
    const flow = flowDocument('end', []);
    const nodes = flow['nodes'] as Fields[];
    nodes[1] = { id: 'end', type: 'end', position: { x: 0, y: 0 }, ...more };
    expect(topologyOf(parseFlow(flow, catalogue)).nodes.get('end')).toEqual({ type: 'end', wires: {} });
  });

  test('fields outside config are the editor’s: on the document, on nodes, in data, and edges, viewport, metadata', () => {
    const flow: Fields = {
      ...withInput(action('a', [write(1)])),
      viewport: { x: 0, y: 0, zoom: 1 },
      metadata: { by: 'editor' },
      anything: [1],
    };
    for (const node of flow['nodes'] as Fields[]) {
      Object.assign(node, { selected: true, measured: { width: 1 } });
      Object.assign(node['data'] as Fields, { icon: 'bolt' });
    }
    expect(parseFlow(flow, catalogue)).toMatchObject({ ok: true, warnings: [] });
  });

  test('defaults: a write is to an action point; parameters or variables may be omitted; max_age_ms is preserved', () => {
    const nodes = topologyOf(
      parseFlow(
        flowDocument('in', [
          input({ parameters: [{ name: 'low', parameter: 'low' }] }, ['more']),
          editorNode('more', 'input', { variables: [read(1, { max_age_ms: 86_400_000 })], wires: { default: ['a'] } }),
          action('a', [write(5), write('x + low', 9, { point_type: 'measurement' })]),
        ]),
        catalogue,
      ),
    ).nodes;
    expect([...nodes].slice(1, 4)).toEqual([
      [
        'in',
        { type: 'input', variables: [], parameters: [{ name: 'low', parameter: 'low' }], wires: { default: ['more'] } },
      ],
      [
        'more',
        {
          type: 'input',
          variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1, max_age_ms: 86_400_000 }],
          parameters: [],
          wires: { default: ['a'] },
        },
      ],
      [
        'a',
        {
          type: 'change',
          writes: [
            { instance: 1, point_type: 'action', point: 1, value: 5 },
            { instance: 1, point_type: 'measurement', point: 9, value: 'x + low' },
          ],
          wires: { default: ['end'] },
        },
      ],
    ]);
  });

  test('fan-out and fan-in: start → several inputs → one decision sees the variables of all', () => {
    const flow = flowDocument('fork', [
      calculation('fork', [{ name: 'one', expression: '1' }], ['a', 'b', 'c']),
      ...['a', 'b', 'c'].map((id) =>
        editorNode(id, 'input', { variables: [read(1, { name: `from_${id}` })], wires: { default: ['d'] } }),
      ),
      decision([{ name: 'a', when: 'from_a + from_b > from_c * one' }]),
    ]);
    expect([...topologyOf(parseFlow(flow, catalogue)).nodes.keys()]).toEqual([
      'start',
      'fork',
      'a',
      'b',
      'c',
      'd',
      'end',
    ]);
  });

  test('another node may declare a name again; it shadows from there on', () => {
    const flow = withInput(
      calculation('c', [{ name: 'x', expression: 'x * 2' }], ['again']),
      input({ variables: [] }),
      calculation('again', [{ name: 'x', expression: 'x + y' }]),
    );
    const nodes = (flow['nodes'] as Fields[]).filter(
      ({ id }, index, all) => all.findIndex((n) => n['id'] === id) === index,
    );
    expect(parseFlow({ ...flow, nodes }, catalogue)).toMatchObject({ ok: true, warnings: [] });
  });

  test('period-delta with and without its own time zone', () => {
    const delta = (more: Fields) => ({
      input: 'x',
      period: 'quarterly',
      name: 'q',
      ...more,
      wires: { default: ['end'] },
    });
    const nodeOf = (more: Fields) =>
      topologyOf(parseFlow(withInput(editorNode('p', 'period-delta', delta(more))), catalogue)).nodes.get('p');
    expect(nodeOf({})).toEqual({ type: 'period-delta', ...delta({}) });
    expect(nodeOf({ timezone: 'America/New_York' })).toEqual({
      type: 'period-delta',
      ...delta({ timezone: 'America/New_York' }),
    });
  });

  test('keys in topological order, ties by code unit, integer-like ids included', () => {
    const flow = flowDocument('10', [
      calculation('10', [{ name: 'u', expression: '1' }], ['9', '2', 'b', 'B', '_']),
      ...['b', '9', '_', '2', 'B'].map((id) => calculation(id, [{ name: 'v', expression: 'u' }], ['1'])),
      calculation('1', [{ name: 'w', expression: 'u' }]),
    ]);
    expect([...topologyOf(parseFlow(flow, catalogue)).nodes.keys()]).toEqual([
      'start',
      '10',
      '2',
      '9',
      'B',
      '_',
      'b',
      '1',
      'end',
    ]);
  });

  test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'x'.repeat(128), '0', '-', '_'])(
    'the node id %s is an id like any other',
    (id) => {
      const flow = flowDocument(id, [calculation(id, [{ name: 'constructor', expression: '1' }])]);
      expect([...topologyOf(parseFlow(flow, catalogue)).nodes.keys()]).toEqual(['start', id, 'end']);
    },
  );
});

describe('[rules §4.4] refused, with the node’s id, the place and a hint', () => {
  const refusals: readonly [string, unknown, Refusal][] = [
    [
      'unknown node type',
      withInput(editorNode('odd', 'decison', { wires: { default: ['end'] } })),
      { code: 'unknown-node-type', path: '/nodes/2/type', node: 'odd' },
    ],
    [
      'a type that is the name of an object’s own member',
      withInput(editorNode('odd', 'constructor', {})),
      { code: 'unknown-node-type', path: '/nodes/2/type', node: 'odd' },
    ],
    [
      'unknown field in a config',
      withInput(editorNode('a', 'action', { writes: [write(1)], wires: { default: ['end'] }, retries: 3 })),
      { code: 'unknown-field', path: '/nodes/2/data/config/retries', node: 'a' },
    ],
    [
      'unknown field in a variable of a native input',
      flowDocument('in', [input({ variables: [read(1, { unit: 'kW' })] })]),
      { code: 'unknown-field', path: '/nodes/1/data/config/variables/0/unit', node: 'in' },
    ],
    [
      'unknown field in a write',
      withInput(action('a', [write(1, 1, { 'a/b~c': 1 })])),
      { code: 'unknown-field', path: '/nodes/2/data/config/writes/0/a~1b~0c', node: 'a' },
    ],
    [
      'unknown field in a branch',
      withInput(decision([{ name: 'a', when: 'x > 1', then: 1 }])),
      { code: 'unknown-field', path: '/nodes/2/data/config/branches/0/then', node: 'd' },
    ],
    [
      'duplicate id',
      withInput(action('a', [write(1)]), action('a', [write(2)])),
      { code: 'duplicate-node', path: '/nodes/3/id', node: 'a' },
    ],
    [
      'no start',
      { nodes: [inputNode(['end']), editorNode('end', 'end')], edges: [] },
      { code: 'no-start', path: '/nodes', node: undefined },
    ],
    [
      'several starts',
      flowDocument('end', [editorNode('other', 'start', { wires: { default: ['end'] } })]),
      { code: 'several-starts', path: '/nodes/1', node: 'other' },
    ],
    [
      'no end',
      { nodes: [editorNode('start', 'start', { wires: { default: ['in'] } }), inputNode([])], edges: [] },
      { code: 'no-end', path: '/nodes', node: undefined },
    ],
    [
      'dangling wire',
      withInput(action('a', [write(1)], ['end', 'nowhere'])),
      { code: 'dangling-wire', path: '/nodes/2/data/config/wires/default/1', node: 'a' },
    ],
    [
      'a wire to a name that every object has',
      withInput(action('a', [write(1)], ['constructor'])),
      { code: 'dangling-wire', path: '/nodes/2/data/config/wires/default/0', node: 'a' },
    ],
    [
      'a wire to the start',
      withInput(action('a', [write(1)]), action('b', [write(1)], ['start'])),
      { code: 'wire-to-start', path: '/nodes/3/data/config/wires/default/0', node: 'b' },
    ],
    [
      'one target twice in one output',
      withInput(action('a', [write(1)], ['end', 'end'])),
      { code: 'duplicate-wire', path: '/nodes/2/data/config/wires/default/1', node: 'a' },
    ],
    [
      'a cycle of one',
      withInput(action('a', [write(1)], ['a', 'end'])),
      { code: 'cycle', path: '/nodes/2', node: 'a' },
    ],
    [
      'an output that is not declared',
      withInput(decision([{ name: 'a', when: 'x > 1' }], { a: ['end'], b: ['end'] })),
      { code: 'undeclared-output', path: '/nodes/2/data/config/wires/b', node: 'd' },
    ],
    [
      'else of a node that is not a decision',
      withInput(editorNode('a', 'action', { writes: [write(1)], wires: { default: ['end'], else: ['end'] } })),
      { code: 'undeclared-output', path: '/nodes/2/data/config/wires/else', node: 'a' },
    ],
    [
      'a wire out of an end',
      {
        ...withInput(),
        nodes: [
          ...(withInput()['nodes'] as Fields[]).slice(0, 2),
          editorNode('end', 'end', { wires: { default: ['in'] } }),
        ],
      },
      { code: 'undeclared-output', path: '/nodes/2/data/config/wires/default', node: 'end' },
    ],
    [
      'a variable that nobody declares',
      withInput(action('a', [write('x + nobody')])),
      { code: 'undeclared-variable', path: '/nodes/2/data/config/writes/0/value', node: 'a' },
    ],
    [
      'a variable with the name of an object’s own member',
      withInput(action('a', [write('toString')])),
      { code: 'undeclared-variable', path: '/nodes/2/data/config/writes/0/value', node: 'a' },
    ],
    [
      'a variable that is declared on only one of two paths',
      withInput(
        decision([{ name: 'up', when: 'x > 1' }], { up: ['c'], else: ['a'] }),
        calculation('c', [{ name: 'extra', expression: 'x' }], ['a']),
        action('a', [write('extra')]),
      ),
      { code: 'undeclared-variable', path: '/nodes/4/data/config/writes/0/value', node: 'a' },
    ],
    [
      'a variable that is used before its declaration in the same node',
      withInput(
        calculation('c', [
          { name: 'b', expression: 'a' },
          { name: 'a', expression: 'x' },
        ]),
      ),
      { code: 'undeclared-variable', path: '/nodes/2/data/config/assignments/0/expression', node: 'c' },
    ],
    [
      'a variable declared twice in one input',
      flowDocument('in', [input({ variables: [read(1), read(2)] })]),
      { code: 'duplicate-variable', path: '/nodes/1/data/config', node: 'in' },
    ],
    [
      'a variable and a parameter of one name',
      flowDocument('in', [input({ variables: [read(1)], parameters: [{ name: 'x', parameter: 'low' }] })]),
      { code: 'duplicate-variable', path: '/nodes/1/data/config', node: 'in' },
    ],
    [
      'an intermediate declared twice in one calculation',
      withInput(
        calculation('c', [
          { name: 'b', expression: 'x' },
          { name: 'b', expression: 'x' },
        ]),
      ),
      { code: 'duplicate-variable', path: '/nodes/2/data/config', node: 'c' },
    ],
    [
      'the input of a period delta that nobody declares',
      withInput(
        editorNode('p', 'period-delta', { input: 'kwh', period: 'daily', name: 'n', wires: { default: ['end'] } }),
      ),
      { code: 'undeclared-variable', path: '/nodes/2/data/config/input', node: 'p' },
    ],
    [
      'two branches of one name',
      withInput(
        decision([
          { name: 'a', when: 'x > 1' },
          { name: 'a', when: 'y > 1' },
        ]),
      ),
      { code: 'duplicate-branch', path: '/nodes/2/data/config/branches', node: 'd' },
    ],
    [
      'a branch named else',
      withInput(decision([{ name: 'else', when: 'x > 1' }], { else: ['end'] })),
      { code: 'reserved-name', path: '/nodes/2/data/config/branches/0/name', node: 'd' },
    ],
    [
      'an unknown operator',
      withInput(decision([{ name: 'a', when: 'x = 1' }])),
      { code: 'unknown-operator', path: '/nodes/2/data/config/branches/0/when', node: 'd' },
    ],
    [
      'an unknown function',
      withInput(calculation('c', [{ name: 'b', expression: 'sinh(x)' }])),
      { code: 'unknown-function', path: '/nodes/2/data/config/assignments/0/expression', node: 'c' },
    ],
    [
      'a formula that does not parse',
      withInput(action('a', [write('x +')])),
      { code: 'expression-syntax', path: '/nodes/2/data/config/writes/0/value', node: 'a' },
    ],
    [
      'an unknown instance',
      flowDocument('in', [input({ variables: [read(1, { instance: 2 })] })]),
      { code: 'unknown-point', path: '/nodes/1/data/config/variables/0', node: 'in' },
    ],
    [
      'an unknown point, read and then used: blamed once',
      flowDocument('in', [input({ variables: [read(77)] }, ['a']), action('a', [write('x')])]),
      { code: 'unknown-point', path: '/nodes/1/data/config/variables/0', node: 'in' },
    ],
    [
      'an unknown point to write',
      withInput(action('a', [write(1, 77)])),
      { code: 'unknown-point', path: '/nodes/2/data/config/writes/0', node: 'a' },
    ],
    [
      'an unknown parameter',
      flowDocument('in', [input({ parameters: [{ name: 'p', parameter: 'middle' }] })]),
      { code: 'unknown-parameter', path: '/nodes/1/data/config/parameters/0/parameter', node: 'in' },
    ],
    [
      'a write to a measurement',
      withInput(action('a', [write(1, 1, { point_type: 'measurement' })])),
      { code: 'not-writable', path: '/nodes/2/data/config/writes/0', node: 'a' },
    ],
    [
      'a constant above the range',
      withInput(action('a', [write(100.01)])),
      { code: 'out-of-range', path: '/nodes/2/data/config/writes/0/value', node: 'a' },
    ],
    [
      'a constant below the range',
      withInput(action('a', [write(-100.01)])),
      { code: 'out-of-range', path: '/nodes/2/data/config/writes/0/value', node: 'a' },
    ],
    ...['100.01', ' -(100.01)', '--101', '((2e2))'].map((value): [string, unknown, Refusal] => [
      `a constant outside the range in a text: ${value}`,
      withInput(action('a', [write(value)])),
      { code: 'out-of-range', path: '/nodes/2/data/config/writes/0/value', node: 'a' },
    ]),
    [
      'a node id with a space',
      flowDocument('in', [inputNode(['end']), editorNode('no de', 'end')]),
      { code: 'invalid-node-id', path: '/nodes/2/id', node: 'no de' },
    ],
    [
      'the node id __proto__',
      flowDocument('in', [inputNode(['end']), editorNode('__proto__', 'end')]),
      { code: 'invalid-node-id', path: '/nodes/2/id', node: '__proto__' },
    ],
    [
      'the empty node id',
      flowDocument('in', [inputNode(['end']), editorNode('', 'end')]),
      { code: 'invalid-node-id', path: '/nodes/2/id', node: '' },
    ],
    [
      'a node without an id',
      flowDocument('in', [inputNode(['end']), { type: 'end', position: { x: 0, y: 0 } }]),
      { code: 'invalid-node-id', path: '/nodes/2/id', node: undefined },
    ],
    [
      'a variable named like a function',
      flowDocument('in', [input({ variables: [read(1, { name: 'max' })] })]),
      { code: 'invalid-name', path: '/nodes/1/data/config/variables/0/name', node: 'in' },
    ],
    [
      'an offset instead of an IANA zone',
      withInput(
        editorNode('p', 'period-delta', {
          input: 'x',
          period: 'daily',
          name: 'n',
          timezone: '+01:00',
          wires: { default: ['end'] },
        }),
      ),
      { code: 'unknown-timezone', path: '/nodes/2/data/config/timezone', node: 'p' },
    ],
    [
      'a time zone that does not exist',
      withInput(
        editorNode('p', 'period-delta', {
          input: 'x',
          period: 'daily',
          name: 'n',
          timezone: 'Europe/Utrecht',
          wires: { default: ['end'] },
        }),
      ),
      { code: 'unknown-timezone', path: '/nodes/2/data/config/timezone', node: 'p' },
    ],
    [
      'a period that is none of the four',
      withInput(
        editorNode('p', 'period-delta', { input: 'x', period: 'yearly', name: 'n', wires: { default: ['end'] } }),
        action('a', [write('n')]),
      ),
      { code: 'invalid-field', path: '/nodes/2/data/config/period', node: 'p' },
    ],
    [
      'an instance that is not a whole number',
      flowDocument('in', [input({ variables: [read(1, { instance: 1.5 })] }, ['a']), action('a', [write('x')])]),
      { code: 'invalid-field', path: '/nodes/1/data/config/variables/0/instance', node: 'in' },
    ],
    [
      'a point type that is neither of the two',
      withInput(action('a', [write(1, 1, { point_type: 'A' })])),
      { code: 'invalid-field', path: '/nodes/2/data/config/writes/0/point_type', node: 'a' },
    ],
    [
      'a value that is neither number nor text',
      withInput(action('a', [write(true)])),
      { code: 'invalid-field', path: '/nodes/2/data/config/writes/0/value', node: 'a' },
    ],
    [
      'a position that is not finite',
      flowDocument('in', [{ ...inputNode(['end']), position: { x: 0, y: '0' } }]),
      { code: 'invalid-field', path: '/nodes/1/position', node: 'in' },
    ],
    [
      'a node without data',
      flowDocument('in', [{ id: 'in', type: 'input', position: { x: 0, y: 0 } }]),
      { code: 'invalid-field', path: '/nodes/1/data', node: 'in' },
    ],
    [
      'a start without a config: not also blamed for being missing',
      { nodes: [{ id: 's', type: 'start', position: { x: 0, y: 0 }, data: {} }, editorNode('end', 'end')] },
      { code: 'invalid-field', path: '/nodes/0/data/config', node: 's' },
    ],
    [
      'wires that are no object',
      withInput(editorNode('a', 'action', { writes: [write(1)], wires: ['end'] as never })),
      { code: 'invalid-field', path: '/nodes/2/data/config/wires', node: 'a' },
    ],
    [
      'an output that is not a list of ids',
      withInput(editorNode('a', 'action', { writes: [write(1)], wires: { default: 'end' as never } })),
      { code: 'invalid-field', path: '/nodes/2/data/config/wires/default', node: 'a' },
    ],
    [
      'an input that loads nothing',
      flowDocument('in', [input({})]),
      { code: 'invalid-field', path: '/nodes/1/data/config', node: 'in' },
    ],
    [
      'a decision without branches',
      withInput(decision([], {})),
      { code: 'invalid-field', path: '/nodes/2/data/config/branches', node: 'd' },
    ],
    [
      'edges that are no list',
      { ...withInput(action('a', [write(1)])), edges: {} },
      { code: 'invalid-field', path: '/edges', node: undefined },
    ],
    [
      'a node that is not an object',
      { nodes: [...(withInput(action('a', [write(1)]))['nodes'] as Fields[]), 'end'] },
      { code: 'invalid-field', path: '/nodes/4', node: undefined },
    ],
  ];

  test.each(refusals)('%s', (_, document, refusal) => expectRefusal(document, refusal));

  test.each([[null], [[]], ['flow'], [1], [undefined]])('a document that is not an object: %j', (document) => {
    expectRefusal(document, { code: 'invalid-field', path: '', node: undefined });
    expect(issuesOf(parseTopology(document, catalogue))).toMatchObject([{ code: 'invalid-field', path: '' }]);
  });

  test('every node of a cycle is named, one that merely follows it is not', () => {
    const flow = withInput(
      calculation('a', [{ name: 'p', expression: 'x' }], ['b']),
      calculation('b', [{ name: 'q', expression: 'x' }], ['c']),
      calculation('c', [{ name: 'r', expression: 'x' }], ['a', 'after']),
      calculation('after', [{ name: 's', expression: 'x' }]),
    );
    expect(issuesOf(parseFlow(flow, catalogue)).map(({ code, node_id }) => [code, node_id])).toEqual([
      ['cycle', 'a'],
      ['cycle', 'b'],
      ['cycle', 'c'],
    ]);
  });

  test('[rules §2.3] one answer carries every issue of the document', () => {
    const flow = {
      nodes: [
        editorNode('start', 'start', { wires: { default: ['in', 'gone'] } }),
        input({ variables: [read(77), read(1, { name: '2x' })], extra: true }, ['d']),
        decision(
          [
            { name: 'a', when: 'x >' },
            { name: 'b', when: 'foo(x)' },
          ],
          { a: ['act'], b: ['act'], c: ['act'] },
        ),
        action('act', [write(1000), write(1, 1, { point_type: 'measurement' }), write('unknown')], ['mystery']),
        editorNode('mystery', 'loop', { wires: { default: ['act'] } }),
        editorNode('in', 'end'),
      ],
      edges: [],
    };
    expect(issuesOf(parseFlow(flow, catalogue)).map(({ code, path }) => `${code} ${path}`)).toEqual([
      'duplicate-node /nodes/5/id',
      'unknown-field /nodes/1/data/config/extra',
      'unknown-point /nodes/1/data/config/variables/0',
      'invalid-name /nodes/1/data/config/variables/1/name',
      'expression-syntax /nodes/2/data/config/branches/0/when',
      'unknown-function /nodes/2/data/config/branches/1/when',
      'undeclared-output /nodes/2/data/config/wires/c',
      'out-of-range /nodes/3/data/config/writes/0/value',
      'not-writable /nodes/3/data/config/writes/1',
      'unknown-node-type /nodes/4/type',
      'no-end /nodes',
      'dangling-wire /nodes/0/data/config/wires/default/1',
      'undeclared-variable /nodes/3/data/config/writes/2/value',
    ]);
  });
});

describe('[rules §4.4] limits, each at its edge', () => {
  /** start → a chain of calculations → end, `count` nodes in all. */
  const chain = (count: number): Fields => {
    const inner = Array.from({ length: count - 2 }, (_, index) =>
      calculation(`n${index}`, [{ name: 'v', expression: '1' }], [index === count - 3 ? 'end' : `n${index + 1}`]),
    );
    return flowDocument('n0', inner);
  };
  const compactOf = (flow: Fields): unknown => {
    const { nodes } = topologyOf(parseFlow(flow, catalogue, { ...flowLimits, nodesMaximum: 1000, depthMaximum: 1000 }));
    return { start_node: 'start', nodes: Object.fromEntries(nodes) };
  };

  test('200 nodes are allowed, 201 are not, and nothing else is said about them', () => {
    expect(topologyOf(parseFlow(chain(200), catalogue)).nodes.size).toBe(200);
    expect(topologyOf(parseTopology(compactOf(chain(200)), catalogue)).nodes.size).toBe(200);
    expectRefusal(chain(201), { code: 'too-many-nodes', path: '/nodes', node: undefined });
    expect(issuesOf(parseTopology(compactOf(chain(201)), catalogue))).toEqual([
      { code: 'too-many-nodes', path: '/nodes', message: expect.any(String), hint: expect.any(String) },
    ]);
  });

  test('a depth of 200 is allowed, 201 is not', () => {
    const limits = { ...flowLimits, nodesMaximum: 1000 };
    expect(parseFlow(chain(200), catalogue, limits).ok).toBe(true);
    expect(issuesOf(parseFlow(chain(201), catalogue, limits))).toEqual([
      { code: 'too-deep', path: '/nodes/200', node_id: 'end', message: expect.any(String), hint: expect.any(String) },
    ]);
  });

  test.each(['x', 'é', '€', '😀'])('64 KiB in one node are allowed, one byte more is not, in UTF-8: %s', (letter) => {
    const sized = (bytes: number): Fields => {
      const node = inputNode(['end']);
      const bare = Buffer.byteLength(JSON.stringify({ ...node, note: '' }));
      const width = Buffer.byteLength(letter);
      const count = Math.floor((bytes - bare) / width);
      return { ...node, note: letter.repeat(count) + 'y'.repeat(bytes - bare - count * width) };
    };
    expect(Buffer.byteLength(JSON.stringify(sized(65_536)))).toBe(65_536);
    expect(parseFlow(flowDocument('in', [sized(65_536)]), catalogue).ok).toBe(true);
    expectRefusal(flowDocument('in', [sized(65_537)]), { code: 'node-too-large', path: '/nodes/1', node: 'in' });
  });

  test('a node id of 128 characters is allowed, 129 are not', () => {
    const named = (id: string) => flowDocument(id, [calculation(id, [{ name: 'v', expression: '1' }])]);
    expect(parseFlow(named('a'.repeat(128)), catalogue).ok).toBe(true);
    expectRefusal(named('a'.repeat(129)), { code: 'invalid-node-id', path: '/nodes/1/id', node: 'a'.repeat(128) });
  });

  test('lists of 256 entries are allowed, 257 are not, and the names in them are not blamed again', () => {
    const many = (count: number) =>
      withInput(
        calculation(
          'c',
          Array.from({ length: count }, (_, index) => ({ name: `v${index}`, expression: '1' })),
          ['a'],
        ),
        action('a', [write(`v${count - 1}`)]),
      );
    expect(parseFlow(many(256), catalogue).ok).toBe(true);
    expectRefusal(many(257), { code: 'invalid-field', path: '/nodes/2/data/config/assignments', node: 'c' });
  });

  test('an output of 200 entries is read, one of 201 is not', () => {
    const wired = (count: number) => withInput(action('a', [write(1)], Array(count).fill('end')));
    const codes = (count: number) => issuesOf(parseFlow(wired(count), catalogue)).map(({ code }) => code);
    expect(codes(200)).toEqual(Array(199).fill('duplicate-wire'));
    expectRefusal(wired(201), { code: 'invalid-field', path: '/nodes/2/data/config/wires/default', node: 'a' });
  });

  test('names of 128 characters are allowed, 129 are not', () => {
    const variable = (length: number) => withInput(calculation('c', [{ name: 'v'.repeat(length), expression: '1' }]));
    expect(parseFlow(variable(128), catalogue).ok).toBe(true);
    expectRefusal(variable(129), { code: 'invalid-name', path: '/nodes/2/data/config/assignments/0/name', node: 'c' });
    const branch = (length: number) =>
      withInput(decision([{ name: 'b'.repeat(length), when: 'x > 1' }], { ['b'.repeat(length)]: ['end'] }));
    expect(parseFlow(branch(128), catalogue).ok).toBe(true);
    expectRefusal(branch(129), { code: 'invalid-field', path: '/nodes/2/data/config/branches/0/name', node: 'd' });
  });

  test('a constant at the edges of the range is allowed', () => {
    const edges = [write(100), write(-100, 2), write(-0, 3), write('100'), write('-100'), write('x + 1000')];
    expect(parseFlow(withInput(action('a', edges)), catalogue).ok).toBe(true);
  });

  test('max_age_ms 1 and 86400000 are allowed, 0 and 86400001 are not', () => {
    const aged = (maxAgeMs: number) => flowDocument('in', [input({ variables: [read(1, { max_age_ms: maxAgeMs })] })]);
    const refusal = { code: 'invalid-field', path: '/nodes/1/data/config/variables/0/max_age_ms', node: 'in' };
    for (const edge of [1, 86_400_000]) expect(parseFlow(aged(edge), catalogue).ok).toBe(true);
    for (const beyond of [0, 86_400_001, 1.5]) expectRefusal(aged(beyond), refusal);
  });

  test('1000 issues are listed; further ones are counted', () => {
    const strange = (count: number) =>
      withInput(
        editorNode('a', 'action', {
          writes: [write(1)],
          wires: { default: ['end'] },
          ...Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 0])),
        }),
      );
    expect(issuesOf(parseFlow(strange(1000), catalogue))).toHaveLength(1000);
    const issues = issuesOf(parseFlow(strange(1002), catalogue));
    expect([issues.length, issues[999]?.code, issues[1000]?.code]).toEqual([1001, 'unknown-field', 'too-many-issues']);
  });
});

describe('[rules §4.4] windows are bounded', () => {
  const averaging = (...sizes: number[]) =>
    flowDocument('in', [
      inputNode(['n0'], ['x']),
      ...sizes.map((size, index) =>
        editorNode(`n${index}`, 'calculation', {
          assignments: [{ name: `a${index}`, expression: `moving_avg(x, ${size})` }],
          wires: { default: [index === sizes.length - 1 ? 'end' : `n${index + 1}`] },
        }),
      ),
    ]);

  test('20 000 samples in a rule are taken, one more is refused at the node that goes over', () => {
    expect(parseFlow(averaging(10_000, 10_000), catalogue)).toMatchObject({ ok: true });
    expect(parseFlow(averaging(10_000, 10_000, 1), catalogue)).toMatchObject({
      ok: false,
      issues: [{ code: 'windows-too-large', node_id: 'n2', message: expect.stringContaining('20001 samples') }],
    });
  });

  test('a rule stored under another `window_samples_maximum` still loads', () => {
    const wide = parseFlow(averaging(10_000, 10_000, 1), catalogue, { ...flowLimits, windowSamplesMaximum: 30_000 });
    if (!wide.ok) throw new Error('the wider limit was not used');
    const compact = JSON.parse(serialiseTopology(wide.topology));
    expect(parseTopology(compact, catalogue, storedFlowLimits)).toMatchObject({ ok: true });
  });
});
