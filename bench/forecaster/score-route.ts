/** The forecaster as in use: a process of its own, called over HTTP, timed by the caller. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ProcessingResult, processorMediaType } from '../../src/api/processing.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { ScoreCase } from './score-data.ts';
import type { ScoredForecast } from './score-measures.ts';
import { requestOf, shapeOf, taskText } from './score-requests.ts';

interface RoutedForecast {
  readonly forecast: ScoredForecast;
  /** How long the caller waited. */
  readonly waitedMs: number;
  /** Processor time of the forecaster meanwhile, in all its threads; NaN where the system does not report it. */
  readonly computedMs: number;
}

export interface ForecastRoute {
  ask(own: ScoreCase): Promise<RoutedForecast>;
  close(): Promise<void>;
}

const program = fileURLToPath(new URL('../../src/bin/forecaster.ts', import.meta.url));

/** Starts a forecaster that serves a task per shape among `cases`. */
export async function startForecastRoute(cases: readonly ScoreCase[]): Promise<ForecastRoute> {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-score-'));
  const taskOf = new Map<string, string>();
  for (const own of cases) {
    const shape = shapeOf(own);
    if (taskOf.has(shape)) continue;
    const id = `score.${taskOf.size + 1}`;
    taskOf.set(shape, id);
    writeFileSync(join(folder, `${id}.yaml`), taskText(own, id));
  }
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, SVC_FORECASTER_TASKS: folder, SVC_FORECASTER_PORT: '0', SVC_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = `http://127.0.0.1:${await portOf(child)}/v1/process`;

  return {
    async ask(own) {
      const id = taskOf.get(shapeOf(own));
      if (id === undefined) throw new Error('a case of a shape that the forecaster was not started for');
      const body = Buffer.from(requestOf(own, id, systemClock.wallMs()));
      const before = computedMs(child.pid);
      const startMs = systemClock.monotonicMs();
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': processorMediaType }, body });
      const text = await response.text();
      const waitedMs = systemClock.monotonicMs() - startMs;
      if (response.status !== 200) throw new Error(`${own.series} ${own.origin}: ${response.status} ${text}`);
      return {
        forecast: forecastOf(JSON.parse(text) as ProcessingResult, own),
        waitedMs,
        computedMs: computedMs(child.pid) - before,
      };
    },

    async close() {
      const gone = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
      child.kill('SIGTERM');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Milliseconds of processor time of a process so far (Linux: clock ticks of 10 ms). */
function computedMs(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return Number.NaN;
  }
}

async function portOf(child: ChildProcess): Promise<string> {
  const { stdout } = child;
  if (stdout === null) throw new Error('the forecaster has no output');
  let output = '';
  const listening = Promise.withResolvers<string>();
  stdout.on('data', (chunk: Buffer) => {
    if (output.length < 10_000) output += chunk.toString();
    const port = /"port":(\d+).*"msg":"listening"/.exec(output)?.[1];
    if (port !== undefined) listening.resolve(port);
  });
  child.once('exit', () => listening.reject(new Error(`the forecaster did not start: ${output}`)));
  return listening.promise;
}

function forecastOf(result: ProcessingResult, { quantiles, series, origin }: ScoreCase): ScoredForecast {
  // Other answers are not forecasts of the models.
  if (result.status !== 'produced')
    throw new Error(`${series} ${origin}: ${result.status} ${result.warnings.join(' ')}`);
  const { points } = result.output;
  return {
    value: Float64Array.from(points, ({ value }) => value),
    quantiles: quantiles.map((_, index) =>
      Float64Array.from(points, (point) => point.quantiles?.[index]?.value ?? Number.NaN),
    ),
  };
}
