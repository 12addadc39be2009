/**
 * A process call of a load task [data-processing §5.1]: 28 days of quarter hours from one-minute values, three recorded features and a
 * calendar, one day ahead with a run of covariates, in a store of ten million rows. Assembly with rollups and without, canonical
 * JSON and its digest against JSON.stringify and SHA-256 over the same frame, and the whole call except the processor.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { sha256Hex } from '../src/base/digest.ts';
import { silentLog } from '../src/base/log.ts';
import { formatTimestamp } from '../src/base/timestamp.ts';
import { digestOf } from '../src/contract/wire/digest.ts';
import type { HistoryRow } from '../src/historian/historian.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { resolveCall } from '../src/processing/call.ts';
import { assembleFrame } from '../src/processing/frame/assemble.ts';
import { planFrame } from '../src/processing/frame/plan.ts';
import { processTask } from '../src/processing/process.ts';
import type { Processor, ProcessorAnswer } from '../src/processing/processor/processor.ts';
import { routeSlots } from '../src/processing/slots.ts';
import { covariateFiles } from '../src/processing/source/covariate-file.ts';
import { embeddedHistory } from '../src/processing/source/embedded-history.ts';
import { noLiveState } from '../src/processing/source/live-state.ts';
import { quality } from '../src/site/quality.ts';
import { fallbackProcessor, processBody } from '../src/testing/fallback-processor.ts';
import { type Edit, fixtureFile, loadRoute } from '../src/testing/load-site.ts';
import { simulatedClock } from '../src/testing/simulated-clock.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const minuteMs = 60_000;
const quarterMs = 900_000;
const asOfMs = Date.UTC(2026, 6, 11, 12);
const horizonSteps = 96;
const seriesCount = 20;
const { rows, steps, calls } = sizes(
  { rows: 10_000_000, steps: 2688, calls: 200 },
  { rows: 100_000, steps: 192, calls: 2 },
);
const rowsEach = Math.ceil(rows / seriesCount);

const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-'));
const file = join(folder, 'history.sqlite');
const runs = join(folder, 'runs.json');

/** The three recorded features, and seventeen other series of the same site. */
const series = Array.from({ length: seriesCount }, (_, index) => {
  if (index === 0) return { instance: 2, point: 1 };
  return index <= 3 ? { instance: 6, point: index } : { instance: 100 + index, point: 1 };
});

async function fill(): Promise<void> {
  const historian = openHistorian(file, historyLimits);
  const chunk = 20_000;
  for (let from = 0; from < rowsEach; from += chunk)
    for (const each of series) {
      const part = Array.from({ length: Math.min(chunk, rowsEach - from) }, (_, index): HistoryRow => {
        const eventMs = asOfMs - (rowsEach - 1 - from - index) * minuteMs;
        const value = 50 + 30 * Math.sin(eventMs / 13_750_987) + ((from + index) % 97) / 10;
        return { series: each, eventMs, ingestedMs: eventMs + 200, value, quality: quality.good };
      });
      await historian.append(part);
    }
  await historian.close();
}

function writeRuns(): void {
  const times = Array.from({ length: horizonSteps }, (_, index) => asOfMs + (index + 1) * quarterMs);
  const field = (unit: string) => ({ unit, values: times.map(() => 20), quality: times.map(() => 'good') });
  const fields = { air_temperature: field('Cel'), relative_humidity: field('%'), precipitation: field('mm') };
  const issued_at = formatTimestamp(asOfMs - 3_600_000);
  const run = { issued_at, watermark: issued_at, valid_times: times.map(formatTimestamp), fields };
  writeFileSync(runs, JSON.stringify({ schema: 'svc.covariate-runs.v1', runs: [run] }));
}

/** Lines of the fixture's task about rain, which would be a fourth recorded feature. */
const rain: Edit[] = fixtureFile('load/tasks/site-load-forecast.yaml')
  .split('\n')
  .filter((line) => line.includes('name: rain'))
  .map((line) => [`${line}\n`, '']);

const route = loadRoute({
  task: [...rain, ['history_steps: 4', `history_steps: ${steps}`]],
  binding: [['path: ../weather-nwp.json', `path: ${runs}`]],
  routes: [['max_frame_cells: 5000', 'max_frame_cells: 200000']],
});

async function frameOf(historian: ReturnType<typeof openHistorian>) {
  const options = { kind: 'forecast', horizon_steps: horizonSteps } as const;
  const assembled = await assembleFrame({
    plan: planFrame(route, asOfMs, options, asOfMs),
    sources: { history: embeddedHistory(historian), covariates: covariateFiles, live: noLiveState },
    signal: new AbortController().signal,
    log: silentLog,
  });
  if (!assembled.ok) throw new Error(JSON.stringify(assembled.reasons));
  return assembled.frame;
}

interface Timing {
  /**
   * Sorted milliseconds on the wall, and of this process's own work. The limits are held against the latter: on a machine
   * with nothing else to do the two are equal, and on a shared one the former says how busy the others are.
   */
  readonly wall: readonly number[];
  readonly cpu: readonly number[];
}

