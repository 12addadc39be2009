/**
 * The frame of a load task [data-processing §4.2] from PostgreSQL and from SQLite, in one run and over the same rows: a day and 28 days of
 * quarter hours, three recorded features of one-minute values, in a store of ten million rows. `npm run bench
 * postgres-history`; the server comes with the tests, or is the one of SVC_TEST_POSTGRES_URL, in schemas that are dropped at the end.
 * Where that one has TimescaleDB, hypertables are measured beside the partitions.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { formatTimestamp } from '../src/base/timestamp.ts';
import type { Historian, HistoryRow } from '../src/historian/historian.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { prepareHistory } from '../src/historian/store/history-server.ts';
import { assembleFrame } from '../src/processing/frame/assemble.ts';
import { planFrame } from '../src/processing/frame/plan.ts';
import { parseCovariateRuns } from '../src/processing/source/covariate-run.ts';
import { embeddedHistory } from '../src/processing/source/embedded-history.ts';
import { noLiveState } from '../src/processing/source/live-state.ts';
import { quality } from '../src/site/quality.ts';
import { connectPostgres, type PostgresPlace } from '../src/storage/postgres.ts';
import { storageLimits } from '../src/storage/server-limits.ts';
import { hypertablesIn, lackingTimescale } from '../src/testing/hypertables.ts';
import { type Edit, fixtureFile, loadRoute } from '../src/testing/load-site.ts';
import { makePostgres } from '../src/testing/postgres-server.ts';
import { sizes } from './fixture/sizes.ts';

const minuteMs = 60_000;
const asOfMs = Date.UTC(2026, 6, 11, 12);
const horizonSteps = 96;
const seriesCount = 20;
const { rows, steps, calls } = sizes(
  { rows: 10_000_000, steps: 2688, calls: 200 },
  { rows: 100_000, steps: 192, calls: 2 },
);
const rowsEach = Math.ceil(rows / seriesCount);
const given = process.env['SVC_TEST_POSTGRES_URL'];

/** The three recorded features, and seventeen other series of the same site. */
const series = Array.from({ length: seriesCount }, (_, index) => {
  if (index === 0) return { instance: 2, point: 1 };
  return index <= 3 ? { instance: 6, point: index } : { instance: 100 + index, point: 1 };
});

/** All series advance together, as they do when they are recorded. */
async function fill(name: string, historian: Historian): Promise<void> {
  const begunMs = systemClock.monotonicMs();
  const minutes = 1000;
  for (let from = 0; from < rowsEach; from += minutes) {
    const part = series.flatMap((each) =>
      Array.from({ length: Math.min(minutes, rowsEach - from) }, (_, index): HistoryRow => {
        const eventMs = asOfMs - (rowsEach - 1 - from - index) * minuteMs;
        const value = 50 + 30 * Math.sin(eventMs / 13_750_987) + ((from + index) % 97) / 10;
        return { series: each, eventMs, ingestedMs: eventMs + 200, value, quality: quality.good };
      }),
    );
    await historian.append(part);
  }
  const seconds = (systemClock.monotonicMs() - begunMs) / 1000;
  const total = rowsEach * seriesCount;
  console.log(`${name}: ${total} rows stored in ${seconds.toFixed(0)} s, ${(total / seconds).toFixed(0)} a second`);
}

/** Lines of the fixture's task about rain, which would be a fourth recorded feature. */
const rain: Edit[] = fixtureFile('load/tasks/site-load-forecast.yaml')
  .split('\n')
  .filter((line) => line.includes('name: rain'))
  .map((line) => [`${line}\n`, '']);

const routeOf = (historySteps: number) =>
  loadRoute({
    task: [...rain, ['history_steps: 4', `history_steps: ${historySteps}`]],
    routes: [['max_frame_cells: 5000', 'max_frame_cells: 200000']],
  });

