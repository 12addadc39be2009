/**
 * The cost of a database outage to the event loop (docs/guides/several-machines.md): the longest time for which it is blocked
 * while readings and executions are kept in files, and while the files are stored in PostgreSQL, beside the lease of a process that
 * controls, which lives on the same loop. `npm run bench spool`; the server comes with the tests.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { recordSpool } from '../src/automation/record-spool.ts';
import type { RunRow } from '../src/automation/run-blocks.ts';
import { createRunStore } from '../src/automation/store/run-store.ts';
import { openRuntimeDatabase } from '../src/automation/store/runtime-database.ts';
import { systemClock } from '../src/base/clock.ts';
import { newId } from '../src/base/id.ts';
import type { HistoryRow as Reading } from '../src/historian/historian.ts';
import { historySpool } from '../src/historian/history-spool.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { prepareHistory } from '../src/historian/store/history-server.ts';
import { quality } from '../src/site/quality.ts';
import { storageLimits } from '../src/storage/server-limits.ts';
import { makePostgres } from '../src/testing/postgres-server.ts';
import { sizes } from './fixture/sizes.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const beginMs = Date.UTC(2026, 6, 11);
const seriesCount = 20;
const size = sizes({ readings: 200_000, executions: 50_000 }, { readings: 2000, executions: 500 });

const readings = Array.from({ length: size.readings }, (_, index): Reading => {
  const eventMs = beginMs + Math.floor(index / seriesCount) * 1000;
  const series = { instance: (index % seriesCount) + 1, point: 1 };
  return { series, eventMs, ingestedMs: eventMs + 100, value: Math.sin(index) * 100, quality: quality.good };
});
/** About 1.5 kB, as the record of a rule with a dozen nodes. */
const record = JSON.stringify({
  nodes: Array.from({ length: 12 }, (_, index) => ({ id: `node-${index}`, took_ms: 0.01, note: 'x'.repeat(90) })),
});
const executions = Array.from(
  { length: size.executions },
  (_, index): RunRow => ({ execution_id: newId(), rule_id: (index % 100) + 1, unchanged: false, record }),
);

/** The most processor time of this thread between two ticks of a timer: other processes do not count. */
function watchComputing(): { longestMs(): number; stop(): void } {
  let [longestMs, lastMs] = [0, computedMs()];
  const timer = setInterval(() => {
    const nowMs = computedMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, 1);
  return { longestMs: () => longestMs, stop: () => clearInterval(timer) };
}

function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function blocked(what: string, rows: number, work: () => Promise<unknown>): Promise<void> {
  // Garbage of earlier work is not counted.
  globalThis.gc?.();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const computing = watchComputing();
  await pause(20);
  const begunMs = systemClock.monotonicMs();
  await work();
  const seconds = (systemClock.monotonicMs() - begunMs) / 1000;
  await pause(20);
  delay.disable();
  computing.stop();
  const share = computing.longestMs() / storageLimits.engine_lease_ms;
  console.log(
    `${rows} ${what}: ${seconds.toFixed(1)} s, longest stand ${(delay.max / 1e6).toFixed(0)} ms, of it computing at most ${computing.longestMs().toFixed(0)} ms, ${share.toFixed(2)} of the lease (aim < 0.1)`,
  );
}

async function keepAll<T>(
  rows: readonly T[],
  keep: (rows: readonly T[], from: number) => Promise<number>,
): Promise<void> {
  for (let kept = 0; kept < rows.length; ) kept = await keep(rows, kept);
}

const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-'));
const server = await makePostgres('durable');
await server.start();
const place = { url: server.url, limits: storageLimits };
await prepareHistory(place);
const historian = openHistorian(place, historyLimits);
const database = openRuntimeDatabase(place);
await database.ready();
try {
  const history = historySpool(folder);
  const forgetting = { append: async () => ({ duplicates: 0, skipped: 0 }) };
  await blocked('readings, waiting for a second instead', 0, () => pause(1000));
  await blocked('readings kept', readings.length, () => keepAll(readings, history.keep));
  await blocked('readings read', readings.length, () => history.store(forgetting, systemClock));
  await keepAll(readings, history.keep);
  await blocked('readings stored', readings.length, () => history.store(historian, systemClock));
  const records = recordSpool(folder);
  const store = createRunStore(database);
  await blocked('executions kept', executions.length, () => keepAll(executions, records.keep));
  await blocked('executions stored', executions.length, () => records.store(store.restore));
} finally {
  await historian.close();
  await database.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
