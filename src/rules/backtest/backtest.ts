/**
 * A backtest of one rule [rules §10]: the candidate, the revision that it is compared with, and the running one against its
 * recorded runs, all over the same values. Decisions only: values in, result out; the same values give the same
 * result, byte for byte.
 */
import { timeLabel } from '../../base/timestamp.ts';
import type { SiteCatalogue } from '../../site/catalogue.ts';
import type { CompiledRule } from '../compile.ts';
import { trailOf } from '../run-record.ts';
import type { Agreement, RecordedRun } from './agreement.ts';
import { CheckedRun } from './checked-run.ts';
import { PointCoverage, pointName } from './coverage.ts';
import { Divergence, type FirstDivergence } from './divergence.ts';
import type { PlantEnergies } from './plant-model.ts';
import { type PlantAssumption, PlantRun } from './plant-run.ts';
import { RecordedPlant } from './recorded-plant.ts';
import { RunTotals, type TotalledRuns } from './report.ts';
import { type RunnableRule, type SampledValue, Simulation, type SimulationParts, usedPoints } from './simulation.ts';

export interface RuleBacktestParts {
  readonly candidate: RunnableRule;
  /** The stored rule; null if it has no flow that can run. */
  readonly running: RunnableRule | null;
  /** The rule to compare the candidate with; null if that is the candidate itself. */
  readonly baseline: RunnableRule | null;
  /** Scheduled runs of the running rule in the window, by time. */
  readonly recorded: readonly RecordedRun[];
  readonly catalogue: SiteCatalogue;
  readonly limits: SimulationParts['limits'] & { readonly differences_max: number; readonly plant_step_ms: number };
  readonly recordIntervalMs: number;
  readonly fromMs: number;
  /** The window's end, exclusive. */
  readonly toMs: number;
  /** Maximum number of entries per list. */
  readonly pointsMax: number;
  /** The plant that follows the rule; null if the rule reads recorded values. */
  readonly plant: PlantAssumption | null;
}

/** The plant's response [rules §10.6]. */
interface PlantResult extends PlantEnergies {
  readonly soc: readonly { readonly at: string; readonly value: number }[];
  /** Under the compared rule; null without one. */
  readonly baseline: PlantEnergies | null;
  /** In percent of the capacity; null if it could not be compared. */
  readonly recorded_soc_error: number | null;
}

export interface BacktestResult extends Omit<TotalledRuns, 'isThinned'> {
  readonly evaluations: number;
  readonly agreement: Agreement | null;
  readonly first_divergence: FirstDivergence | null;
  readonly warm_up: { readonly until: string | null; readonly functions: readonly string[] };
  readonly coverage: readonly { readonly point: string; readonly ratio: number; readonly gaps: number }[];
  readonly notes: readonly string[];
  readonly plant: PlantResult | null;
}

/** Maximum difference of the assumed plant from the recorded one without a note, in percent of its capacity. */
const plantErrorMax = 2;

export class Backtest {
  readonly #parts;
  readonly #report: RunTotals;
  /** Null without a baseline. */
  readonly #divergence: Divergence | null;
  readonly #check: CheckedRun | null;
  readonly #candidate: Simulation | PlantRun;
  readonly #baseline: Simulation | PlantRun | null;
  readonly #simulations: readonly (Simulation | PlantRun)[];
  readonly #recordedPlant: RecordedPlant | null;
  readonly #coverage: PointCoverage;

