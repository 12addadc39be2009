/**
 * Driver `simulated` [points §3.3]: the plant model, stepped in real time, times `speed`. Its state is stored in a file
 * so that the next start continues where this one stopped.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Timer } from '../../base/clock.ts';
import { signalOf } from '../../site/address.ts';
import type { SimulatedChannel, SimulatedSignal } from '../../site/protocol/simulated.ts';
import { quality } from '../../site/quality.ts';
import type { Driver, DriverContext } from '../driver.ts';
import { type ReplaySeries, seriesValueAt } from '../simulated/series.ts';
import {
  commandPlant,
  initialPlant,
  type PlantInputs,
  type PlantState,
  stepPlant,
} from '../simulated/simulated-model.ts';

export interface SimulatedOptions {
  readonly timezone: string;
  readonly load: ReplaySeries;
  readonly pv: ReplaySeries;
  /** Null: the plant has no pyranometer. */
  readonly irradiance: ReplaySeries | null;
  /** File of the state. */
  readonly stateFile: string;
}

/** Interval at which the state is written, in milliseconds. */
const saveIntervalMs = 10_000;

export function createSimulatedDriver(
  channel: SimulatedChannel,
  options: SimulatedOptions,
  context: DriverContext,
): Driver {
  return new SimulatedDriver(channel, options, context);
}

class SimulatedDriver implements Driver {
  readonly #options: SimulatedOptions;
  readonly #context: DriverContext;
  readonly #channel: SimulatedChannel;
  readonly #clock;
  readonly #signals;
  readonly #startWallMs;
  #state;
  #lastMs;
  readonly #startMs;
  #savedMs;
  #timer: Timer | undefined;

  constructor(channel: SimulatedChannel, options: SimulatedOptions, context: DriverContext) {
    this.#options = options;
    this.#context = context;
    this.#channel = channel;
    const { clock } = context;
    this.#clock = clock;
    this.#signals = new Map(context.points.map((point) => [point.index, signalOf(point)]));
    this.#startWallMs = this.#clock.wallMs();
    this.#state = storedPlant(options.stateFile, channel) ?? initialPlant(channel);
    this.#lastMs = this.#clock.monotonicMs();
    this.#startMs = this.#lastMs;
    this.#savedMs = this.#lastMs;
  }

  start() {
    this.#context.setOnline(true);
    this.#tick();
  }

  wake() {
    let commanded = false;
    for (let command = this.#context.nextCommand(); command !== null; command = this.#context.nextCommand()) {
      this.#state = commandPlant(this.#state, this.#signalAt(command.index), command.value);
      this.#context.commandDone(command, null);
      commanded = true;
    }
    if (commanded) this.#advance();
  }

  async stop() {
    this.#timer?.cancel();
    this.#context.setOnline(false);
    this.#save();
  }

  #signalAt(index: number): SimulatedSignal {
    const signal = this.#signals.get(index);
    if (signal === undefined) throw new Error(`point ${index} is of another channel`);
    return signal;
  }

  #save(): void {
    try {
      savePlant(this.#options.stateFile, this.#state);
    } catch (error) {
      // A full disk costs the plant its stored state, but does not stop it.
      this.#context.log.warn('cannot store the plant state', {
        reason: error instanceof Error ? error.message : 'unknown',
      });
    }
  }

  #advance(): void {
    const nowMs = this.#clock.monotonicMs();
    // Simulated wall time: advances from the start's hour at `speed`; jumps of the wall clock are ignored.
    const simulatedMs = this.#startWallMs + (nowMs - this.#startMs) * this.#channel.speed;
    const next = stepPlant(
      this.#state,
      this.#channel,
      plantInputs(this.#options, simulatedMs),
      ((nowMs - this.#lastMs) / 1000) * this.#channel.speed,
    );
    this.#state = next.state;
    this.#lastMs = nowMs;
    this.#context.publish(
      this.#context.points.map((point) => {
        const raw = next.signals[this.#signalAt(point.index)];
        return { index: point.index, raw, quality: Number.isFinite(raw) ? quality.good : quality.missing };
      }),
    );
    if (nowMs - this.#savedMs >= saveIntervalMs) {
      this.#savedMs = nowMs;
      this.#save();
    }
  }

  readonly #tick = (): void => {
    this.#advance();
    this.#timer = this.#clock.after(this.#channel.step_interval_ms, this.#tick);
  };
}

/** The values of the series at a moment. */
export function plantInputs(
  { load, pv, irradiance, timezone }: Omit<SimulatedOptions, 'stateFile'>,
  wallMs: number,
): PlantInputs {
  const at = (series: ReplaySeries): number => Math.max(0, seriesValueAt(series, wallMs, timezone));
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

/** Null if there is no state or it is invalid: the plant is only a simulation and starts from scratch. */
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
