/** The drawing beside the wires [rules §4.5]. */
import { describe, expect, test } from 'vitest';
import { editorNode, flowDocument, inputNode, testCatalogue } from '../testing/site-builder.ts';
import { parseFlow } from './parse.ts';

const flow = flowDocument('in', [
  inputNode(['d']),
  editorNode('d', 'decision', {
    branches: [{ name: 'up', when: 'x > 10' }],
    wires: { up: ['a'], else: ['b'] },
  }),
  editorNode('a', 'action', { writes: [{ instance: 1, point: 1, value: 1 }], wires: { default: ['end'] } }),
  editorNode('b', 'action', { writes: [{ instance: 1, point: 1, value: 2 }], wires: { default: ['end'] } }),
]);
const drawing = [
  { id: '1', source: 'start', target: 'in' },
  { id: '2', source: 'in', target: 'd', sourceHandle: 'default' },
  { id: '3', source: 'd', target: 'a', sourceHandle: 'up' },
  { id: '4', source: 'd', target: 'b', sourceHandle: 'else' },
  { id: '5', source: 'a', target: 'end', sourceHandle: null },
  { id: '6', source: 'b', target: 'end', sourceHandle: 'right-hand side' },
];
const warningsOf = (edges: unknown) => {
  const parsed = parseFlow({ ...flow, edges }, testCatalogue());
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.warnings;
};

describe('[rules §4.1] edges are the drawing', () => {
  test.each([
    ['an empty list', []],
    ['one edge for every wire', drawing],
    ['in another order, one drawn twice', [...drawing, ...drawing].reverse()],
    ['without handles', drawing.map(({ source, target }) => ({ source, target }))],
  ])('no warning: %s', (_, edges) => {
    expect(warningsOf(edges)).toEqual([]);
  });

  test.each([
    ['one is missing', drawing.slice(1)],
    ['one too many', [...drawing, { source: 'in', target: 'end' }]],
    ['one leads elsewhere', [...drawing.slice(1), { source: 'start', target: 'd' }]],
    ['one starts at a node that is not there', [...drawing, { source: 'gone', target: 'end' }]],
    [
      'two outputs are drawn crosswise',
      drawing.map((edge) =>
        edge.source === 'd' ? { ...edge, sourceHandle: edge.sourceHandle === 'up' ? 'else' : 'up' } : edge,
      ),
    ],
    ['not an edge', [...drawing, null]],
    ['an edge without a target', [...drawing, { source: 'start' }]],
    [
      'an edge between objects without a text form',
      [...drawing, { source: { toString: 1, valueOf: 1 }, target: 'in' }],
    ],
  ])('a warning, and the wires are what is stored: %s', (_, edges) => {
    expect(warningsOf(edges)).toEqual([
      { code: 'edges-differ', path: '/edges', message: expect.any(String), hint: expect.any(String) },
    ]);
  });
});
