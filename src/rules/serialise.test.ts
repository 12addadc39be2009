/** `nodes_json` is byte-stable [rules §4.7], and no JSON value stops a parser. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import { type ParsedFlow, parseFlow, parseTopology } from './parse.ts';
import { emptyTopologyText, serialiseTopology } from './serialise.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const catalogue = testCatalogue();
const custom = (id: string, type: string, config: object) => ({
  id,
  type: 'custom',
  position: { x: 1, y: 2 },
  data: { type, config },
});

/** Every node type of both dialects, with ids, branches and variables that JavaScript would reorder or resolve. */
const document = flowDocument('10', [
  inputNode(['9', 'constructor'], ['x', 'y', 'toString'], '10'),
  editorNode('constructor', 'input', {
    parameters: [{ name: 'low', parameter: 'low' }],
    wires: { default: ['9'] },
  }),
  editorNode('9', 'decision', {
    branches: [
      { name: '2', when: 'x > low' },
      { name: '1', when: 'y > toString' },
      { name: 'constructor', when: 'x + y > 3' },
    ],
    wires: { else: ['end'], constructor: ['c'], '1': ['c'], '2': ['p', 'c'] },
  }),
  editorNode('c', 'calculation', {
    assignments: [{ name: 's', expression: 'integrate(x) + hysteresis(y, 5, 3)' }],
    wires: { default: ['a'] },
  }),
  editorNode('a', 'action', {
    writes: [
      { instance: 1, point: 1, value: -0.1 },
      { point: 9, value: 's', instance: 1, point_type: 'measurement' },
    ],
    wires: { default: ['k'] },
  }),
  editorNode('p', 'period-delta', {
    input: 'x',
    period: 'monthly',
    timezone: 'Asia/Kathmandu',
    name: 'month_sum',
    wires: { default: ['k'] },
  }),
  custom('k', 'action-calculation', {
    variables: [
      { name: 'm', type: 'single', instance: 1, pointType: 'M', point_id: 4 },
      { name: 'act', type: 'single', instance: 1, pointType: 'A', point_id: 2 },
      { name: 'double', type: 'combined', formula: ['m', '*', 2] },
    ],
    rule: [{ output: 'act', formula: 'double' }],
    wires: { default: ['w'] },
  }),
  custom('w', 'function-switch', {
    variables: [{ name: 'n', type: 'single', instance: 1, pointType: 'M', point_id: 5 }],
    rule: [
      { name: '7', type: 'default', rule: [{ type: 'variable', variables: 'n', operator: '>', value: 1 }] },
      { name: '3', type: 'default', rule: [{ type: 'variable', variables: 'n', operator: '<', value: '-1' }] },
    ],
    wires: { '3': ['end'], '7': ['end'] },
  }),
]);

function textOf(parsed: ParsedFlow): string {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return serialiseTopology(parsed.topology);
}
const text = textOf(parseFlow(document, catalogue));

