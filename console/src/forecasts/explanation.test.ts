/** An explanation is untrusted text: whatever does not match its shape is left out. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { explanationOf } from './explanation.ts';

test('the strongest three models and inputs, the shift and the lost inputs', () => {
  const share = (name: string, of: number) => ({ name, share: of });
  expect(
    explanationOf({
      explanation: {
        models: [share('a', 0.1), share('b', 0.5), share('c', 0.15), share('d', 0.25)],
        inputs: [share('temperature', 1)],
        level_shift: { since: '2026-07-11T06:00:00Z', factor: 2, probability: 0.6 },
        lost_inputs: [{ name: 'rain', steps: 3, how: 'missing' }],
        newest_cells_left_out: 1,
      },
    }),
  ).toEqual({
    models: [share('b', 0.5), share('d', 0.25), share('c', 0.15)],
    inputs: [share('temperature', 1)],
    shift: { since: '2026-07-11T06:00:00Z', factor: 2, added: null },
    lost: ['rain'],
    doubted: 1,
  });
});

test('anything else is null, or its readable part', () => {
  for (const details of [undefined, {}, { explanation: null }, { explanation: { models: 'ridge' } }])
    expect(explanationOf(details)).toBeNull();
  fc.assert(
    fc.property(fc.object({ maxDepth: 4 }), (explanation) => {
      const seen = explanationOf({ explanation });
      for (const { name, share } of seen?.models ?? [])
        expect([typeof name, typeof share]).toEqual(['string', 'number']);
    }),
  );
});
