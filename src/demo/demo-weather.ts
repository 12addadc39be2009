/**
 * The demo's weather service: a file of irradiance runs in the data dir, one run every six hours with the quarter hours of
 * the next two and a half days: the measured series that the plant replays (config/demo/series/NOTICE.md), with the errors of a
 * weather forecast, which grow with the lead. They are made up, and the same for a run however often it is written.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { SeededStream } from '../base/seeded.ts';
import { formatTimestamp } from '../base/timestamp.ts';
import { type ReplaySeries, readSeries, seriesValueAt } from '../devices/simulated/series.ts';
import type { Site } from '../site/site.ts';

const quarterMs = 900_000;
const issueEveryMs = 6 * 3_600_000;
/** Two days back, so that a cutoff of yesterday has a run too. */
const runsKept = 9;
const stepsAhead = 240;
/** Standard deviation of the error, as a share of the irradiance: of the first quarter hour, and from a day ahead on. */
const errorAtFirst = 0.05;
const errorLater = 0.25;
/** Correlation of the errors of neighbouring quarter hours: clouds stay for hours. */
const errorKept = 0.95;
/** Bound of the error factor in either direction. */
const errorFactors = { low: 0.3, high: 1.7 } as const;
const dayQuarters = 96;
/** How often to check whether a new run is due; far less than the time between two. */
const lookEveryMs = 60_000;

/** Writes the runs that have been issued, and each later one when it is due, until the process ends. */
export function startDemoWeather(site: Site, configDir: string, dataDir: string, log: Log): void {
  const channel = site.channels.find((candidate) => candidate.driver === 'simulated');
  if (channel?.driver !== 'simulated' || channel.irradiance_series === undefined) return;
  const file = channel.irradiance_series;
  const series = readSeries(readFileSync(join(configDir, file), 'utf8'), file, site.timezone);
  let issuedMs = 0;
  const look = (): void => {
    const dueMs = Math.floor(systemClock.wallMs() / issueEveryMs) * issueEveryMs;
    if (dueMs > issuedMs) {
      try {
        publish(join(dataDir, 'demo-irradiance.json'), runsUpTo(dueMs, series, site.timezone));
        issuedMs = dueMs;
      } catch (error) {
        // The next check tries again; until then the task uses its fallback.
        log.warn('cannot write the irradiance runs', { error: String(error) });
      }
    }
    systemClock.after(lookEveryMs, look);
  };
  look();
}

function runsUpTo(newestMs: number, series: ReplaySeries, timezone: string) {
  const runs = Array.from({ length: runsKept }, (_, index) => {
    const issuedMs = newestMs - (runsKept - 1 - index) * issueEveryMs;
    const times = Array.from({ length: stepsAhead }, (_value, step) => issuedMs + (step + 1) * quarterMs);
    const factors = forecastErrors(issuedMs);
    const irradiance = (atMs: number, step: number): number =>
      Math.max(0, seriesValueAt(series, atMs, timezone)) * (factors[step] ?? 1);
    return {
      issued_at: formatTimestamp(issuedMs),
      watermark: formatTimestamp(issuedMs),
      valid_times: times.map(formatTimestamp),
      fields: {
        irradiance: {
          unit: 'W/m2',
          values: times.map((atMs, step) => Math.round(irradiance(atMs, step) * 10) / 10),
          quality: times.map(() => 'good'),
        },
      },
    };
  });
  return { schema: 'svc.covariate-runs.v1', runs };
}

/** One factor per quarter hour. */
export function forecastErrors(issuedMs: number): readonly number[] {
  const stream = new SeededStream(Math.floor(issuedMs / issueEveryMs));
  // Uniform random numbers with variance 1.
  const shock = (): number => Math.sqrt(12) * (stream.next() - 0.5);
  let error = shock();
  return Array.from({ length: stepsAhead }, (_, step) => {
    error = errorKept * error + Math.sqrt(1 - errorKept ** 2) * shock();
    const size = errorAtFirst + (errorLater - errorAtFirst) * Math.min(1, step / dayQuarters);
    return Math.min(errorFactors.high, Math.max(errorFactors.low, 1 + size * error));
  });
}

/** Replaced atomically, because it may be read at any time. */
function publish(file: string, content: object): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(content)}\n`);
  renameSync(`${file}.new`, file);
}
