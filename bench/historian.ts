/**
 * The read behind a frame [data-processing §4.2]: 28 days of quarter hours, three series of one-minute values, in a store of
 * ten million rows, with rollups, without them, and row by row. Then what recording costs: rows stored a second, and how late a 10 ms
 * tick of the main thread comes while the recorder's thread stores and while windows are read beside it.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import type { Historian, HistoryRow, HistorySnapshot } from '../src/historian/historian.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { startRecording } from '../src/historian/recording.ts';
import { createLiveTableWriter } from '../src/points/live-table.ts';
import { createPointMemory } from '../src/points/shared-memory.ts';
import { quality } from '../src/site/quality.ts';
import { retentionCell } from '../src/storage/retention-clock.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const minuteMs = 60_000;
const quarterMs = 900_000;
const seriesCount = 20;
const frameLimitMs = 10;
const deadlineMs = 1000;
const { rows, steps, reads, seconds, secondRows } = sizes(
  { rows: 10_000_000, steps: 2688, reads: 300, seconds: 10, secondRows: 2_592_000 },
  { rows: 100_000, steps: 96, reads: 5, seconds: 1, secondRows: 20_000 },
);
const rowsEach = Math.ceil(rows / seriesCount);
/** Of one frame: three series of one-minute values. */
const rowsRead = 3 * steps * (quarterMs / minuteMs);
const endMs = Date.UTC(2026, 6, 11);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-'));
const file = join(folder, 'history.sqlite');

async function fill(historian: Historian): Promise<void> {
  const begunMs = systemClock.monotonicMs();
  const chunk = 20_000;
  for (let from = 0; from < rowsEach; from += chunk) {
    for (let instance = 1; instance <= seriesCount; instance++) {
      const rows = Array.from({ length: Math.min(chunk, rowsEach - from) }, (_, index): HistoryRow => {
        const atMs = endMs - (rowsEach - 1 - from - index) * minuteMs;
        const value = 100 + 50 * Math.sin(atMs / 13_750_987) + ((from + index) % 97) / 10;
        return { series: { instance, point: 1 }, eventMs: atMs, ingestedMs: atMs + 200, value, quality: quality.good };
      });
      await historian.append(rows);
    }
  }
  const seconds = (systemClock.monotonicMs() - begunMs) / 1000;
  const bytes = statSync(file).size / (rowsEach * seriesCount);
  console.log(`${rowsEach * seriesCount} rows stored in ${seconds.toFixed(0)} s, ${bytes.toFixed(0)} bytes a row`);
}

/** The reads of one process request. */
async function frame(snapshot: HistorySnapshot, asOfMs: number): Promise<number> {
  let read = 0;
  for (const instance of [3, 8, 15]) {
    const answer = await snapshot.window({
      series: { instance, point: 1 },
      asOfMs,
      cadenceMs: quarterMs,
      steps,
      aggregation: 'mean',
      duplicatePolicy: 'latest',
      maxSourceSkewMs: 5000,
      range: { minimum: -1000, maximum: 1000 },
    });
    read += answer.rows;
  }
  return read;
}

async function timed(historian: Historian, times: number): Promise<number[]> {
  // Windows at random places in the last part of the store, which contains them.
  const places = Math.floor((rowsEach * minuteMs - steps * quarterMs) / quarterMs);
  const taken: number[] = [];
  for (let index = 0; index < times; index++) {
    const asOfMs = Math.floor(endMs / quarterMs) * quarterMs - ((index * 7919) % Math.max(1, places)) * quarterMs;
    const begunMs = systemClock.monotonicMs();
    const snapshot = await historian.snapshot();
    const read = await frame(snapshot, asOfMs);
    await snapshot.close();
    if (read < 0.8 * rowsRead) throw new Error(`the window holds ${read} rows only`);
    taken.push(systemClock.monotonicMs() - begunMs);
  }
  return taken.toSorted((a, b) => a - b);
}

/**
 * A window that no rollup fits: 37 s cells over one-second rows, given up after a second. How long that takes, and how late a 10 ms
 * tick of this thread comes meanwhile.
 */
