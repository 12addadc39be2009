/**
 * From a point's change to the first accepted command, across the threads, with on-change rules of which one of a hundred is due:
 * this thread plays the device layer, the engine runs in its worker. Limits: p50 0.06 ms, p99 0.5 ms.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../src/base/clock.ts';
import { ring } from '../src/base/doorbell.ts';
import { createLiveTableWriter } from '../src/points/live-table.ts';
import { doorbells, type PointMemory, slotState } from '../src/points/shared-memory.ts';
import { quality } from '../src/site/quality.ts';
import { benchRule, quantile, startBenchEngine } from './fixture/engine-site.ts';
import { sizes } from './fixture/sizes.ts';

const { rules, points, warmUp, samples } = sizes(
  { rules: 10_000, points: 2000, warmUp: 500, samples: 5000 },
  { rules: 40, points: 20, warmUp: 5, samples: 50 },
);
const limitsMs = { p50: 0.06, p99: 0.5 };
const patienceMs = 1000;
/** Between two changes, for the worker's messages and the disk. */
const pauseMs = 9;

export async function run(): Promise<void> {
  // Each measurement makes one of a hundred rules due, and those write as many actions as there are points for.
  const measurements = Math.min(100, points);
  const list = Array.from({ length: rules }, (_, index) => {
    const measurement = (index % measurements) + 1;
    const trigger = {
      type: 'on_change',
      point_refs: [{ instance: 1, point_type: 'measurement', point: measurement }],
      time_deadband_ms: 0,
      value_deadband: null,
    };
    return benchRule(index + 1, { measurement, action: (index % points) + 1 }, 'x > 0', trigger);
  });
  const [written, due] = [points / measurements, rules / measurements];
  const engine = await startBenchEngine(points, list);
  const { memory, site } = engine;
  const ages = site.points.map((point) => point.maxAgeMs);
  const table = createLiveTableWriter(memory, systemClock, ages);
  const takenMs: number[] = [];
  const bareMs: number[] = [];
  const echo = await startEcho();
  for (let sample = 0; sample < warmUp + samples; sample++) {
    const index = (sample * 7919) % measurements;
    const rung = Atomics.load(memory.doorbells, doorbells.commands);
    const begunMs = systemClock.monotonicMs();
    table.publish([{ index, value: sample + 1, quality: quality.good }]);
    if (Atomics.wait(memory.doorbells, doorbells.commands, rung, patienceMs) === 'timed-out')
      throw new Error('a change did not become a command');
    if (sample >= warmUp) takenMs.push(systemClock.monotonicMs() - begunMs);
    // The other commands, and the records of all runs; waiting for each would wake this thread for each.
    do await new Promise((resolve) => setTimeout(resolve, pauseMs));
    while (waiting(memory).length < written && systemClock.monotonicMs() - begunMs < patienceMs);
    if (waiting(memory).length < written) throw new Error('a change did not become all its commands');
    if (!waiting(memory).every((value) => value === sample + 1)) throw new Error('the wrong command arrived');
    memory.slotState.fill(slotState.empty);
    if (sample >= warmUp) bareMs.push(echo.once());
  }
  const told = (times: readonly number[]): string =>
    `p50 ${quantile(times, 0.5).toFixed(3)} ms, p99 ${quantile(times, 0.99).toFixed(3)} ms`;
  console.log(`change to the first accepted command, ${rules} on-change rules, ${due} due, ${samples} changes:`);
  console.log(`  ${told(takenMs)} (limits ${limitsMs.p50} and ${limitsMs.p99} ms)`);
  console.log(`  a bare thread that answers, in turn with it: ${told(bareMs)}`);
  await echo.end();
  const red = await nodeRed(measurements);
  if (red === null) console.log('  Node-RED is left out: run "npm run bench:peers" first');
  else console.log(`  Node-RED 4.1.15, to the first output, without records: ${told(red)}`);
  await engine.close();
}

/** The peer: from one doorbell to the answer of a thread that does nothing else. */
async function startEcho() {
  const cells = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(new URL('./fixture/echo-thread.ts', import.meta.url), { workerData: cells });
  await once(worker, 'message');
  return {
    once(): number {
      const rung = Atomics.load(cells, doorbells.commands);
      const begunMs = systemClock.monotonicMs();
      ring(cells, doorbells.changes);
      if (Atomics.wait(cells, doorbells.commands, rung, patienceMs) === 'timed-out') throw new Error('no answer');
      return systemClock.monotonicMs() - begunMs;
    },
    end: () => worker.terminate(),
  };
}

/** The other peer; null where it is not installed. */
async function nodeRed(inputs: number): Promise<readonly number[] | null> {
  const peers = join(import.meta.dirname, 'peers', 'node_modules', 'node-red');
  if (!existsSync(peers)) return null;
  const flows = join(import.meta.dirname, 'fixture', 'node-red-flows.ts');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [flows, ...[rules, inputs, warmUp, samples, pauseMs].map(String)],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as readonly number[];
}

/** The values of all pending commands. */
function waiting({ slotState: states, slotValue: values }: PointMemory): number[] {
  const found: number[] = [];
  for (let at = 0; at < states.length; at++) if (states[at] === slotState.full) found.push(values[at] ?? Number.NaN);
  return found;
}

await run();
