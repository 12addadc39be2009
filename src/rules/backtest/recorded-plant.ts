/**
 * The assumed battery on the recorded commands [rules §10.6]: the error of its state of charge against the recorded one. This
 * error bounds the trust in a backtest of the plant.
 */
import type { SiteCatalogue } from '../../site/catalogue.ts';
import { PlantModel } from './plant-model.ts';
import type { PlantAssumption } from './plant-run.ts';
import type { SampledValue } from './simulation.ts';

export interface RecordedPlantParts {
  readonly plant: PlantAssumption;
  readonly catalogue: SiteCatalogue;
  readonly recordIntervalMs: number;
}

export class RecordedPlant {
  readonly #plant: PlantAssumption;
  readonly #setpointStandsMs: number;
  readonly #safeKw: number | null;
  readonly #socStandsMs: number;
  #model: PlantModel | null = null;
  #socMs = Number.NEGATIVE_INFINITY;
  #commandedMs = Number.POSITIVE_INFINITY;
  #setpointKw = Number.NaN;
  #error: number | null = null;

  constructor({ plant, catalogue, recordIntervalMs }: RecordedPlantParts) {
    this.#plant = plant;
    const { holdMaxMs, safeValue } = catalogue.points[plant.setpoint.index] ?? {};
    // A row is written for each change, and once in an interval while the point is commanded again.
    this.#setpointStandsMs = holdMaxMs === undefined ? Number.POSITIVE_INFINITY : holdMaxMs + recordIntervalMs;
    this.#safeKw = safeValue === undefined ? null : safeValue * plant.setpoint.kwPerUnit;
    this.#socStandsMs = recordIntervalMs + (catalogue.points[plant.soc]?.maxAgeMs ?? 0);
  }

  take(atMs: number, values: readonly SampledValue[]): void {
    this.#expire(atMs);
    for (const { index, value } of values) {
      if (index === this.#plant.setpoint.index && Number.isFinite(value)) this.#command(atMs, value);
      if (index === this.#plant.soc && Number.isFinite(value)) this.#compare(atMs, value);
    }
  }

  /** The largest difference in percent of the capacity; null if commands or states of charge were not recorded. */
  error(): number | null {
    return this.#error;
  }

  #command(atMs: number, value: number): void {
    this.#commandedMs = atMs;
    this.#setpointKw = value * this.#plant.setpoint.kwPerUnit;
    this.#model?.command(atMs, this.#setpointKw);
  }

  #expire(atMs: number): void {
    const endMs = this.#commandedMs + this.#setpointStandsMs;
    if (this.#safeKw === null || atMs <= endMs) return;
    this.#model?.command(endMs, this.#safeKw);
    this.#setpointKw = this.#safeKw;
    this.#commandedMs = Number.POSITIVE_INFINITY;
  }

  #compare(atMs: number, soc: number): void {
    const isGap = atMs - this.#socMs > this.#socStandsMs;
    this.#socMs = atMs;
    // Before the first command, and over a gap, the battery's power is unknown.
    if (Number.isNaN(this.#setpointKw)) return;
    if (this.#model === null || isGap) {
      this.#model = new PlantModel(this.#plant.battery, soc, atMs);
      this.#model.command(atMs, this.#setpointKw);
      return;
    }
    this.#model.advance(atMs);
    this.#error = Math.max(this.#error ?? 0, Math.abs(this.#model.socPercent() - soc));
  }
}
