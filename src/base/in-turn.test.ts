import { expect, test } from 'vitest';
import { createTurn } from './in-turn.ts';

test('pieces of work run in the order in which they came, one at a time, also behind one that failed', async () => {
  const inTurn = createTurn();
  const seen: string[] = [];
  const work = (name: string) => async (): Promise<string> => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
    if (name === 'b') throw new Error('no');
    return name;
  };
  const all = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(work(name))));
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});
