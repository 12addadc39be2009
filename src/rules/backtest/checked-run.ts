/**
 * The stored rule compared with its recorded runs [rules §10.3]. The order of a value and a run within one tick is not recorded: if a
 * run's record contains a value from within a tick of it, the run saw that one. The simulation therefore stays slightly
 * behind the values.
 */
import type { CompiledRule } from '../compile.ts';
import { type Agreement, AgreementCheck, isSame, type RecordedRun } from './agreement.ts';
import { type RunnableRule, type SampledValue, Simulation, type SimulationParts } from './simulation.ts';

interface CheckedRunParts extends Omit<SimulationParts, 'onRun' | 'seen' | 'memories' | 'fromMs'> {
  /** By time; at least one. */
  readonly recorded: readonly RecordedRun[];
  readonly differencesMax: number;
}

/** Maximum distance between a recorded and a simulated run of one moment. */
function toleranceMs({ scheduled: { trigger } }: RunnableRule, tickMs: number): number {
  return trigger.type === 'interval' ? Math.max(tickMs, trigger.interval_ms / 2) : Math.max(tickMs, 1000);
}

export class CheckedRun {
  readonly #parts;
  readonly #check: AgreementCheck;
  readonly #simulation: Simulation;
  readonly #delayMs: number;
  readonly #names: ReadonlyMap<number, string>;
  /** Values that the simulation has not taken yet, and those that its next runs may have seen. */
  #waiting: { readonly atMs: number; readonly values: readonly SampledValue[] }[] = [];
  readonly #near = new Map<number, SampledValue[]>();

  constructor(parts: CheckedRunParts) {
    this.#parts = parts;
    const { compiled, recorded, limits } = parts;
    const tolerance = toleranceMs(parts, limits.tick_interval_ms);
    this.#delayMs = tolerance + limits.tick_interval_ms;
    this.#check = new AgreementCheck(compiled, recorded, tolerance, parts.differencesMax);
    this.#names = new Map(compiled.readPoints.map(({ pointIndex, name }) => [pointIndex, name]));
    const [first] = recorded;
    if (first === undefined) throw new Error('nothing was recorded');
    this.#simulation = new Simulation({
      ...parts,
      fromMs: Date.parse(first.started_at),
      memories: memoriesAfter(compiled, first, parts.catalogue.timezone),
      seen: (atMs, index) => this.#seen(atMs, index),
      taken: (atMs, run, plan) => this.#check.taken(atMs, run, plan),
      onRun: (atMs, run, plan) => this.#check.add(atMs, run, plan),
    });
  }

  evaluations(): number {
    return this.#simulation.evaluations();
  }

  take(atMs: number, current: readonly SampledValue[]): void {
    // The caller reuses its list.
    const values = current.map((value) => ({ ...value }));
    this.#waiting.push({ atMs, values });
    for (const value of values) {
      const near = this.#near.get(value.index) ?? [];
      near.push(value);
      this.#near.set(value.index, near);
    }
    this.#drain(atMs - this.#delayMs);
  }

  end(toMs: number): Agreement {
    this.#drain(toMs);
    this.#simulation.runUntil(toMs);
    return this.#check.end();
  }

  #drain(untilMs: number): void {
    const ready = this.#waiting.findIndex(({ atMs }) => atMs > untilMs);
    const taken = ready === -1 ? this.#waiting.splice(0) : this.#waiting.splice(0, ready);
    for (const { atMs, values } of taken) this.#simulation.take(atMs, values);
    const last = taken.at(-1);
    if (last === undefined) return;
    for (const near of this.#near.values()) {
      // Including the previous one.
      const kept = near.findIndex(({ atMs }) => atMs >= last.atMs - this.#delayMs);
      near.splice(0, Math.max(0, kept - 1));
    }
  }

  #seen(atMs: number, index: number): number | undefined {
    const name = this.#names.get(index);
    const recorded = name === undefined ? null : this.#check.expected(atMs);
    if (recorded === null || name === undefined) return undefined;
    const value = recorded.variable_values[name];
    if (value === undefined || value === null) return undefined;
    const startedMs = Date.parse(recorded.started_at);
    const tickMs = this.#parts.limits.tick_interval_ms;
    const near = this.#near.get(index) ?? [];
    const stood = near.some(
      (sample, position) =>
        sample.atMs <= startedMs + tickMs &&
        (near[position + 1]?.atMs ?? Number.POSITIVE_INFINITY) >= startedMs - tickMs &&
        isSame(sample.value, value),
    );
    return stood ? value : undefined;
  }
}

/** State derived from a recorded run. */
function memoriesAfter(
  { recalls }: CompiledRule,
  { variable_values: values, started_at: at }: RecordedRun,
  timezone: string,
): ReadonlyMap<number, readonly number[]> {
  return new Map(
    recalls.flatMap(({ site, input, output, memoryAfter }): [number, readonly number[]][] => {
      const [read, computed] = [values[input], values[output]];
      if (typeof read !== 'number' || typeof computed !== 'number') return [];
      return [[site, memoryAfter(read, computed, Date.parse(at), timezone)]];
    }),
  );
}
