/**
 * How many executions a second the engine's worker runs and records: rules that are due at every tick, so that the
 * engine never waits, and 10 000 rules of one second, which it must keep up with.
 */
import { systemClock } from '../src/base/clock.ts';
import { createLiveTableWriter } from '../src/points/live-table.ts';
import { quality } from '../src/site/quality.ts';
import { benchRule, startBenchEngine } from './fixture/engine-site.ts';
import { sizes } from './fixture/sizes.ts';

const { seconds, warmUpSeconds, rules } = sizes(
  { seconds: 10, warmUpSeconds: 2, rules: 10_000 },
  { seconds: 1, warmUpSeconds: 0.5, rules: 100 },
);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function measure(count: number, intervalMs: number): Promise<void> {
  const trigger = { type: 'interval', interval_ms: intervalMs };
  const list = Array.from({ length: count }, (_, index) =>
    benchRule(index + 1, { measurement: (index % 100) + 1, action: (index % 100) + 1 }, 'x < 0', trigger),
  );
  const engine = await startBenchEngine(100, list);
  const table = createLiveTableWriter(
    engine.memory,
    systemClock,
    engine.site.points.map((point) => point.maxAgeMs),
  );
  table.publish(Array.from({ length: 100 }, (_, index) => ({ index, value: 1, quality: quality.good })));
  const status = async () => {
    const answer = await engine.client.status();
    if (answer === null) throw new Error('the engine is gone');
    return answer;
  };
  await pause(warmUpSeconds * 1000);
  const before = await status();
  const begunMs = systemClock.monotonicMs();
  await pause(seconds * 1000);
  const after = await status();
  const tookSeconds = (systemClock.monotonicMs() - begunMs) / 1000;
  const executed = (after.executions - before.executions) / tookSeconds;
  const waiting = (after.records_waiting - before.records_waiting) / tookSeconds;
  const dropped = (after.records_dropped - before.records_dropped) / tookSeconds;
  const wanted = (count * 1000) / intervalMs;
  console.log(`${count} rules of ${intervalMs} ms:`);
  console.log(`  executed ${executed.toFixed(0)}/s, ${((executed / wanted) * 100).toFixed(0)}% of what is due`);
  const stored = executed - waiting - dropped;
  console.log(`  stored ${stored.toFixed(0)}/s, dropped ${dropped.toFixed(0)}/s, the rest is in the journal`);
  console.log(
    `  ${after.ticks - before.ticks} ticks, ${after.late_ticks - before.late_ticks} late, ${after.overruns - before.overruns} overrun`,
  );
  await engine.close();
}

export async function run(): Promise<void> {
  await measure(rules / 10, 1000);
  await measure(rules, 1000);
  await measure(rules / 5, 100);
}

await run();