async function deadlineHeld(historian: Historian): Promise<void> {
  const second = { instance: 200, point: 1 };
  for (let from = 0; from < secondRows; from += 20_000)
    await historian.append(
      Array.from({ length: Math.min(20_000, secondRows - from) }, (_, index): HistoryRow => {
        const eventMs = endMs - (secondRows - 1 - from - index) * 1000;
        return { series: second, eventMs, ingestedMs: eventMs + 200, value: index % 97, quality: quality.good };
      }),
    );
  const snapshot = await historian.snapshot();
  const window = { aggregation: 'mean', duplicatePolicy: 'latest', maxSourceSkewMs: 5000 } as const;
  const cells = { cadenceMs: 37_000, steps: Math.floor((secondRows * 1000) / 37_000) };
  const giveUp = new AbortController();
  const late: number[] = [];
  let dueMs = systemClock.monotonicMs() + 10;
  const tick = setInterval(() => {
    late.push(systemClock.monotonicMs() - dueMs);
    dueMs = systemClock.monotonicMs() + 10;
  }, 10);
  const begunMs = systemClock.monotonicMs();
  setTimeout(() => giveUp.abort(), deadlineMs);
  const asked = { series: second, asOfMs: endMs, ...cells, ...window };
  const end = await snapshot.window(asked, giveUp.signal).then(
    () => 'read',
    () => 'given up',
  );
  const tookMs = systemClock.monotonicMs() - begunMs;
  clearInterval(tick);
  await snapshot.close();
  const longestMs = deadlineMs + 200;
  if (tookMs > longestMs) limitMissed();
  console.log(
    `${secondRows} one-second rows in 37 s cells, deadline ${deadlineMs} ms: ${end} after ${tookMs.toFixed(0)} ms (at most ${longestMs})`,
  );
  told(
    '  a 10 ms tick of the same thread is late by',
    late.toSorted((a, b) => a - b),
  );
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

function told(name: string, sorted: readonly number[]): void {
  console.log(`${name}: p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)} ms`);
}

/** How late a 10 ms tick of this thread comes, for `seconds`. */
async function lateness(beside: () => void = () => undefined): Promise<number[]> {
  const late: number[] = [];
  const endsMs = systemClock.monotonicMs() + seconds * 1000;
  let nextReadMs = 0;
  for (let dueMs = systemClock.monotonicMs() + 10; dueMs < endsMs; dueMs += 10) {
    await pause(Math.max(0, dueMs - systemClock.monotonicMs()));
    late.push(systemClock.monotonicMs() - dueMs);
    if (systemClock.monotonicMs() < nextReadMs) continue;
    nextReadMs = systemClock.monotonicMs() + 500;
    beside();
  }
  return late.toSorted((a, b) => a - b);
}

/** How late a 10 ms tick of another thread comes while this one works. */
async function latenessElsewhere(beside: () => void): Promise<number[]> {
  const worker = new Worker(tickingThread, { eval: true, workerData: seconds });
  const work = setInterval(beside, 500);
  const [late] = (await once(worker, 'message')) as [number[]];
  clearInterval(work);
  await worker.terminate();
  return late.toSorted((a, b) => a - b);
}

const tickingThread = `
  const { parentPort, workerData } = require('node:worker_threads');
  const late = [];
  const endsMs = performance.now() + workerData * 1000;
  let dueMs = performance.now() + 10;
  const tick = () => {
    late.push(performance.now() - dueMs);
    dueMs += 10;
    if (dueMs < endsMs) setTimeout(tick, Math.max(0, dueMs - performance.now()));
    else parentPort.postMessage(late);
  };
  setTimeout(tick, 10);
`;

async function recording(historian: Historian): Promise<void> {
  const points = Array.from({ length: 1000 }, (_, index) => ({ index, instance: 100, id: index, maxAgeMs: 5000 }));
  const memory = createPointMemory(
    points.map(() => ({ channel: 0, writable: false })),
    1,
  );
  const table = createLiveTableWriter(
    memory,
    systemClock,
    points.map((point) => point.maxAgeMs),
  );
  told('a 10 ms tick, nothing beside it, is late by', await lateness());
  const setup = {
    points,
    tableSize: 1000,
    commanded: [],
    memory,
    recordIntervalMs: 1000,
    retentionDays: 400,
    retention: retentionCell(0),
    limits: historyLimits,
  };
  const recorder = startRecording({
    setup: () => setup,
    place: file,
    journalFolder: join(folder, 'journal-history'),
    spoolFolder: null,
    logLevel: 'error',
    clock: systemClock,
    log: silentLog,
  });
  let round = 0;
  const feed = setInterval(() => {
    round++;
    table.publish(points.map(({ index }) => ({ index, value: index + round, quality: quality.good })));
  }, 100);
  told('1000 points of 100 ms being recorded', await lateness());
  const counts = await recorder.counts();
  const asOfMs = Math.floor(endMs / quarterMs) * quarterMs;
  const read = async (): Promise<void> => {
    const snapshot = await historian.snapshot();
    await frame(snapshot, asOfMs);
    await snapshot.close();
  };
  told('and two frames a second read in this thread', await lateness(() => void read()));
  told('the same, seen by another thread, as the engine is one', await latenessElsewhere(() => void read()));
  clearInterval(feed);
  await recorder.stop(true);
  console.log(`recorded ${counts.recorded}, waiting ${counts.waiting}, dropped ${counts.dropped} after ${seconds} s`);
}

const historian = openHistorian(file, historyLimits);
const withoutRollups = openHistorian(file, historyLimits, { useRollups: false });
const rowByRow = openHistorian(file, historyLimits, { useRollups: false, useBlocks: false });
try {
  await fill(historian);
  const few = Math.ceil(reads / 8);
  const slow = await timed(rowByRow, few);
  for (const [name, of, times] of [
    ['with rollups', historian, reads],
    ['without', withoutRollups, reads],
  ] as const) {
    await timed(of, few);
    const taken = await timed(of, times);
    told(`a frame ${name}`, taken);
    const share = percentile(taken, 0.99) / frameLimitMs;
    const ratio = percentile(slow, 0.5) / percentile(taken, 0.5);
    console.log(
      `  p99 is ${share.toFixed(2)} of the limit of ${frameLimitMs} ms (aim < 1); p50 is ${ratio.toFixed(1)} times faster than row by row`,
    );
  }
  told('row by row', slow);
  await deadlineHeld(historian);
  await recording(historian);
} finally {
  await historian.close();
  await withoutRollups.close();
  await rowByRow.close();
  rmSync(folder, { recursive: true, force: true });
}
