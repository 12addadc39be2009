import { expect, test } from 'vitest';
import { nodeNames } from './node-names.ts';

const node = (id: string, label?: string) => ({ id, type: 'action', data: { label, config: {} } });

test('a node has its label, with its id where another has the same, and the id where it has none', () => {
  const names = nodeNames({ nodes: [node('a', 'Stop'), node('b', 'Set'), node('c', 'Set'), node('d', ''), node('e')] });
  expect(['a', 'b', 'c', 'd', 'e', 'gone'].map(names)).toEqual(['Stop', 'Set (b)', 'Set (c)', 'd', 'e', 'gone']);
  expect([null, {}, { nodes: [3, { id: 'a' }] }].map((flow) => nodeNames(flow)('a'))).toEqual(['a', 'a', 'a']);
});
