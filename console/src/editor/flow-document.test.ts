import { expect, test } from 'vitest';
import { drawnDocument } from './flow-document.ts';

const node = (id: string, x: number, to: readonly string[] = []) => ({
  id,
  type: 'input',
  position: { x, y: 0 },
  data: { config: { wires: { default: to } } },
});

test('nodes that all lie in one place are laid out along their wires', () => {
  const nodes = [node('a', 5, ['b', 'c']), node('b', 5, ['d']), node('c', 5, ['d']), node('d', 5)];
  const drawn = drawnDocument({ nodes, viewport: { zoom: 2 } });
  expect(drawn).toMatchObject({ viewport: { zoom: 2 } });
  const places = drawn?.nodes.map(({ position: { x, y } }) => [x, y]) ?? [];
  expect(new Set(places.map(String)).size).toBe(nodes.length);
  const [a = [], b = [], c = [], d = []] = places;
  expect([a, b, d].map(([x]) => x)).toEqual([0, 280, 560]);
  expect(b[0]).toBe(c[0]);
  // Nothing else in a node changes.
  const rest = ({ id, type, data }: { readonly id: string; readonly type: string; readonly data?: unknown }) => [
    id,
    type,
    data,
  ];
  expect(drawn?.nodes.map(rest)).toEqual(nodes.map(rest));
});

test('any other drawing stays as it is', () => {
  for (const nodes of [[node('a', 5)], [node('a', 5), node('b', 6), node('c', 5)], []])
    expect(drawnDocument({ nodes })).toEqual({ nodes });
  expect(drawnDocument({ nodes: [{ id: 'a' }] })).toBeNull();
});
