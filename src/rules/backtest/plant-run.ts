/**
 * A rule in a closed loop [rules §10.6]: its battery writes change the plant, whose state of charge, power and
 * exchange with the grid are its next inputs. All other inputs are recorded values.
 */
import { Fault } from '../../base/fault.ts';
import { type BatteryFacts, type PlantEnergies, PlantModel } from './plant-model.ts';
import { type SampledValue, Simulation, type SimulationParts } from './simulation.ts';

/** A point of the plant, and its unit in kW. */
export interface PlantPoint {
  readonly index: number;
  readonly kwPerUnit: number;
}

export interface PlantAssumption {
  readonly battery: BatteryFacts;
  /** In percent; null uses the recorded one at the start of the window. */
  readonly initialSoc: number | null;
  readonly setpoint: PlantPoint;
  /** In percent. */
  readonly soc: number;
  readonly power: PlantPoint | null;
  readonly load: PlantPoint;
  readonly pv: PlantPoint;
  readonly grid: PlantPoint | null;
}

export interface PlantRunParts extends SimulationParts {
  readonly plant: PlantAssumption;
  /** Read interval of the plant's meters. */
  readonly stepMs: number;
  readonly toMs: number;
  /** Maximum number of entries in the list of states of charge. */
  readonly pointsMax: number;
}

export class PlantRun {
  readonly #parts;
  readonly #simulation: Simulation;
  /** Null until the first reading of the plant. */
  #model: PlantModel | null = null;
  #recordedSoc = Number.NaN;
  #inputs;
  #stepMs: number;
  #shownMs = Number.NEGATIVE_INFINITY;
  #shown: readonly SampledValue[] = [];
  /** Time of the last write to the setpoint. */
  #commandedMs = Number.POSITIVE_INFINITY;
  readonly #soc: { readonly atMs: number; readonly value: number }[] = [];
  readonly #socEveryMs: number;

