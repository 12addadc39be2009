/** [audit §6]: a kill at any moment loses no accepted event and breaks no chain; many more moments than in `npm test`. */
import { expect, test } from 'vitest';
import { killRounds } from '../e2e/kill-rounds.ts';

/** Fewer by `KILLS=100`, for a machine that has no hour. */
const kills = Number(process.env['KILLS'] ?? 1000);

test('kills at random moments under load', async () => {
  const { events, unknown } = await killRounds(kills, (round) => {
    if (round % 20 === 0) console.log(`${round} kills survived`);
  });
  console.log(`${events} events, ${unknown} closed as unknown`);
  expect(unknown).toBeGreaterThan(kills / 10);
});
