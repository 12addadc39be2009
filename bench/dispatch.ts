/**
 * From a point's change to an accepted command, across the threads, with 1000 on-change rules: this thread plays the
 * device layer, the engine runs in its worker. Limits: p50 1 ms, p99 5 ms.
 */
import { systemClock } from '../src/base/clock.ts';
import { createLiveTableWriter } from '../src/points/live-table.ts';
import { doorbells, slotState } from '../src/points/shared-memory.ts';
import { quality } from '../src/site/quality.ts';
import { benchRule, quantile, startBenchEngine } from './fixture/engine-site.ts';
import { sizes } from './fixture/sizes.ts';

const { rules, warmUp, samples } = sizes(
  { rules: 1000, warmUp: 500, samples: 5000 },
  { rules: 20, warmUp: 5, samples: 50 },
);
const limitsMs = { p50: 1, p99: 5 };
const patienceMs = 1000;

export async function run(): Promise<void> {
  const trigger = (point: number) => ({
    type: 'on_change',
    point_refs: [{ instance: 1, point_type: 'measurement', point }],
    time_deadband_ms: 0,
    value_deadband: null,
  });
  const list = Array.from({ length: rules }, (_, index) =>
    benchRule(index + 1, index + 1, 'x > 0', trigger(index + 1)),
  );
  const engine = await startBenchEngine(rules, list);
  const { memory, site } = engine;
  const ages = site.points.map((point) => point.maxAgeMs);
  const table = createLiveTableWriter(memory, systemClock, ages);
  const takenMs: number[] = [];
  for (let sample = 0; sample < warmUp + samples; sample++) {
    const index = (sample * 7919) % rules;
    const rung = Atomics.load(memory.doorbells, doorbells.commands);
    const begunMs = systemClock.monotonicMs();
    table.publish([{ index, value: sample + 1, quality: quality.good }]);
    if (Atomics.wait(memory.doorbells, doorbells.commands, rung, patienceMs) === 'timed-out')
      throw new Error('a change did not become a command');
    if (sample >= warmUp) takenMs.push(systemClock.monotonicMs() - begunMs);
    if (memory.slotValue[rules + index] !== sample + 1) throw new Error('the wrong command arrived');
    Atomics.store(memory.slotState, rules + index, slotState.empty);
    // Now and then the worker's messages and the disk get their turn, as they would between real changes.
    if (sample % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const [p50, p99] = [quantile(takenMs, 0.5), quantile(takenMs, 0.99)];
  console.log(`change to accepted command, ${rules} on-change rules, ${samples} changes:`);
  console.log(
    `  p50 ${p50.toFixed(3)} ms, ${((p50 / limitsMs.p50) * 100).toFixed(0)}% of the limit of ${limitsMs.p50} ms`,
  );
  console.log(
    `  p99 ${p99.toFixed(3)} ms, ${((p99 / limitsMs.p99) * 100).toFixed(0)}% of the limit of ${limitsMs.p99} ms`,
  );
  await engine.close();
}

await run();
