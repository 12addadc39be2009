/**
 * The demo's weather service: a file of irradiance runs in the data dir, one run every six hours with the quarter hours of
 * the next two and a half days, from the measured series that the plant replays (config/demo/series/NOTICE.md).
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { formatTimestamp } from '../base/timestamp.ts';
import { type ReplaySeries, readSeries, seriesValueAt } from '../devices/driver/series.ts';
import type { Site } from '../site/site.ts';

const quarterMs = 900_000;
const issueEveryMs = 6 * 3_600_000;
/** Two days back, so that a cutoff of yesterday has its run too. */
const runsKept = 9;
const stepsAhead = 240;
/** How often a new run may be due; far less than the time between two. */
const lookEveryMs = 60_000;

/** Writes the runs that are issued by now, and each later one in its time, until the process ends. */
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
        // The next look tries again; until then the task falls back on yesterday.
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
    return {
      issued_at: formatTimestamp(issuedMs),
      watermark: formatTimestamp(issuedMs),
      valid_times: times.map(formatTimestamp),
      fields: {
        irradiance: {
          unit: 'W/m2',
          values: times.map((atMs) => Math.round(Math.max(0, seriesValueAt(series, atMs, timezone)) * 10) / 10),
          quality: times.map(() => 'good'),
        },
      },
    };
  });
  return { schema: 'svc.covariate-runs.v1', runs };
}

/** Replaced whole, because it is read at any moment. */
function publish(file: string, content: object): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(content)}\n`);
  renameSync(`${file}.new`, file);
}
