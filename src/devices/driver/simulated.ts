/**
 * Driver `simulated` [points §3.3]: the plant model stepped in real time, times `speed`. Its state is kept in a file
 * so that a second start continues where the first one stopped.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Timer } from '../../base/clock.ts';
import { signalOf } from '../../site/address.ts';
import type { SimulatedChannel, SimulatedSignal } from '../../site/protocol/simulated.ts';
import { quality } from '../../site/quality.ts';
import type { Driver, DriverContext } from '../driver.ts';
import { type Series, valueAt } from './series.ts';
import { commandPlant, initialPlant, type PlantInputs, type PlantState, stepPlant } from './simulated-model.ts';

export interface SimulatedOptions {
  readonly timezone: string;
  readonly load: Series;
  readonly pv: Series;
  /** Null: the plant has no pyranometer. */
  readonly irradiance: Series | null;
  /** Where the state is kept. */
  readonly stateFile: string;
}

/** How often the state is written, in milliseconds. */
const saveIntervalMs = 10_000;

export function createSimulatedDriver(
  channel: SimulatedChannel,
  options: SimulatedOptions,
  context: DriverContext,
): Driver {
  const { clock } = context;
  const signals = new Map(context.points.map((point) => [point.index, signalOf(point)]));
  const signalAt = (index: number): SimulatedSignal => {
    const signal = signals.get(index);
    if (signal === undefined) throw new Error(`point ${index} is of another channel`);
    return signal;
  };
  const startWallMs = clock.wallMs();
  let state = storedPlant(options.stateFile, channel) ?? initialPlant(channel);
  let lastMs = clock.monotonicMs();
  const startMs = lastMs;
  let savedMs = lastMs;
  let timer: Timer | undefined;

  const save = (): void => {
    try {
      savePlant(options.stateFile, state);
    } catch (error) {
      // A full disk costs the plant its memory, not its life.
      context.log.warn('the plant state was not stored', {
        reason: error instanceof Error ? error.message : 'unknown',
      });
    }
  };
  const advance = (): void => {
    const nowMs = clock.monotonicMs();
    // Simulated wall time: true pace from the start's hour, times the speed; a wall clock that jumps is not followed.
    const simulatedMs = startWallMs + (nowMs - startMs) * channel.speed;
    const next = stepPlant(
      state,
      channel,
      plantInputs(options, simulatedMs),
      ((nowMs - lastMs) / 1000) * channel.speed,
    );
    state = next.state;
    lastMs = nowMs;
    context.publish(
      context.points.map((point) => {
        const raw = next.signals[signalAt(point.index)];
        return { index: point.index, raw, quality: Number.isFinite(raw) ? quality.good : quality.missing };
      }),
    );
    if (nowMs - savedMs >= saveIntervalMs) {
      savedMs = nowMs;
      save();
    }
  };
  const tick = (): void => {
    advance();
    timer = clock.after(channel.step_interval_ms, tick);
  };
  return {
    start() {
      context.setOnline(true);
      tick();
    },
    wake() {
      let commanded = false;
      for (let command = context.nextCommand(); command !== null; command = context.nextCommand()) {
        state = commandPlant(state, signalAt(command.index), command.value);
        context.commandDone(command.index, true);
        commanded = true;
      }
      if (commanded) advance();
    },
    async stop() {
      timer?.cancel();
      context.setOnline(false);
      save();
    },
  };
}

/** What the series say at a moment. */
export function plantInputs(
  { load, pv, irradiance, timezone }: Omit<SimulatedOptions, 'stateFile'>,
  wallMs: number,
): PlantInputs {
  const at = (series: Series): number => Math.max(0, valueAt(series, wallMs, timezone));
  return {
    loadKw: at(load),
    pvAvailableKw: at(pv),
    irradianceWM2: irradiance === null ? Number.NaN : at(irradiance),
  };
}

function savePlant(file: string, state: PlantState): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(state)}\n`);
  renameSync(`${file}.new`, file);
}

/** Null when there is none yet, or when it is not one of ours: the plant is only a simulation and starts afresh. */
function storedPlant(file: string, settings: SimulatedChannel): PlantState | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (!isPlantState(value)) return null;
    // The site may have a smaller battery by now.
    return { ...value, socKwh: Math.min(settings.battery.capacity_kwh, Math.max(0, value.socKwh)) };
  } catch {
    return null;
  }
}

const stateNumbers = ['socKwh', 'batteryKw', 'gensetKw', 'gensetRunSeconds', 'loadEnergyKwh', 'setpointKw'] as const;

function isPlantState(value: unknown): value is PlantState {
  if (typeof value !== 'object' || value === null) return false;
  const limit: unknown = Reflect.get(value, 'pvLimitKw');
  return (
    stateNumbers.every((name) => Number.isFinite(Reflect.get(value, name))) &&
    (limit === null || Number.isFinite(limit)) &&
    typeof Reflect.get(value, 'gensetRun') === 'boolean'
  );
}
