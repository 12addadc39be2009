/** The compact form ([rules §4.7], `nodes_json`): the same grammar and checks, for a rule without a document. */
import { describe, expect, test } from 'vitest';
import { testCatalogue } from '../testing/site-builder.ts';
import { parseFlow, parseTopology } from './parse.ts';

type Fields = Record<string, unknown>;
const catalogue = testCatalogue();
const read = (name: string, point: number) => ({ name, instance: 1, point_type: 'measurement', point });
const nodes = (more: Fields = {}): Fields => ({
  s: { type: 'start', wires: { default: ['i'] } },
  i: { type: 'input', variables: [read('x', 1)], wires: { default: ['d'] } },
  d: { type: 'switch', branches: [{ name: 'high', when: 'x > 10' }], wires: { high: ['a'], else: ['e'] } },
  a: {
    type: 'change',
    writes: [{ instance: 1, point_type: 'action', point: 1, value: 'x / 2' }],
    wires: { default: ['e'] },
  },
  e: { type: 'end', wires: {} },
  ...more,
});
const compact = (more: Fields = {}): Fields => ({ start_node: 's', nodes: nodes(more) });
const changed = (id: string, more: Fields): Fields => compact({ [id]: { ...(nodes()[id] as Fields), ...more } });

function issuesOf(value: unknown): string[][] {
  const parsed = parseTopology(value, catalogue);
  if (parsed.ok) throw new Error('the topology was accepted');
  for (const { message, hint } of parsed.issues) expect([typeof message, typeof hint]).toEqual(['string', 'string']);
  return parsed.issues.map(({ code, path, node_id: nodeId }) => [code, path, nodeId ?? '-']);
}

