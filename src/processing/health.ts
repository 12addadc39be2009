/** Processor health in the API [data-processing §5.2]: all processors are asked concurrently, and there is always an answer. */
import { processorsHealthSchemaId } from '../api/processing.ts';
import type { ProcessorHealthEntry, ProcessorsHealth } from '../api/processing-discovery.ts';
import type { Clock } from '../base/clock.ts';
import { deadline } from '../base/deadline.ts';
import { formatTimestamp } from '../base/timestamp.ts';
import type { Processor } from './processor/processor.ts';

export interface ProbedProcessor {
  readonly processor: Processor;
  /** Ids of the commissioned tasks of this processor. */
  readonly tasks: readonly string[];
}

export async function processorsHealth(
  processors: readonly ProbedProcessor[],
  clock: Clock,
  timeoutMs: number,
): Promise<ProcessorsHealth> {
  const entries = await Promise.all(processors.map((probed) => entryOf(probed, clock, timeoutMs)));
  return { schema: processorsHealthSchemaId, processors: entries };
}

async function entryOf(
  { processor, tasks }: ProbedProcessor,
  clock: Clock,
  timeoutMs: number,
): Promise<ProcessorHealthEntry> {
  const limit = deadline(clock, timeoutMs);
  try {
    const { health, latencyMs } = await processor.health(limit.signal);
    return {
      processor_id: processor.id,
      health,
      checked_at: formatTimestamp(clock.wallMs()),
      ...(latencyMs !== null && { latency_ms: Math.round(latencyMs * 1000) / 1000 }),
      tasks: [...tasks],
    };
  } finally {
    limit.cancel();
  }
}
