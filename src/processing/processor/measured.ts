/** A processor whose calls are counted and timed [platform §4.2]; its answers pass unchanged. */
import type { Clock } from '../../base/clock.ts';
import { countDurations, type DurationCounts } from '../../base/duration-counts.ts';
import type { Processor } from './processor.ts';
import type { ReachedProcessor } from './transport/transport.ts';

export interface ProcessorMeasures {
  readonly processorId: string;
  /** By outcome, as in `ProcessorAnswer`; `failed` for a call that was cancelled. */
  readonly calls: Readonly<Record<string, number>>;
  readonly durations: DurationCounts;
  readonly breakerOpen: boolean;
}

export interface MeasuredProcessor extends Processor {
  measures(): ProcessorMeasures;
}

const callBounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function measuredProcessor(processor: ReachedProcessor, clock: Clock): MeasuredProcessor {
  const calls = new Map<string, number>();
  const durations = countDurations(callBounds);
  return {
    id: processor.id,
    health: (signal) => processor.health(signal),
    async process(request, signal, leaving) {
      const startedMs = clock.monotonicMs();
      let end = 'failed';
      try {
        const answer = await processor.process(request, signal, leaving);
        end = answer.outcome;
        return answer;
      } finally {
        calls.set(end, (calls.get(end) ?? 0) + 1);
        durations.add(clock.monotonicMs() - startedMs);
      }
    },
    measures: () => ({
      processorId: processor.id,
      calls: Object.fromEntries(calls),
      durations: durations.read(),
      breakerOpen: processor.breakerOpen(),
    }),
  };
}
