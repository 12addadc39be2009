/**
 * The demo's past (decisions §1, Commands): what its recorded points would have shown before the service ran, from the
 * measured series that the simulated plant replays, shifted as the plant shifts them. Before the first start the plant
 * stands still: the battery rests, the generator is off. Before a later start only what follows from the series is known.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../base/fault.ts';
import { readSeries, type Series, valueAt } from '../devices/driver/series.ts';
import { initialPlant, stepPlant } from '../devices/driver/simulated-model.ts';
import type { SeriesId } from '../historian/historian.ts';
import type { HistoryColumns } from '../historian/recorder-protocol.ts';
import type { SimulatedAddress, SimulatedChannel, SimulatedSignal } from '../points/channel.ts';
import type { Site, SitePoint } from '../points/site.ts';
import type { ServiceHistory } from './history.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** Five weeks for models that look back so far, and some more. */
const backfillDays = 40;

/** Signals that do not depend on what was commanded. */
const replayed: readonly SimulatedSignal[] = ['load_kw', 'pv_available_kw', 'pv_kw'];
/** A meter begins to count when it is put in. */
const neverFilled: SimulatedSignal = 'load_energy_kwh';

interface Filled {
  readonly point: SitePoint;
  readonly signal: SimulatedSignal;
}

/** Fills each point's history from its newest row, at most `backfillDays` back, to `untilMs`, a value a minute. */
export async function fillDemoHistory(
  history: ServiceHistory,
  site: Site,
  configDir: string,
  untilMs: number,
): Promise<void> {
  for (const [position, channel] of site.channels.entries()) {
    if (channel.driver !== 'simulated') continue;
    const series = (file: string): Series =>
      readSeries(readFileSync(join(configDir, file), 'utf8'), file, site.timezone);
    const plant = {
      channel,
      load: series(channel.load_series),
      pv: series(channel.pv_series),
      timezone: site.timezone,
    };
    for (const { point, signal } of filledPoints(site, position)) {
      const id = { instance: point.instance, point: point.id };
      const newestMs = newestBefore(history, id, untilMs);
      if (newestMs !== null && !replayed.includes(signal)) continue;
      const columns = columnsOf(plant, point, signal, newestMs ?? untilMs - backfillDays * dayMs, untilMs);
      if (columns.eventMs.length > 0) await history.recording.append([columns]);
    }
  }
}

/** What forecasts read comes first. */
function filledPoints(site: Site, channel: number): Filled[] {
  const filled = site.points
    .filter((point) => point.channel === channel && point.record && point.kind === 'measurement')
    .map((point): Filled => ({ point, signal: (point.address as SimulatedAddress).signal }))
    .filter(({ signal }) => signal !== neverFilled);
  const first = filled.filter(({ signal }) => replayed.includes(signal));
  return [...first, ...filled.filter((each) => !first.includes(each))];
}

/** Event time of the newest number of the series before `untilMs`, as far back as is filled. */
function newestBefore(history: ServiceHistory, series: SeriesId, untilMs: number): number | null {
  try {
    const snapshot = history.reader.snapshot();
    try {
      const asOfMs = Math.floor(untilMs / minuteMs) * minuteMs;
      const read = (atMs: number, cadenceMs: number) =>
        snapshot.window({
          series,
          asOfMs: atMs,
          cadenceMs,
          steps: 1,
          aggregation: 'last',
          duplicatePolicy: 'latest',
          maxSourceSkewMs: Number.POSITIVE_INFINITY,
        }).watermarkMs;
      return read(untilMs, minuteMs) ?? read(asOfMs, backfillDays * dayMs);
    } finally {
      snapshot.close();
    }
  } catch (error) {
    // There is no store before the first rows.
    if (error instanceof Fault && error.code === 'source-unavailable') return null;
    throw error;
  }
}

interface Plant {
  readonly channel: SimulatedChannel;
  readonly load: Series;
  readonly pv: Series;
  readonly timezone: string;
}

/** Values on whole minutes in (afterMs, untilMs). */
function columnsOf(
  plant: Plant,
  point: SitePoint,
  signal: SimulatedSignal,
  afterMs: number,
  untilMs: number,
): HistoryColumns {
  const firstMs = (Math.floor(afterMs / minuteMs) + 1) * minuteMs;
  const count = Math.max(0, Math.ceil((untilMs - firstMs) / minuteMs));
  const eventMs = Float64Array.from({ length: count }, (_, index) => firstMs + index * minuteMs);
  const values = eventMs.map((atMs) => signalAt(plant, signal, atMs) * point.scale + point.offset);
  return { series: { instance: point.instance, point: point.id }, eventMs, values };
}

function signalAt({ channel, load, pv, timezone }: Plant, signal: SimulatedSignal, wallMs: number): number {
  const inputs = {
    loadKw: Math.max(0, valueAt(load, wallMs, timezone)),
    pvAvailableKw: Math.max(0, valueAt(pv, wallMs, timezone)),
  };
  return stepPlant(initialPlant(channel), channel, inputs, 0).signals[signal];
}
