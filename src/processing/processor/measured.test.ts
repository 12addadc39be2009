import { expect, test } from 'vitest';
import type { NormalisedRequest } from '../../contract/wire/request-decode.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { measuredProcessor } from './measured.ts';
import { type ProcessorAnswer, unavailable } from './processor.ts';
import type { ReachedProcessor } from './transport/transport.ts';

test('[platform §4.2] calls of a processor are counted by how they end, and timed', async () => {
  const clock = simulatedClock();
  const answers: (ProcessorAnswer | Error)[] = [
    { outcome: 'answered', message: {} },
    unavailable('X'),
    new Error('bug'),
  ];
  let open = false;
  const processor: ReachedProcessor = {
    id: 'forecaster',
    breakerOpen: () => open,
    health: async () => ({ health: 'healthy', latencyMs: 1 }),
    async process() {
      clock.advance(20);
      const answer = answers.shift();
      if (answer === undefined || answer instanceof Error) throw answer;
      return answer;
    },
  };
  const measured = measuredProcessor(processor, clock);
  const request = {} as NormalisedRequest;
  const { signal } = new AbortController();
  expect(await measured.process(request, signal)).toEqual({ outcome: 'answered', message: {} });
  expect(await measured.process(request, signal)).toMatchObject({ outcome: 'unavailable' });
  await expect(measured.process(request, signal)).rejects.toThrow('bug');
  open = true;
  expect(measured.measures()).toMatchObject({
    processorId: 'forecaster',
    calls: { answered: 1, unavailable: 1, failed: 1 },
    breakerOpen: true,
  });
  const { boundsSeconds, counts, sumSeconds } = measured.measures().durations;
  expect(counts[boundsSeconds.indexOf(0.025)]).toBe(3);
  expect(sumSeconds).toBeCloseTo(0.06, 9);
  expect(await measured.health(signal)).toEqual({ health: 'healthy', latencyMs: 1 });
});
