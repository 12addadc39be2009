/**
 * Cost of scoring stored forecasts [data-processing §8]: thirteen months of hourly results, a day ahead in quarter hours, deciles, beside
 * reading the same rows, and the longest time for which the HTTP thread is blocked. `npm run bench scores`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { CallContext } from '../src/api/capability.ts';
import type { DerivedData } from '../src/api/processing.ts';
import { dataProcessing } from '../src/api/processing-capabilities.ts';
import type { Scores } from '../src/api/processing-results.ts';
import { systemClock } from '../src/base/clock.ts';
import { newId } from '../src/base/id.ts';
import { silentLog } from '../src/base/log.ts';
import { SeededStream } from '../src/base/seeded.ts';
import type { WindowAnswer } from '../src/historian/historian.ts';
import { processingLimits } from '../src/processing/limits.ts';
import { resultCapabilities } from '../src/processing/results/capabilities.ts';
import { openForecastDatabase } from '../src/processing/results/forecast-database.ts';
import { kindOf } from '../src/processing/results/keep.ts';
import { ResultStore } from '../src/processing/results/result-store.ts';
import { loadRoute } from '../src/testing/load-site.ts';
import { sizes } from './fixture/sizes.ts';

const size = sizes({ results: 13 * 30 * 24, steps: 96 }, { results: 200, steps: 4 });
const limitMs = 1000;
const hourMs = 3_600_000;
const startMs = Date.UTC(2025, 0, 1);
const probabilities = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const route = loadRoute();
const cadenceMs = route.task.frame.cadence_seconds * 1000;
const stream = new SeededStream(1);
const row = (steps = size.steps): Float64Array => Float64Array.from({ length: steps }, () => 100 * stream.next());

const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-scores-'));
const database = await openForecastDatabase(join(folder, 'forecasts.sqlite'), systemClock, silentLog);
try {
  const store = new ResultStore(database);
  const begunMs = performance.now();
  for (let index = 0; index < size.results; index++) await store.keep(resultAt(startMs + index * hourMs), 0);
  console.log(`keeping a result          ${((performance.now() - begunMs) / size.results).toFixed(2)} ms`);

  const span = { fromMs: startMs, toMs: startMs + 2 * size.results * hourMs };
  const readMs = await timed(async () => {
    for await (const _ of store.walk(kindOf(route), span)) continue;
  });
  console.log(`reading ${size.results} of them     ${readMs.toFixed(0)} ms`);

  // Reading recorded values is measured by `npm run bench historian`; here they are made up.
  const history = {
    read: async (windows: readonly { readonly steps: number }[]) =>
      windows.map(({ steps }) => ({ cells: row(steps) }) as unknown as WindowAnswer),
  };
  const bound = resultCapabilities({ routes: [route], store, history, limits: processingLimits, clock: systemClock });
  const scores = bound.find(({ descriptor }) => descriptor === dataProcessing.scores);
  if (scores === undefined || !('handler' in scores)) throw new Error('there is no such operation');
  for (const by of ['none', 'lead', 'hour', 'day'] as const) {
    const [from, to] = [span.fromMs, span.toMs].map((ms) => new Date(ms).toISOString());
    const query = { task: route.task.id, binding: route.binding.id, from, to, by };
    const loop = monitorEventLoopDelay({ resolution: 1 });
    loop.enable();
    let points = 0;
    const ms = await timed(async () => {
      const { data } = await scores.handler({ query, params: {} } as unknown as CallContext);
      points = (data as Scores).groups.reduce((sum, { n }) => sum + n, 0);
    });
    loop.disable();
    const share = `${((100 * ms) / limitMs).toFixed(0)}% of ${limitMs} ms, ${(ms / readMs).toFixed(1)} times reading`;
    const turn = `longest turn ${(loop.max / 1e6).toFixed(1)} ms`;
    console.log(`scores by ${by.padEnd(5)} ${points} points  ${ms.toFixed(0)} ms: ${share}, ${turn}`);
  }
} finally {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begunMs = performance.now();
  await work();
  return performance.now() - begunMs;
}

function resultAt(asOfMs: number): Parameters<ResultStore['keep']>[0] {
  return {
    resultId: newId(),
    kind: kindOf(route),
    asOfMs,
    keptMs: asOfMs,
    firstMs: asOfMs + cadenceMs,
    lastMs: asOfMs + size.steps * cadenceMs,
    steps: size.steps,
    probabilities,
    inputDigest: `sha256:${'0'.repeat(64)}`,
    outcome: {
      status: 'produced',
      derived: { data: { points: [] } } as unknown as DerivedData,
      numbers: { value: row(), quantiles: probabilities.map(() => row()), references: [row(), row(), row()] },
    },
  };
}