/** Forecast inputs, read from memory: they are not measured here. */
function runsAhead(): ReturnType<typeof parseCovariateRuns> {
  const times = Array.from({ length: horizonSteps }, (_, index) => asOfMs + (index + 1) * 15 * minuteMs);
  const field = (unit: string) => ({ unit, values: times.map(() => 20), quality: times.map(() => 'good') });
  const fields = { air_temperature: field('Cel'), relative_humidity: field('%'), precipitation: field('mm') };
  const issued_at = formatTimestamp(asOfMs - 3_600_000);
  const run = { issued_at, watermark: issued_at, valid_times: times.map(formatTimestamp), fields };
  return parseCovariateRuns(JSON.stringify({ schema: 'svc.covariate-runs.v1', runs: [run] }));
}
const ahead = runsAhead();

async function frameOf(historian: Historian, route: ReturnType<typeof routeOf>): Promise<unknown> {
  const assembled = await assembleFrame({
    plan: planFrame(route, asOfMs, { kind: 'forecast', horizon_steps: horizonSteps }, asOfMs),
    sources: { history: embeddedHistory(historian), covariates: { read: async () => ahead }, live: noLiveState },
    signal: new AbortController().signal,
    log: silentLog,
  });
  if (!assembled.ok) throw new Error(JSON.stringify(assembled.reasons));
  return assembled.frame;
}

/** Sorted milliseconds on the wall, after some rounds that let both engines compile and plan. */
async function timed(work: () => Promise<unknown>): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let round = -Math.min(20, calls); round < calls; round++) {
    const begunMs = systemClock.monotonicMs();
    await work();
    if (round >= 0) taken.push(systemClock.monotonicMs() - begunMs);
  }
  return taken.toSorted((one, other) => one - other);
}

const share = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0;

async function compare(what: string, historySteps: number, stores: Readonly<Record<string, Historian>>): Promise<void> {
  const route = routeOf(historySteps);
  const frames: string[] = [];
  const medians: number[] = [];
  for (const [name, historian] of Object.entries(stores)) {
    frames.push(JSON.stringify(await frameOf(historian, route)));
    const taken = await timed(() => frameOf(historian, route));
    medians.push(share(taken, 0.5));
    console.log(
      `${what}, ${name}: p50 ${share(taken, 0.5).toFixed(1)} ms, p99 ${share(taken, 0.99).toFixed(1)} ms on the wall`,
    );
  }
  for (const [index, name] of Object.keys(stores).entries()) {
    if (index === 0) continue;
    const times = (medians[index] ?? 0) / (medians[0] ?? 1);
    console.log(`${what}: ${name} takes ${times.toFixed(1)} times as long as SQLite`);
    if (frames[index] !== frames[0]) throw new Error(`${what}: the frames differ`);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-'));
const own = given === undefined || given === '' ? await makePostgres('durable') : null;
await own?.start();
const url = own?.url ?? given ?? '';
const placeOf = (kind: string): PostgresPlace => ({
  url,
  limits: { ...storageLimits, postgres_schema: `bench_${process.pid}_${kind}` },
});
const places = { PostgreSQL: placeOf('partitions'), hypertables: placeOf('hypertables') };

async function runIn(place: PostgresPlace, text: string): Promise<void> {
  const server = connectPostgres(place, 'history');
  const connection = await server.connect();
  await connection.run(text);
  connection.release(true);
  await server.close();
}

/** None where the server does not have the extension. */
async function onHypertables(): Promise<Readonly<Record<string, Historian>>> {
  const place = places.hypertables;
  if ((await lackingTimescale(url)) !== null) return {};
  await prepareHistory(place);
  await runIn(place, hypertablesIn(place.limits.postgres_schema));
  return { hypertables: openHistorian(place, historyLimits) };
}

const stores: Readonly<Record<string, Historian>> = {
  SQLite: openHistorian(join(folder, 'history.sqlite'), historyLimits),
  PostgreSQL: openHistorian(places.PostgreSQL, historyLimits),
  ...(await onHypertables()),
};
try {
  for (const [name, historian] of Object.entries(stores)) await fill(name, historian);
  await compare('a day', 96, stores);
  await compare(`${steps / 96} days`, steps, stores);
} finally {
  for (const historian of Object.values(stores)) await historian.close();
  if (own === null)
    for (const place of Object.values(places))
      await runIn(place, `DROP SCHEMA IF EXISTS ${place.limits.postgres_schema} CASCADE`);
  await own?.stop();
  rmSync(folder, { recursive: true, force: true });
}