describe('[rules §4.7] accepted', () => {
  test('the smallest topology: a start that is wired to an end', () => {
    const smallest = {
      start_node: 's',
      nodes: { s: { type: 'start', wires: { default: ['e'] } }, e: { type: 'end' } },
    };
    expect(parseTopology(smallest, catalogue)).toMatchObject({
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

  test('in topological order, independent of the order of the members', () => {
    const turned = Object.fromEntries(Object.entries(nodes()).reverse());
    const parsed = parseTopology({ nodes: turned, start_node: 's' }, catalogue);
    expect(parsed.ok ? [...parsed.topology.nodes.keys()] : parsed.issues).toEqual(['s', 'i', 'd', 'a', 'e']);
  });

  test('a node of any kind may read points', () => {
    const own = [read('y', 2)];
    expect(
      parseTopology(
        compact({
          d: { type: 'switch', variables: own, branches: [{ name: 'high', when: 'y > x' }], wires: { high: ['a'] } },
          a: {
            type: 'change',
            variables: own,
            assignments: [{ name: 'z', expression: 'y' }],
            writes: [{ instance: 1, point: 1, value: 'z' }],
            wires: { default: ['c'] },
          },
          c: {
            type: 'calculation',
            variables: own,
            assignments: [{ name: 'z', expression: 'y' }],
            writes: [{ instance: 1, point: 2, value: 'z' }],
            wires: { default: ['p'] },
          },
          p: {
            type: 'period-delta',
            variables: own,
            input: 'y',
            period: 'daily',
            name: 'n',
            writes: [{ instance: 1, point_type: 'measurement', point: 9, value: 'n' }],
            wires: { default: ['e'] },
          },
        }),
        catalogue,
      ),
    ).toMatchObject({ ok: true, warnings: [] });
  });
});

describe('[rules §4.7] refused, with node, place and hint', () => {
  test.each<[string, unknown, string[]]>([
    ['a type of the editor’s', changed('d', { type: 'decision' }), ['unknown-node-type', '/nodes/d/type', 'd']],
    ['an unknown field of a node', changed('a', { label: 'x' }), ['unknown-field', '/nodes/a/label', 'a']],
    ['an unknown field of the topology', { ...compact(), version: 1 }, ['unknown-field', '/version', '-']],
    ['a field that no start has', changed('s', { variables: [] }), ['unknown-field', '/nodes/s/variables', 's']],
    ['another start', { ...compact(), start_node: 'i' }, ['wrong-start', '/start_node', '-']],
    ['nodes in a list', { start_node: 's', nodes: [] }, ['invalid-field', '/nodes', '-']],
    ['a node that is not an object', compact({ n: 'end' }), ['invalid-field', '/nodes/n', 'n']],
    ['an id with a slash', compact({ 'a/b~': { type: 'end' } }), ['invalid-node-id', '/nodes/a~1b~0', 'a/b~']],
    [
      'a dangling wire',
      changed('a', { wires: { default: ['gone'] } }),
      ['dangling-wire', '/nodes/a/wires/default/0', 'a'],
    ],
    [
      'a wire without its branch',
      changed('d', { wires: { low: ['e'], high: ['a'] } }),
      ['undeclared-output', '/nodes/d/wires/low', 'd'],
    ],
    ['a cycle', changed('a', { wires: { default: ['a'] } }), ['cycle', '/nodes/a', 'a']],
    [
      'an undeclared variable',
      changed('d', { branches: [{ name: 'high', when: 'y > 1' }] }),
      ['undeclared-variable', '/nodes/d/branches/0/when', 'd'],
    ],
    ['an unknown point', changed('i', { variables: [read('x', 77)] }), ['unknown-point', '/nodes/i/variables/0', 'i']],
    [
      'a write to a measurement',
      changed('a', { writes: [{ instance: 1, point_type: 'measurement', point: 1, value: 1 }] }),
      ['not-writable', '/nodes/a/writes/0', 'a'],
    ],
    [
      'a constant out of range',
      changed('a', { writes: [{ instance: 1, point: 1, value: 101 }] }),
      ['out-of-range', '/nodes/a/writes/0/value', 'a'],
    ],
  ])('%s', (_, value, issue) => expect(issuesOf(value)).toEqual([issue]));

  test('the id __proto__', () => {
    const text = JSON.stringify(compact({ proto: { type: 'end' } })).replace('"proto"', '"__proto__"');
    expect(issuesOf(JSON.parse(text))).toEqual([['invalid-node-id', '/nodes/__proto__', '__proto__']]);
  });

  test('no start_node, and no nodes: both at once', () => {
    expect(issuesOf({}).map(([code, path]) => [code, path])).toEqual([
      ['invalid-field', '/start_node'],
      ['invalid-field', '/nodes'],
    ]);
  });

  test('every issue at once', () => {
    expect(
      issuesOf(
        compact({
          i: { type: 'input', variables: [read('x', 77)], wires: { default: ['d'] } },
          d: { type: 'switch', branches: [{ name: 'high', when: 'x >' }], wires: { low: ['a'] } },
          a: { type: 'loop' },
        }),
      ),
    ).toEqual([
      ['unknown-point', '/nodes/i/variables/0', 'i'],
      ['expression-syntax', '/nodes/d/branches/0/when', 'd'],
      ['undeclared-output', '/nodes/d/wires/low', 'd'],
      ['unknown-node-type', '/nodes/a/type', 'a'],
    ]);
  });
});

describe('[rules §4.7] limits of the compact form', () => {
  test('64 KiB in one node are allowed, one byte more is not', () => {
    const sized = (bytes: number): Fields => {
      const node = (length: number) => ({
        type: 'calculation',
        assignments: Array.from({ length: 20 }, (_, index) => ({
          name: `v${index}`,
          expression: `1${' '.repeat(index === 0 ? length : 3400)}`,
        })),
        wires: { default: ['e'] },
      });
      const bare = Buffer.byteLength(JSON.stringify(node(0)));
      return compact({ d: node(bytes - bare), a: { type: 'end' } });
    };
    const bytes = (value: Fields) => Buffer.byteLength(JSON.stringify((value['nodes'] as Fields)['d']));
    expect([bytes(sized(65_536)), bytes(sized(65_537))]).toEqual([65_536, 65_537]);
    expect(parseTopology(sized(65_536), catalogue).ok).toBe(true);
    expect(issuesOf(sized(65_537))).toEqual([['node-too-large', '/nodes/d', 'd']]);
  });

  test('a node id of 128 characters is allowed, 129 are not', () => {
    const named = (id: string) => ({
      start_node: id,
      nodes: { [id]: { type: 'start', wires: { default: ['e'] } }, e: { type: 'end' } },
    });
    expect(parseTopology(named('n'.repeat(128)), catalogue).ok).toBe(true);
    expect(issuesOf(named('n'.repeat(129))).map(([code]) => code)).toContain('invalid-node-id');
  });
});

test('a document is not a compact form, nor the other way round', () => {
  expect(parseFlow(compact(), catalogue).ok).toBe(false);
  expect(parseTopology({ nodes: [], edges: [] }, catalogue).ok).toBe(false);
});
