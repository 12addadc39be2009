/** Places of nodes that a file leaves without one [rules §12.2]. */
import { describe, expect, test } from 'vitest';
import { withPlaces } from './placed-nodes.ts';

const node = (id: string, targets: readonly string[], position?: object) => ({
  id,
  type: 'calculation',
  data: { config: { wires: { default: targets } } },
  ...(position === undefined ? {} : { position }),
});
const placesOf = (flow: unknown) =>
  Object.fromEntries(
    (flow as { nodes: { id: string; position: unknown }[] }).nodes.map(({ id, position }) => [id, position]),
  );

describe('[rules §12.2] places', () => {
  test('a document whose nodes all have one is left as it is', () => {
    const flow = { nodes: [node('a', ['b'], { x: 1, y: 2 }), node('b', [], { x: 3, y: 4 })], edges: [] };
    expect(withPlaces(flow, null)).toBe(flow);
    expect(withPlaces(undefined, null)).toBeUndefined();
  });

  test('a node has the position of the stored document, and a new one is a column after its predecessor', () => {
    const stored = { nodes: [node('a', [], { x: 7, y: 8 })] };
    const flow = { nodes: [node('a', ['b', 'c']), node('b', ['d']), node('c', ['b']), node('d', [])] };
    expect(placesOf(withPlaces(flow, stored))).toEqual({
      a: { x: 7, y: 8 },
      b: { x: 560, y: 0 },
      c: { x: 280, y: 0 },
      d: { x: 840, y: 0 },
    });
  });

  test('nodes of one column stand below each other, and a loop ends', () => {
    const fan = { nodes: [node('a', ['b', 'c']), node('b', []), node('c', [])] };
    expect(placesOf(withPlaces(fan, null))).toEqual({ a: { x: 0, y: 0 }, b: { x: 280, y: 0 }, c: { x: 280, y: 140 } });
    const loop = { nodes: [node('a', ['b']), node('b', ['a'])] };
    expect(Object.keys(placesOf(withPlaces(loop, null)))).toEqual(['a', 'b']);
  });
});