  constructor(parts: PlantRunParts) {
    this.#parts = parts;
    const { plant, fromMs, toMs, pointsMax } = parts;
    this.#stepMs = fromMs;
    this.#socEveryMs = (toMs - fromMs) / pointsMax;
    this.#inputs = { load: this.#input(plant.load), pv: this.#input(plant.pv) };
    const setpoint = parts.catalogue.points[plant.setpoint.index];
    this.#simulation = new Simulation({
      ...parts,
      onRun: (atMs, run, plan) => {
        for (const { instance, point, written } of run.actions)
          if (written !== undefined && instance === setpoint?.instance && point === setpoint.point)
            this.#command(atMs, written);
        parts.onRun(atMs, run, plan);
      },
    });
  }

  warmAtMs(): number | null {
    return this.#simulation.warmAtMs();
  }

  evaluations(): number {
    return this.#simulation.evaluations();
  }

  take(atMs: number, values: readonly SampledValue[]): void {
    this.runUntil(atMs);
    const { soc, power, grid, load, pv, setpoint } = this.#parts.plant;
    const modelled = [soc, power?.index, grid?.index, setpoint.index];
    for (const value of values) {
      if (value.index === soc && this.#model === null) this.#recordedSoc = value.value;
      if (value.index === load.index) this.#inputs.load.take(atMs, value.value);
      if (value.index === pv.index) this.#inputs.pv.take(atMs, value.value);
    }
    this.#feed(atMs);
    // At one moment the plant's meters are read first: a rule that is triggered then reads all of them.
    if (this.#stepMs === atMs) this.#nextStep();
    this.#simulation.take(
      atMs,
      values.filter(({ index }) => !modelled.includes(index)),
    );
  }

  runUntil(endMs: number): void {
    while (this.#stepMs < endMs) this.#nextStep();
    this.#simulation.runUntil(endMs);
  }

  /** States of charge over the window, evenly spaced, and the energies up to its end. */
  end(): {
    readonly soc: readonly { readonly atMs: number; readonly value: number }[];
    readonly energies: PlantEnergies;
    readonly unknownMs: number;
  } {
    const { toMs } = this.#parts;
    const model = this.#model ?? this.#begin(toMs);
    model.advance(toMs);
    return { soc: this.#soc, energies: model.energies(), unknownMs: model.unknownMs() };
  }

  #input({ index, kwPerUnit }: PlantPoint): PlantInput {
    const { catalogue, recordIntervalMs } = this.#parts;
    return new PlantInput(kwPerUnit, recordIntervalMs + (catalogue.points[index]?.maxAgeMs ?? 0));
  }

  #begin(atMs: number): PlantModel {
    const { battery, initialSoc } = this.#parts.plant;
    const soc = initialSoc ?? this.#recordedSoc;
    if (!Number.isFinite(soc))
      throw new Fault(
        'invalid-input',
        'body /assume/battery/initial_soc: no state of charge was recorded at from; give the one to begin with',
      );
    const model = new PlantModel(battery, soc, atMs);
    this.#model = model;
    this.#feed(atMs);
    return model;
  }

  #feed(atMs: number): void {
    const { load, pv } = this.#inputs;
    this.#model?.setInputs(atMs, load.kwAt(atMs), pv.kwAt(atMs));
  }

  #command(atMs: number, value: number): void {
    this.#commandedMs = atMs;
    this.#model?.command(atMs, value * this.#parts.plant.setpoint.kwPerUnit);
  }

  /** Advances the plant to its next step, and updates its meters. */
  #nextStep(): void {
    const atMs = this.#stepMs;
    this.#simulation.runUntil(atMs);
    this.#stepMs = atMs + this.#parts.stepMs;
    const model = this.#model ?? this.#begin(atMs);
    this.#letGo(atMs);
    this.#feed(atMs);
    model.advance(atMs);
    const last = this.#soc.at(-1);
    if (last === undefined || atMs - last.atMs >= this.#socEveryMs) this.#soc.push({ atMs, value: model.socPercent() });
    const readings = this.#readings(atMs, model);
    // As the recorder does: on a change, and once per interval.
    const isSame = readings.every(({ value }, position) => Object.is(value, this.#shown[position]?.value));
    if (isSame && atMs - this.#shownMs < this.#parts.recordIntervalMs) return;
    this.#shownMs = atMs;
    this.#shown = readings;
    this.#simulation.take(atMs, readings);
  }

  #readings(atMs: number, model: PlantModel): SampledValue[] {
    const { soc, power, grid } = this.#parts.plant;
    const reading = (index: number, value: number): SampledValue => ({ atMs, index, value, isUncertain: false });
    return [
      reading(soc, model.socPercent()),
      ...(power === null ? [] : [reading(power.index, model.batteryKw() / power.kwPerUnit)]),
      ...(grid === null ? [] : [reading(grid.index, model.gridKw() / grid.kwPerUnit)]),
    ];
  }

  /** The device layer's safe value, if no command came for too long. */
  #letGo(atMs: number): void {
    const { catalogue, plant } = this.#parts;
    const { holdMaxMs, safeValue } = catalogue.points[plant.setpoint.index] ?? {};
    if (holdMaxMs === undefined || safeValue === undefined || atMs - this.#commandedMs <= holdMaxMs) return;
    this.#model?.command(this.#commandedMs + holdMaxMs, safeValue * plant.setpoint.kwPerUnit);
    this.#commandedMs = Number.POSITIVE_INFINITY;
  }
}

/** A recorded power used unchanged; unknown when its row is no longer valid. */
class PlantInput {
  readonly #kwPerUnit: number;
  readonly #standsMs: number;
  #atMs = Number.NEGATIVE_INFINITY;
  #kw = Number.NaN;

  constructor(kwPerUnit: number, standsMs: number) {
    this.#kwPerUnit = kwPerUnit;
    this.#standsMs = standsMs;
  }

  take(atMs: number, value: number): void {
    this.#atMs = atMs;
    this.#kw = value * this.#kwPerUnit;
  }

  kwAt(atMs: number): number {
    return atMs - this.#atMs > this.#standsMs ? Number.NaN : this.#kw;
  }
}
