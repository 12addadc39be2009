/**
 * The cost of watching a site [points §8]: the trend of one second's values over many days, on a grid of whole minutes and off it,
 * beside SQLite's own scan of the rows; then live values of 4096 points of which all change in every message.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { dayMs, timeLabel } from '../src/base/timestamp.ts';
import type { HistoryRow } from '../src/historian/historian.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { createPointFeed } from '../src/operator/point-feed.ts';
import { trendOf, trendRange } from '../src/operator/trend.ts';
import { quality } from '../src/site/quality.ts';
import type { SitePoint } from '../src/site/site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { days, reads, points, messages } = sizes(
  { days: 60, reads: 9, points: 4096, messages: 40 },
  { days: 1, reads: 3, points: 64, messages: 4 },
);
const buckets = 720;
const trendLimitMs = 150;
const turnLimitMs = 25;
const readersLimit = 8;
const endMs = Date.UTC(2026, 6, 11);
const series = { instance: 1, point: 1 };

const middle = (given: readonly number[]): number =>
  given.toSorted((a, b) => a - b)[Math.floor(given.length / 2)] ?? Number.NaN;

async function timed(work: () => unknown): Promise<number> {
  const begunMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - begunMs;
}

async function measured(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let read = 0; read < reads; read++) times.push(await timed(work));
  return middle(times);
}

async function trends(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-'));
  const file = join(folder, 'history.sqlite');
  const historian = openHistorian(file, historyLimits, { standsMs: 0 });
  const [count, chunk] = [days * 86_400, 50_000];
  for (let from = 0; from < count; from += chunk)
    await historian.append(
      Array.from({ length: Math.min(chunk, count - from) }, (_, index): HistoryRow => {
        const eventMs = endMs - (count - 1 - from - index) * 1000;
        const value = 100 + ((from + index) % 97) / 10;
        return { series, eventMs, ingestedMs: eventMs, value, quality: quality.good };
      }),
    );
  const read = (shiftMs: number) => () => {
    const range = trendRange(timeLabel(endMs - days * dayMs + shiftMs), timeLabel(endMs + shiftMs), buckets);
    return trendOf(historian, series, range, systemClock, historyLimits.trend_timeout_ms);
  };
  const [whole, cut] = [await measured(read(0)), await measured(read(-12_345))];
  const raw = new DatabaseSync(file, { readOnly: true });
  const scan = raw.prepare('SELECT count(*), min(value), max(value), sum(value) FROM sample');
  const scanMs = await timed(() => scan.all());
  raw.close();
  await historian.close();
  rmSync(folder, { recursive: true });
  console.log(`trend of ${days} days in ${buckets} buckets, ${count} rows: ${whole.toFixed(1)} ms on whole minutes`);
  console.log(`  off whole minutes ${cut.toFixed(1)} ms; SQLite's scan of all rows ${scanMs.toFixed(0)} ms`);
  console.log(`  ${(whole / trendLimitMs).toFixed(2)} of the limit of ${trendLimitMs} ms`);
  if (whole > trendLimitMs) limitMissed();
}

async function live(readers: number): Promise<void> {
  const site = Array.from({ length: points }, (_, index) => ({
    index,
    instance: 1,
    kind: 'measurement',
    id: index,
    channel: 0,
    maxAgeMs: 1000,
  })) as unknown as SitePoint[];
  const codes = Array.from({ length: points }, () => quality.good);
  const ages = Array.from({ length: points }, () => 0);
  let turn = 0;
  const feed = createPointFeed({
    site: () => ({ points: site }),
    clock: { ...systemClock, after: (_ms, task) => systemClock.after(0, task) },
    log: silentLog,
    async sample() {
      turn++;
      const values = codes.map((_, index) => index + turn / 10);
      return { atMs: systemClock.wallMs(), values, quality: codes, agesMs: ages, online: [true] };
    },
  });
  const sent = { messages: 0, bytes: 0 };
  const channels = site.map(({ id }) => `1:measurement:${id}`);
  const beganMs = process.cpuUsage().user / 1000;
  const stops = Array.from({ length: readers }, () =>
    feed.follow(channels, (values) => {
      sent.bytes = JSON.stringify({ type: 'point_values', data: values }).length;
      sent.messages++;
      return true;
    }),
  );
  let longestMs = 0;
  let lastMs = systemClock.monotonicMs();
  while (sent.messages < messages * readers) {
    await new Promise((resolve) => setImmediate(resolve));
    const nowMs = systemClock.monotonicMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
  for (const stop of stops) stop();
  const cpuMs = (process.cpuUsage().user / 1000 - beganMs) / sent.messages;
  console.log(
    `${readers} readers of ${points} points: ${cpuMs.toFixed(2)} ms of processor time and ${sent.bytes} bytes a message, longest turn ${longestMs.toFixed(1)} ms`,
  );
  if (longestMs > turnLimitMs) limitMissed();
}

await trends();
await live(1);
await live(readersLimit);
