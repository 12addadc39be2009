/** Totals over the runs of one rule in a backtest [rules §10.1]. */
import { timeLabel } from '../../base/timestamp.ts';
import type { PointFacts } from '../../site/catalogue.ts';
import type { CompiledRule, Trail } from '../compile.ts';
import type { Plan } from '../evaluate.ts';
import type { RuleRun } from '../executor.ts';
import type { Outcome } from '../record.ts';
import { outputOf, trailOf } from '../run-record.ts';

interface WriteChange {
  readonly at: string;
  readonly value: number;
}

interface WriteSeries {
  readonly instance: number;
  readonly point: number;
  readonly changes: readonly WriteChange[];
  readonly counted: number;
}

/** Time labels are made at the end: most of them are never read. */
interface GrowingSeries extends Pick<WriteSeries, 'instance' | 'point'> {
  readonly changes: Changes;
  counted: number;
}

interface OpenDecision extends Pick<Decision, 'node_id' | 'output'> {
  readonly fromMs: number;
  toMs: number;
  readonly share: { count: number };
}

interface Decision {
  readonly from: string;
  readonly to: string;
  readonly node_id: string;
  readonly output: string;
}

export interface TotalledRuns {
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Accepted writes with changed values; `counted` are all accepted ones. */
  readonly writes: readonly WriteSeries[];
  /** The output of each decision over time, from the first to the last consecutive run with it. */
  readonly decisions: readonly Decision[];
  /** By decision and output, of all evaluations. */
  readonly outputs_share: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** A list had more entries than requested; its first and last ones are returned, and others at even distances. */
  readonly isThinned: boolean;
}

export class RunTotals {
  readonly #rule: CompiledRule;
  readonly #outcomes: Record<Outcome, number> = { acted: 0, no_action: 0, skipped: 0, failed: 0 };
  /** The outcome of the last consecutive runs, and their number. */
  #outcome: Outcome = 'no_action';
  #outcomeRuns = 0;
  readonly #writes: GrowingSeries[] = [];
  /** By point index. */
  readonly #writesOf: (GrowingSeries | undefined)[] = [];
  readonly #decisions: OpenDecision[] = [];
  /** By node: its last decision. */
  readonly #open = new Map<string, OpenDecision>();
  readonly #outputs = new Map<string, Map<string, { count: number }>>();
  /** The trail of the last consecutive runs, the time of the last one, their number, and their decisions. */
  #trail: Trail | null = null;
  #alongMs = Number.NaN;
  #along = 0;
  #taken: readonly OpenDecision[] = [];
  #evaluations = 0;

  constructor(rule: CompiledRule) {
    this.#rule = rule;
  }

  /** Adds `count` runs that differ only in their times, the last one at `atMs`. */
  add(atMs: number, { outcome, actions }: RuleRun, plan: Plan, count = 1): void {
    this.#evaluations += count;
    if (outcome !== this.#outcome) this.#ended(outcome);
    this.#outcomeRuns += count;
    for (let index = 0; index < actions.length; index++) {
      const written = actions[index]?.written;
      const write = plan.writes[index];
      if (written !== undefined && write !== undefined) this.#wrote(atMs, write.point, written, count);
    }
    const trail = trailOf(this.#rule, plan);
    if (trail !== this.#trail) {
      this.#countAlong();
      this.#trail = trail;
      this.#taken = this.#decisionsOf(atMs, plan);
    }
    this.#along += count;
    this.#alongMs = atMs;
  }

  totals(entriesMax: number): TotalledRuns {
    this.#countAlong();
    this.#ended(this.#outcome);
    const share = (count: number): number => count / this.#evaluations;
    const lists = [this.#decisions, ...this.#writes.map(({ changes }) => changes)];
    return {
      outcomes: this.#outcomes,
      writes: this.#writes.map(({ instance, point, counted, changes }) => ({
        instance,
        point,
        changes: thinned(changes.length, entriesMax).map((index) => changes.at(index)),
        counted,
      })),
      decisions: thinned(this.#decisions.length, entriesMax).flatMap((index) => {
        const decision = this.#decisions[index];
        if (decision === undefined) return [];
        const { fromMs, toMs, node_id, output } = decision;
        return [{ from: timeLabel(fromMs), to: timeLabel(toMs), node_id, output }];
      }),
      outputs_share: Object.fromEntries(
        [...this.#outputs].map(([node, outputs]) => [
          node,
          Object.fromEntries([...outputs].map(([output, { count }]) => [output, share(count)])),
        ]),
      ),
      isThinned: lists.some(({ length }) => length > entriesMax),
    };
  }

  #wrote(atMs: number, { index, instance, point }: PointFacts, value: number, count: number): void {
    let series = this.#writesOf[index];
    if (series === undefined) {
      series = { instance, point, changes: new Changes(), counted: 0 };
      this.#writesOf[index] = series;
      this.#writes.push(series);
    }
    series.counted += count;
    series.changes.add(atMs, value);
  }

  /** Counts the consecutive runs with one outcome; a run with another one follows. */
  #ended(next: Outcome): void {
    this.#outcomes[this.#outcome] += this.#outcomeRuns;
    this.#outcome = next;
    this.#outcomeRuns = 0;
  }

  /** Adds the consecutive runs to their decisions. */
  #countAlong(): void {
    for (const decision of this.#taken) {
      decision.toMs = this.#alongMs;
      decision.share.count += this.#along;
    }
    this.#along = 0;
  }

  /** The decisions of a run that differs from the previous one. */
  #decisionsOf(atMs: number, plan: Plan): readonly OpenDecision[] {
    const taken: OpenDecision[] = [];
    for (let index = 0; index < plan.pathLength; index++) {
      const output = outputOf(this.#rule, plan, index);
      if (output !== null) taken.push(this.#decided(atMs, output.nodeId, output.output));
    }
    return taken;
  }

  #decided(atMs: number, nodeId: string, output: string): OpenDecision {
    const open = this.#open.get(nodeId);
    if (open?.output === output) return open;
    const outputs = this.#outputs.get(nodeId) ?? new Map<string, { count: number }>();
    this.#outputs.set(nodeId, outputs);
    const share = outputs.get(output) ?? { count: 0 };
    outputs.set(output, share);
    const decision = { fromMs: atMs, toMs: atMs, node_id: nodeId, output, share };
    this.#open.set(nodeId, decision);
    this.#decisions.push(decision);
    return decision;
  }
}

/** Initial size of the columns; it doubles. */
const firstChanges = 1024;

/** Changed values, in columns: there may be millions. */
class Changes {
  #atMs = new Float64Array(firstChanges);
  #values = new Float64Array(firstChanges);
  length = 0;

  add(atMs: number, value: number): void {
    if (this.length > 0 && this.#values[this.length - 1] === value) return;
    if (this.length === this.#atMs.length) {
      this.#atMs = doubled(this.#atMs);
      this.#values = doubled(this.#values);
    }
    this.#atMs[this.length] = atMs;
    this.#values[this.length] = value;
    this.length++;
  }

  at(index: number): WriteChange {
    return { at: timeLabel(this.#atMs[index] ?? Number.NaN), value: this.#values[index] ?? Number.NaN };
  }
}

function doubled(column: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * column.length);
  larger.set(column);
  return larger;
}

/** Positions in a list: all, or the requested number at even distances, including the first and the last. */
function thinned(length: number, most: number): readonly number[] {
  if (length <= most) return Array.from({ length }, (_, index) => index);
  if (most === 1) return [0];
  return Array.from({ length: most }, (_, index) => Math.round((index * (length - 1)) / (most - 1)));
}