/** The same value with the members of every object in another order. */
function permuted(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((entry) => permuted(entry, random));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map((entry) => ({ entry, key: random() }));
  entries.sort((a, b) => a.key - b.key);
  return Object.fromEntries(entries.map(({ entry: [name, member] }) => [name, permuted(member, random)]));
}
/** A sequence of numbers from 0 to 1 that a seed decides. */
function sequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('[rules §4.7] nodes_json is byte-stable', () => {
  test('the stored text', () => {
    expect(text).toMatchInlineSnapshot(
      `"{"start_node":"start","nodes":{"start":{"type":"start","wires":{"default":["10"]}},"10":{"type":"input","variables":[{"name":"x","instance":1,"point_type":"measurement","point":1},{"name":"y","instance":1,"point_type":"measurement","point":2},{"name":"toString","instance":1,"point_type":"measurement","point":3}],"parameters":[],"wires":{"default":["9","constructor"]}},"constructor":{"type":"input","variables":[],"parameters":[{"name":"low","parameter":"low"}],"wires":{"default":["9"]}},"9":{"type":"switch","branches":[{"name":"2","when":"x > low"},{"name":"1","when":"y > toString"},{"name":"constructor","when":"x + y > 3"}],"wires":{"2":["p","c"],"1":["c"],"constructor":["c"],"else":["end"]}},"c":{"type":"calculation","assignments":[{"name":"s","expression":"integrate(x) + hysteresis(y, 5, 3)"}],"wires":{"default":["a"]}},"a":{"type":"change","writes":[{"instance":1,"point_type":"action","point":1,"value":-0.1},{"instance":1,"point_type":"measurement","point":9,"value":"s"}],"wires":{"default":["k"]}},"p":{"type":"period-delta","input":"x","period":"monthly","name":"month_sum","timezone":"Asia/Kathmandu","wires":{"default":["k"]}},"k":{"type":"calculation","variables":[{"name":"m","instance":1,"point_type":"measurement","point":4}],"assignments":[{"name":"double","expression":"m * 2"},{"name":"act_result_0","expression":"double"}],"writes":[{"instance":1,"point_type":"action","point":2,"value":"act_result_0"}],"wires":{"default":["w"]}},"w":{"type":"switch","variables":[{"name":"n","instance":1,"point_type":"measurement","point":5}],"branches":[{"name":"7","when":"n > 1"},{"name":"3","when":"n < (-1)"}],"wires":{"7":["end"],"3":["end"]}},"end":{"type":"end","wires":{}}}}"`,
    );
  });

  test('keys keep their order also where JavaScript would sort them', () => {
    const keys = [...text.matchAll(/"([\w-]+)":\{"type"/g)].map(([, id]) => id);
    expect(keys).toEqual(['start', '10', 'constructor', '9', 'c', 'a', 'p', 'k', 'w', 'end']);
    expect(text).toContain('"wires":{"2":["p","c"],"1":["c"],"constructor":["c"],"else":["end"]}');
  });

  test('it is valid JSON and reads back to the same bytes', () => {
    expect(textOf(parseTopology(JSON.parse(text), catalogue))).toBe(text);
  });

  test('the order of members and of nodes changes nothing', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = sequence(seed);
        const other = permuted(document, random) as { nodes: unknown[] };
        const nodes = other.nodes.map((node) => ({ node, key: random() })).sort((a, b) => a.key - b.key);
        expect(textOf(parseFlow({ ...other, nodes: nodes.map(({ node }) => node) }, catalogue))).toBe(text);
        expect(textOf(parseTopology(permuted(JSON.parse(text), random), catalogue))).toBe(text);
      }),
      { numRuns: 100 },
    );
  });

  test('positions, labels, drawing and metadata are not part of it', () => {
    const nodes = document['nodes'] as Record<string, unknown>[];
    const other = nodes.map((node) => ({ ...node, position: { x: -7.5, y: 1e6 }, selected: true }));
    expect(textOf(parseFlow({ ...document, nodes: other, viewport: { zoom: 2 }, metadata: 1 }, catalogue))).toBe(text);
  });

  test('the stub of a new rule is not a topology', () => {
    expect(parseTopology(JSON.parse(emptyTopologyText), catalogue).ok).toBe(false);
  });

  test('a compact form that names another start is refused', () => {
    const compact = { ...(JSON.parse(text) as object), start_node: '10' };
    const parsed = parseTopology(compact, catalogue);
    expect(parsed.ok ? [] : parsed.issues.map(({ code, path }) => [code, path])).toEqual([
      ['wrong-start', '/start_node'],
    ]);
  });
});

/** A document with one value somewhere in it replaced, removed or doubled. */
const mutated = (base: unknown): fc.Arbitrary<unknown> =>
  fc
    .record({
      steps: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
      by: fc.jsonValue(),
      how: fc.constantFrom('replace', 'remove', 'add', 'proto'),
    })
    .map(({ steps, by, how }) => {
      const copy: Json = JSON.parse(JSON.stringify(base));
      let at: Json = copy;
      for (const [index, step] of steps.entries()) {
        if (typeof at !== 'object' || at === null) break;
        const names = Object.keys(at);
        const name = names[step % Math.max(1, names.length)];
        if (name === undefined) break;
        const members = at as { [name: string]: Json };
        const inner: Json = members[name] ?? null;
        if (index < steps.length - 1 && typeof inner === 'object' && inner !== null) {
          at = inner;
          continue;
        }
        // A hole in a list is nothing that JSON can say.
        if (how === 'remove' && Array.isArray(at)) at.splice(Number(name), 1);
        else if (how === 'remove') delete members[name];
        else if (how === 'replace') members[name] = by as Json;
        else if (how === 'proto') Object.defineProperty(members, '__proto__', { value: by, enumerable: true });
        else members[`${name}x`] = by as Json;
        break;
      }
      return copy;
    });

describe('no JSON value stops a parser', () => {
  const check = (parse: typeof parseFlow, value: unknown): void => {
    const parsed = parse(value, catalogue);
    if (parsed.ok) {
      const stored = serialiseTopology(parsed.topology);
      expect(textOf(parseTopology(JSON.parse(stored), catalogue))).toBe(stored);
      return;
    }
    expect(parsed.issues.length).toBeGreaterThan(0);
    for (const issue of parsed.issues)
      expect([typeof issue.code, typeof issue.path, typeof issue.message, typeof issue.hint]).toEqual(
        Array(4).fill('string'),
      );
  };

  test('arbitrary values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        check(parseFlow, value);
        check(parseTopology, value);
        check(parseFlow, {
          nodes: [
            value,
            { id: 'a', type: 'custom', position: { x: 0, y: 0 }, data: { type: 'function-switch', config: value } },
          ],
        });
        check(parseTopology, {
          start_node: 'a',
          nodes: { a: value, b: { type: 'switch', branches: value, wires: value } },
        });
      }),
      { numRuns: 300 },
    );
  });

  test('valid documents with a change somewhere', () => {
    fc.assert(
      fc.property(mutated(document), mutated(JSON.parse(text)), (flow, compact) => {
        check(parseFlow, flow);
        check(parseTopology, compact);
      }),
      { numRuns: 1500 },
    );
  });
});
