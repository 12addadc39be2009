/** [audit §6]: a kill at any moment loses no accepted event and breaks no chain. `npm run test:soak` does it 1,000 times. */
import { expect, test } from 'vitest';
import { killRounds } from './kill-rounds.ts';

test('5 kills at random moments under load', async () => {
  const { events, unknown } = await killRounds(5);
  expect(events).toBeGreaterThan(20);
  // Some calls were cut off midway, so the kills did hit.
  expect(unknown).toBeGreaterThan(0);
}, 300_000);
