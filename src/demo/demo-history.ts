/**
 * The demo's past [platform §1.2]: what its recorded points would have shown before the service ran, from the
 * measured series that the simulated plant replays, shifted as the plant shifts them. Before the first start the plant
 * is at rest: the battery is idle, the generator is off. Before a later start only what follows from the series is known.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { minuteMs } from '../base/timestamp.ts';
import type { ServiceHistory } from '../bin/history.ts';
import { plantInputs } from '../devices/driver/simulated.ts';
import { type ReplaySeries, readSeries } from '../devices/simulated/series.ts';
import { initialPlant, stepPlant } from '../devices/simulated/simulated-model.ts';
import type { SeriesId } from '../historian/historian.ts';
import type { SimulatedAddress, SimulatedChannel, SimulatedSignal } from '../site/protocol/simulated.ts';
import { engineeringValue } from '../site/scaling.ts';
import type { Site, SitePoint } from '../site/site.ts';

/** Five weeks, the longest look back of a model, and a margin. */
const backfillMinutes = 40 * 1440;
/** Computed at a time, so that requests are answered in between, and stored in one transaction. */
const portionMinutes = 5 * 1440;

/** Signals that do not depend on commands; first the one whose forecast needs the most history. */
const replayed: readonly SimulatedSignal[] = ['load_kw', 'pv_available_kw', 'irradiance_w_m2', 'pv_kw'];
/** A meter counts from when it is installed. */
const neverFilled: SimulatedSignal = 'load_energy_kwh';

interface Filled {
  readonly point: SitePoint;
  readonly signal: SimulatedSignal;
}

/** In a database shared by several processes, this one may have to wait this long for control. */
const fillDeadlineMs = 60_000;
const fillRetryMs = 500;

/**
 * Fills the minutes before `untilMs` in which a point has no value with one value each, as far back as models look. Points that
 * forecasts read come first. Filled minutes are skipped, so it can be repeated until all is stored.
 */
export async function fillDemoHistory(
  history: ServiceHistory,
  site: Site,
  configDir: string,
  untilMs: number,
): Promise<void> {
  const endMs = systemClock.monotonicMs() + fillDeadlineMs;
  for (;;) {
    try {
      await fillMissing(history, site, configDir, untilMs);
      return;
    } catch (error) {
      if (!(error instanceof Fault && error.retryable) || systemClock.monotonicMs() > endMs) throw error;
      await sleep(systemClock, fillRetryMs);
    }
  }
}

async function fillMissing(history: ServiceHistory, site: Site, configDir: string, untilMs: number): Promise<void> {
  for (const [position, channel] of site.channels.entries()) {
    if (channel.driver !== 'simulated') continue;
    const series = (file: string): ReplaySeries =>
      readSeries(readFileSync(join(configDir, file), 'utf8'), file, site.timezone);
    const plant = {
      channel,
      load: series(channel.load_series),
      pv: series(channel.pv_series),
      irradiance: channel.irradiance_series === undefined ? null : series(channel.irradiance_series),
      timezone: site.timezone,
    };
    for (const { point, signal } of filledPoints(site, position)) {
      const id = { instance: point.instance, point: point.id };
      const missing = await missingMinutes(history, id, untilMs);
      // The newest first: if the filling ends early, only older minutes are left.
      const fill = replayed.includes(signal) ? missing.all : missing.beforeFirst;
      for (let end = fill.length; end > 0; end -= portionMinutes) {
        const eventMs = Float64Array.from(fill.slice(Math.max(0, end - portionMinutes), end));
        const values = eventMs.map((atMs) => engineeringValue(signalAt(plant, signal, atMs), point));
        await history.recording.append([{ series: id, eventMs, values }]);
      }
    }
  }
}

/** In the order in which they are filled. */
function filledPoints(site: Site, channel: number): Filled[] {
  const filled = site.points
    .filter((point) => point.channel === channel && point.record && point.kind === 'measurement')
    .map((point): Filled => ({ point, signal: (point.address as SimulatedAddress).signal }))
    .filter(({ signal }) => signal !== neverFilled);
  const rank = (signal: SimulatedSignal): number =>
    replayed.includes(signal) ? replayed.indexOf(signal) : replayed.length;
  return filled.toSorted((one, other) => rank(one.signal) - rank(other.signal));
}

interface MissingMinutes {
  readonly all: readonly number[];
  /** Those before the first minute that has a value. */
  readonly beforeFirst: readonly number[];
}

/** Ends of the minutes for which the series has no number. */
async function missingMinutes(history: ServiceHistory, series: SeriesId, untilMs: number): Promise<MissingMinutes> {
  const asOfMs = Math.floor(untilMs / minuteMs) * minuteMs;
  const cells = await cellsOf(history, series, asOfMs);
  const all = Array.from(cells, (value, index) =>
    Number.isNaN(value) ? asOfMs - (backfillMinutes - 1 - index) * minuteMs : null,
  ).filter((endMs) => endMs !== null);
  const first = cells.findIndex((value) => !Number.isNaN(value));
  return { all, beforeFirst: first < 0 ? all : all.slice(0, first) };
}

async function cellsOf(history: ServiceHistory, series: SeriesId, asOfMs: number): Promise<Float64Array> {
  try {
    const snapshot = await history.reader.snapshot([series]);
    try {
      const { cells } = await snapshot.window({
        series,
        asOfMs,
        cadenceMs: minuteMs,
        steps: backfillMinutes,
        aggregation: 'last',
        duplicatePolicy: 'latest',
        maxSourceSkewMs: Number.POSITIVE_INFINITY,
      });
      return cells;
    } finally {
      await snapshot.close();
    }
  } catch (error) {
    // There is no store before the first rows.
    if (error instanceof Fault && error.code === 'source-unavailable')
      return new Float64Array(backfillMinutes).fill(Number.NaN);
    throw error;
  }
}

interface Plant {
  readonly channel: SimulatedChannel;
  readonly load: ReplaySeries;
  readonly pv: ReplaySeries;
  readonly irradiance: ReplaySeries | null;
  readonly timezone: string;
}

function signalAt(plant: Plant, signal: SimulatedSignal, wallMs: number): number {
  const { channel } = plant;
  return stepPlant(initialPlant(channel), channel, plantInputs(plant, wallMs), 0).signals[signal];
}
