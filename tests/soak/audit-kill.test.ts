/** [audit §6]: a kill at any moment loses no accepted event and breaks no chain; many more moments than in `npm test`. */
import { expect, test } from 'vitest';
import { killRounds } from '../e2e/kill-rounds.ts';

test('200 kills at random moments under load', async () => {
  const { events, unknown } = await killRounds(200, (round) => {
    if (round % 20 === 0) console.log(`${round} kills survived`);
  });
  console.log(`${events} events, ${unknown} closed as unknown`);
  expect(unknown).toBeGreaterThan(20);
});
