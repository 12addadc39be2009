/** [audit §6]: a kill at any moment loses no accepted event and breaks no chain; many more moments than in `npm test`. */
import { expect, test } from 'vitest';
import { killRounds } from '../e2e/kill-rounds.ts';

/** Fewer with `KILLS=100`, where an hour is too long. */
const kills = Number(process.env['KILLS'] ?? 1000);

test('kills at random moments under load', async () => {
  const { events, unknown } = await killRounds(kills, (round) => {
    if (round % 20 === 0) console.log(`${round} kills survived`);
  });
  console.log(`${events} events, ${unknown} closed as unknown`);
  expect(unknown).toBeGreaterThan(kills / 10);
});