/** Each work in turn, `times` times, after some rounds that let the engine compile it. */
async function timed(times: number, ...works: readonly (() => unknown)[]): Promise<readonly Timing[]> {
  const taken = works.map(() => ({ wall: [] as number[], cpu: [] as number[] }));
  const warmUp = Math.min(20, times);
  for (let round = -warmUp; round < times; round++)
    for (const [index, work] of works.entries()) {
      const used = process.cpuUsage();
      const begunMs = systemClock.monotonicMs();
      await work();
      const wallMs = systemClock.monotonicMs() - begunMs;
      const { user, system } = process.cpuUsage(used);
      if (round < 0) continue;
      taken[index]?.wall.push(wallMs);
      taken[index]?.cpu.push((user + system) / 1000);
    }
  const sorted = (values: readonly number[]): number[] => values.toSorted((one, other) => one - other);
  return taken.map(({ wall, cpu }) => ({ wall: sorted(wall), cpu: sorted(cpu) }));
}

const share = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0;
const shown = ({ wall, cpu }: Timing): string =>
  `p50 ${share(wall, 0.5).toFixed(1)} ms, p99 ${share(wall, 0.99).toFixed(1)} ms (of own work ` +
  `${share(cpu, 0.5).toFixed(1)} and ${share(cpu, 0.99).toFixed(1)} ms)`;
function holds(what: string, figure: number, limit: number, unit: string, most: boolean): void {
  const held = most ? figure <= limit : figure >= limit;
  if (!held) limitMissed();
  console.log(
    `${held ? 'held  ' : 'BROKEN'} ${what}: ${figure.toFixed(1)} ${unit}, ${most ? 'at most' : 'at least'} ${limit}`,
  );
}

/** The whole call; the processor answers from memory at once, so that its time is not in it. */
function wholeCall(historian: ReturnType<typeof openHistorian>): () => Promise<unknown> {
  const clock = simulatedClock(asOfMs);
  const recorded: Processor = {
    id: route.processor.id,
    process: async () => answered,
    health: async () => ({ health: 'healthy', latencyMs: null }),
  };
  const fallbacks = fallbackProcessor(route, clock);
  // The question and the answer are the same each time.
  let answered: ProcessorAnswer = { outcome: 'timeout' };
  let asked: Processor = {
    ...recorded,
    async process(request, signal) {
      answered = await fallbacks.process(request, signal);
      asked = recorded;
      return answered;
    },
  };
  const parts = {
    clock,
    log: silentLog,
    slots: routeSlots(),
    sources: { history: embeddedHistory(historian), covariates: covariateFiles },
    live: () => noLiveState,
    processor: () => asked,
    keep: () => Promise.resolve(null),
  };
  const body = { ...processBody, options: { kind: 'forecast', horizon_steps: horizonSteps } } as const;
  const audit = { note: () => undefined, record: () => Promise.resolve() };
  const id = '0190aee6-2139-7a87-8448-806f1b843201';
  return () => processTask(resolveCall(body, id, [route], clock), parts, audit);
}

try {
  writeRuns();
  const begunMs = systemClock.monotonicMs();
  await fill();
  console.log(
    `${rowsEach * seriesCount} rows stored in ${((systemClock.monotonicMs() - begunMs) / 1000).toFixed(0)} s`,
  );
  const withRollups = openHistorian(file, historyLimits);
  const without = openHistorian(file, historyLimits, { useRollups: false });
  const frame = await frameOf(withRollups);
  const [fast] = await timed(calls, () => frameOf(withRollups));
  const [slow] = await timed(Math.max(5, Math.floor(calls / 20)), () => frameOf(without));
  const { task, binding } = route;
  const basis = {
    task: { id: task.id, revision: task.revision, kind: task.kind },
    binding,
    processor_contract: task.processor_contract,
    frame,
    options: {},
  };
  const [canonical, plain] = await timed(
    calls,
    () => digestOf(basis),
    () => sha256Hex(JSON.stringify(basis)),
  );
  const [whole] = await timed(calls, wholeCall(withRollups));
  if (fast === undefined || slow === undefined || canonical === undefined || plain === undefined || whole === undefined)
    throw new Error('nothing was measured');
  console.log(`assembled with rollups: ${shown(fast)}`);
  console.log(`           and without: ${shown(slow)}`);
  console.log(`digest: ${shown(canonical)}`);
  console.log(`JSON.stringify and SHA-256: ${shown(plain)}`);
  console.log(`everything except the processor: ${shown(whole)}`);
  holds('assembly, p99 of own work', share(fast.cpu, 0.99), 50, 'ms', true);
  holds('faster than without rollups', share(slow.cpu, 0.5) / share(fast.cpu, 0.5), 10, 'times', false);
  holds(
    'digest against JSON.stringify and SHA-256',
    share(canonical.cpu, 0.5) / share(plain.cpu, 0.5),
    2,
    'times',
    true,
  );
  holds('everything except the processor, p99 of own work', share(whole.cpu, 0.99), 80, 'ms', true);
  await withRollups.close();
  await without.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
