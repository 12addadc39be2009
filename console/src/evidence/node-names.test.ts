import { expect, test } from 'vitest';
import { nodeNames } from './node-names.ts';

const node = (id: string, label?: string) => ({ id, type: 'action', data: { label, config: {} } });

test('a node is shown by its label, by label and id if the label is not unique, and by its id without a label', () => {
  const names = nodeNames({ nodes: [node('a', 'Stop'), node('b', 'Set'), node('c', 'Set'), node('d', ''), node('e')] });
  expect(['a', 'b', 'c', 'd', 'e', 'gone'].map(names)).toEqual(['Stop', 'Set (b)', 'Set (c)', 'd', 'e', 'gone']);
  expect([null, {}, { nodes: [3, { id: 'a' }] }].map((flow) => nodeNames(flow)('a'))).toEqual(['a', 'a', 'a']);
});