  constructor(parts: RuleBacktestParts) {
    this.#parts = parts;
    const { candidate, running, baseline, recorded, limits, fromMs, toMs, catalogue, recordIntervalMs } = parts;
    this.#report = new RunTotals(candidate.compiled);
    this.#divergence = baseline === null ? null : new Divergence();
    this.#candidate = this.#simulation(candidate, {
      onRun: (atMs, run, plan) => {
        this.#report.add(atMs, run, plan);
        this.#divergence?.note('candidate', atMs, trailOf(candidate.compiled, plan).path, run);
      },
      onRepeated: (lastMs, run, plan, count) => this.#report.add(lastMs, run, plan, count),
    });
    this.#baseline =
      baseline === null
        ? null
        : this.#simulation(baseline, {
            onRun: (atMs, run, plan) =>
              this.#divergence?.note('baseline', atMs, trailOf(baseline.compiled, plan).path, run),
            // Its decisions are unaffected.
            onRepeated: () => undefined,
          });
    this.#check =
      running === null || recorded.length === 0
        ? null
        : new CheckedRun({
            ...running,
            recorded,
            catalogue,
            limits,
            recordIntervalMs,
            differencesMax: limits.differences_max,
          });
    this.#simulations = [this.#candidate, ...(this.#baseline === null ? [] : [this.#baseline])];
    const { plant } = parts;
    this.#recordedPlant = plant === null ? null : new RecordedPlant({ plant, catalogue, recordIntervalMs });
    const standsMs = catalogue.points.map(({ maxAgeMs }) => recordIntervalMs + maxAgeMs);
    this.#coverage = new PointCoverage(fromMs, toMs, standsMs);
  }

  /** Points whose recorded values are needed. */
  points(): readonly number[] {
    const { candidate, running, baseline } = this.#parts;
    const rules = [candidate, running, baseline].filter((rule) => rule !== null);
    const { plant } = this.#parts;
    const ofPlant = plant === null ? [] : [plant.setpoint.index, plant.soc, plant.load.index, plant.pv.index];
    return [...new Set([...rules.flatMap((rule) => [...usedPoints(rule)]), ...ofPlant])].toSorted((a, b) => a - b);
  }

  /** Takes the values of one moment. False if the maximum number of evaluations was exceeded: then stop. */
  take(atMs: number, values: readonly SampledValue[]): boolean {
    for (const simulation of this.#simulations) simulation.take(atMs, values);
    this.#divergence?.settle(atMs);
    this.#check?.take(atMs, values);
    this.#recordedPlant?.take(atMs, values);
    this.#coverage.take(atMs, values);
    return this.#isWithin();
  }

  /** Advances to that moment without new values. */
  runUntil(atMs: number): boolean {
    for (const simulation of this.#simulations) simulation.runUntil(atMs);
    return this.#isWithin();
  }

  end(): BacktestResult {
    const { candidate, catalogue, toMs, pointsMax } = this.#parts;
    this.runUntil(toMs);
    const warmAtMs = this.#candidate.warmAtMs();
    const { isThinned, ...totals } = this.#report.totals(pointsMax);
    const coverage = [...usedPoints(candidate)].map((index) => ({
      point: pointName(catalogue, index),
      ...this.#coverage.end(index),
    }));
    const functions = functionsWithMemory(candidate.compiled);
    const plant = this.#plantResult();
    const notes = [
      'parameters-as-now',
      ...plant.notes,
      ...(isThinned ? ['thinned'] : []),
      ...(coverage.some(({ ratio }) => ratio === 0) ? ['not-recorded'] : []),
      ...(this.#check === null ? ['no-recorded-runs'] : []),
      ...(functions.length > 0 ? ['memory-starts-empty'] : []),
    ];
    return {
      evaluations: this.#candidate.evaluations(),
      ...totals,
      agreement: this.#check?.end(toMs) ?? null,
      first_divergence: this.#divergence?.end() ?? null,
      warm_up: { until: warmAtMs === null ? null : timeLabel(warmAtMs), functions },
      coverage,
      notes: notes.toSorted(),
      plant: plant.result,
    };
  }

  #plantResult(): { readonly result: PlantResult | null; readonly notes: readonly string[] } {
    if (!(this.#candidate instanceof PlantRun) || this.#recordedPlant === null) return { result: null, notes: [] };
    const { soc, energies, unknownMs } = this.#candidate.end();
    const error = this.#recordedPlant.error();
    return {
      result: {
        soc: soc.map(({ atMs, value }) => ({ at: timeLabel(atMs), value })),
        ...energies,
        baseline: this.#baseline instanceof PlantRun ? this.#baseline.end().energies : null,
        recorded_soc_error: error,
      },
      notes: [
        ...(error === null ? ['plant-not-compared'] : error > plantErrorMax ? ['plant-differs'] : []),
        ...(unknownMs > 0 ? ['load-or-pv-missing'] : []),
      ],
    };
  }

  #simulation(
    { scheduled, compiled }: RunnableRule,
    { onRun, onRepeated }: Required<Pick<SimulationParts, 'onRun' | 'onRepeated'>>,
  ): Simulation | PlantRun {
    const { catalogue, limits, recordIntervalMs, plant, fromMs, toMs, pointsMax } = this.#parts;
    const parts = { scheduled, compiled, catalogue, limits, recordIntervalMs, fromMs, onRun };
    if (plant === null) return new Simulation({ ...parts, onRepeated });
    // Its meters change from step to step.
    return new PlantRun({ ...parts, plant, stepMs: limits.plant_step_ms, toMs, pointsMax });
  }

  #isWithin(): boolean {
    const { evaluations_max: most } = this.#parts.limits;
    for (const simulation of this.#simulations) if (simulation.evaluations() > most) return false;
    return this.#check === null || this.#check.evaluations() <= most;
  }
}

export function functionsWithMemory(rule: CompiledRule): string[] {
  return [...new Set(rule.sites.map(({ kind }) => kind))].toSorted();
}
