/**
 * How cost grows with rules, points, audit events, stored rows and readers of the live stream, each up to a hundred times
 * its smallest size. `node bench/growth.ts --plot FILE` draws the curves too.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StreamSocket } from '../src/api/live-stream.ts';
import { automationLimits } from '../src/automation/limits.ts';
import { createLiveStream } from '../src/automation/live-stream.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { createLiveTableReader } from '../src/points/live-table.ts';
import { createPointMemory } from '../src/points/shared-memory.ts';
import type { ExecutionRecord } from '../src/rules/record.ts';
import type { ScheduledRule } from '../src/rules/scheduled-rule.ts';
import { createScheduler } from '../src/rules/scheduler.ts';
import { quality } from '../src/site/quality.ts';
import { createSnapshot } from '../src/site/snapshot.ts';
import { signerOf } from './fixture/audit-signer.ts';
import { benchScope, emptyLog, fillLog, median } from './fixture/audit-site.ts';
import { benchSite } from './fixture/engine-site.ts';
import { type Curve, growthPlot } from './fixture/growth-plot.ts';
import { sizes } from './fixture/sizes.ts';

/** The largest size of each; `repeats` measurements at each size, of which the median counts. */
const { rules, points, events, rows, readers, repeats } = sizes(
  { rules: 100_000, points: 4096, events: 300_000, rows: 3_000_000, readers: 256, repeats: 101 },
  { rules: 1000, points: 400, events: 3000, rows: 30_000, readers: 10, repeats: 3 },
);
const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-growth-'));

/** From a hundredth of the largest size to the largest, in steps of about a factor of three. */
const upTo = (most: number): number[] => [
  ...new Set([100, 30, 10, 3, 1].map((part) => Math.max(1, Math.round(most / part)))),
];

/** Milliseconds, the median of all. */
async function typical(work: (at: number) => unknown): Promise<number> {
  const taken: number[] = [];
  for (let at = 0; at < repeats; at++) {
    const began = process.hrtime.bigint();
    await work(at);
    taken.push(Number(process.hrtime.bigint() - began) / 1e6);
  }
  return median(taken);
}

/** One point of a hundred shows another value: those rules are judged, and run. */
async function ticks(count: number): Promise<number> {
  const trigger = { type: 'on_change', point_refs: [], time_deadband_ms: 0, value_deadband: null } as const;
  const watched = (index: number) => ({
    index,
    maxAgeMs: 60_000,
    ref: { instance: 1, point_type: 'measurement' as const, point: index },
  });
  const scheduler = createScheduler({ event_min_interval_ms: 0 });
  const scheduled = Array.from({ length: count }, (_, id): ScheduledRule => {
    const more = { priority: 0, enabled: true, runnable: true, cooldown_ms: 0, trigger, triggerText: '' };
    return { id, ...more, points: [watched(id % 100)] };
  });
  scheduler.change(scheduled, []);
  const snapshot = createSnapshot(100);
  snapshot.quality.fill(quality.good);
  snapshot.values.fill(0);
  return typical((at) => {
    snapshot.values[at % 100] = at + 1;
    const due = scheduler.due(snapshot, 'tick', 100 * at);
    for (const { ruleId, dueAtMs } of due)
      scheduler.finished(ruleId, { scheduled: true, acted: false, snapshot, dueAtMs, endedMs: dueAtMs });
  });
}

async function copies(count: number): Promise<number> {
  const site = benchSite(Math.ceil(count / 2));
  const reader = createLiveTableReader(createPointMemory(site.points, site.channels.length));
  const snapshot = createSnapshot(site.points.length);
  return typical(() => reader.copyInto(snapshot, systemClock));
}

async function proofs(count: number): Promise<number> {
  const log = emptyLog();
  await fillLog(log, count);
  const { checkpointer, proofs: of } = signerOf(log, join(folder, `${count}.jsonl`));
  await checkpointer.cover({ log: 'events', ...benchScope });
  const took = await typical((at) => of.inclusion(benchScope, 1 + Math.floor((at / repeats) * count)));
  await checkpointer.close();
  await log.close();
  return took;
}

/** A day of quarter hours from minutes. */
async function windows(count: number): Promise<number> {
  const historian = openHistorian(join(folder, `${count}.sqlite`), historyLimits);
  const series = { instance: 1, point: 1 };
  const endMs = Date.UTC(2026, 6, 11);
  for (let from = 0; from < count; from += 20_000)
    await historian.append(
      Array.from({ length: Math.min(20_000, count - from) }, (_, index) => {
        const eventMs = endMs - (count - 1 - from - index) * 60_000;
        return { series, eventMs, ingestedMs: eventMs + 200, value: index % 97, quality: quality.good };
      }),
    );
  const cells = { cadenceMs: 900_000, steps: 96, aggregation: 'mean', duplicatePolicy: 'latest' } as const;
  const took = await typical(async (at) => {
    const asOfMs = endMs - ((at * 7919) % Math.max(1, count / 15 - 96)) * 900_000;
    const snapshot = await historian.snapshot();
    await snapshot.window({ series, asOfMs: Math.floor(asOfMs / 900_000) * 900_000, ...cells, maxSourceSkewMs: 5000 });
    await snapshot.close();
  });
  await historian.close();
  return took;
}

const silentFeed = { follow: () => () => undefined };
const record: ExecutionRecord = {
  execution_id: 'e',
  rule_id: 1,
  rule_revision: 1,
  trigger: { type: 'interval' },
  started_at: '2026-05-01T00:00:00.000Z',
  duration_us: 1,
  outcome: 'no_action',
  success: true,
  error: null,
  actions_executed: [],
  execution_path: ['start', 'read', 'decide', 'end'],
  matched_condition: 'else',
  variable_values: { soc: 55.5, load: 120, pv: 80 },
  node_details: { decide: { type: 'switch', branches: [{ name: 'high', result: false }], output: 'else' } },
  correlation_id: 'c',
};

/** One record that all of them receive. */
async function records(count: number): Promise<number> {
  let sent = 0;
  const stream = createLiveStream({
    clock: systemClock,
    log: silentLog,
    limits: { ...automationLimits, stream_clients: count },
    authenticate: () => Promise.resolve({ mayRead: true, expiresAtMs: null }),
    authenticateSession: () => Promise.resolve(null),
    watch: () => undefined,
    feeds: { point: silentFeed, alarm: silentFeed },
  });
  const sockets = Array.from({ length: count }, () => {
    let told: (text: string) => void = () => undefined;
    const socket: StreamSocket = {
      session: null,
      isForeign: false,
      send: (text) => (sent += text.length),
      close: () => undefined,
      bufferedBytes: () => 0,
      onMessage: (listener) => (told = listener),
      ping: () => undefined,
      onPong: () => undefined,
      onPing: () => undefined,
      onClose: () => undefined,
    };
    stream.connect(socket);
    return (message: object) => told(JSON.stringify(message));
  });
  for (const tell of sockets) tell({ type: 'authenticate', token: 'any' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const tell of sockets) tell({ type: 'subscribe', data: { source: 'rule', channels: [1] } });
  sent = 0;
  const took = await typical((at) => stream.publish([{ ...record, execution_id: String(at) }]));
  if (sent < count * repeats * 100) throw new Error('a reader got no records');
  stream.close();
  return took;
}

const measured = async (most: number, work: (size: number) => Promise<number>): Promise<Curve['points']> => {
  const found: { size: number; cost: number }[] = [];
  for (const size of upTo(most)) found.push({ size, cost: await work(size) });
  return found;
};

const curves: readonly Curve[] = [
  { title: 'A tick, 1% of the rules run', of: 'on-change rules', unit: 'ms', points: await measured(rules, ticks) },
  { title: 'Copy of live values for a cycle', of: 'points', unit: 'ms', points: await measured(points, copies) },
  { title: 'Proof of an audit event', of: 'events in the log', unit: 'ms', points: await measured(events, proofs) },
  { title: 'A day out of the history', of: 'stored rows', unit: 'ms', points: await measured(rows, windows) },
  {
    title: 'A record to its readers',
    of: 'readers of the stream',
    unit: 'ms',
    points: await measured(readers, records),
  },
];
rmSync(folder, { recursive: true });
for (const { title, of, points: found } of curves) {
  const [first, last] = [found[0], found.at(-1)];
  if (first === undefined || last === undefined) throw new Error('nothing was measured');
  const costs = found.map(({ size, cost }) => `${size.toLocaleString('en')}: ${cost.toPrecision(3)} ms`).join(', ');
  console.log(`${title}, by ${of}: ${costs}`);
  console.log(
    `  ${Math.round(last.size / first.size)} times the size costs ${(last.cost / first.cost).toFixed(1)} times as much`,
  );
}
const plot = process.argv[process.argv.indexOf('--plot') + 1];
if (process.argv.includes('--plot') && plot !== undefined)
  writeFileSync(plot, growthPlot(curves, `Medians of ${repeats}; both axes logarithmic; node ${process.version}`));
