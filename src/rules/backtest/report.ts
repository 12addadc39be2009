/** What a backtest adds up over the runs of one rule [rules §10.1]. */
import { timeLabel } from '../../base/timestamp.ts';
import type { CompiledRule } from '../compile.ts';
import type { Plan } from '../evaluate.ts';
import type { RuleRun } from '../executor.ts';
import type { Outcome } from '../record.ts';
import { outputOf } from '../run-record.ts';

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

interface GrowingSeries extends WriteSeries {
  readonly changes: WriteChange[];
  counted: number;
}

interface Decision {
  readonly from: string;
  to: string;
  readonly node_id: string;
  readonly output: string;
}

export interface TotalledRuns {
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Accepted writes whose value differs from the one before; `counted` are all accepted ones. */
  readonly writes: readonly WriteSeries[];
  /** Which output each decision took, from the first run that took it to the last one in a row. */
  readonly decisions: readonly Decision[];
  /** By decision and output, of all evaluations. */
  readonly outputs_share: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** A list had more entries than were asked for; its first and last and those between at even distances are given. */
  readonly isThinned: boolean;
}

export class RunTotals {
  readonly #rule: CompiledRule;
  readonly #outcomes: Record<Outcome, number> = { acted: 0, no_action: 0, skipped: 0, failed: 0 };
  readonly #writes = new Map<string, GrowingSeries>();
  readonly #last = new Map<string, number>();
  readonly #decisions: Decision[] = [];
  readonly #open = new Map<string, Decision>();
  readonly #outputs = new Map<string, Map<string, number>>();
  #evaluations = 0;

  constructor(rule: CompiledRule) {
    this.#rule = rule;
  }

  add(atMs: number, { outcome, actions }: RuleRun, plan: Plan): void {
    this.#evaluations++;
    this.#outcomes[outcome]++;
    for (const { instance, point, written } of actions)
      if (written !== undefined) this.#wrote(atMs, instance, point, written);
    for (let index = 0; index < plan.pathLength; index++) {
      const taken = outputOf(this.#rule, plan, index);
      if (taken !== null) this.#decided(atMs, taken.nodeId, taken.output);
    }
  }

  totals(entriesMax: number): TotalledRuns {
    const share = (count: number): number => count / this.#evaluations;
    const writes = [...this.#writes.values()];
    const lists = [this.#decisions, ...writes.map(({ changes }) => changes)];
    return {
      outcomes: this.#outcomes,
      writes: writes.map((series) => ({ ...series, changes: thinned(series.changes, entriesMax) })),
      decisions: thinned(this.#decisions, entriesMax),
      outputs_share: Object.fromEntries(
        [...this.#outputs].map(([node, outputs]) => [
          node,
          Object.fromEntries([...outputs].map(([output, count]) => [output, share(count)])),
        ]),
      ),
      isThinned: lists.some(({ length }) => length > entriesMax),
    };
  }

  #wrote(atMs: number, instance: number, point: number, value: number): void {
    const key = `${instance}:${point}`;
    const series = this.#writes.get(key) ?? { instance, point, changes: [], counted: 0 };
    this.#writes.set(key, series);
    series.counted++;
    if (this.#last.get(key) === value) return;
    this.#last.set(key, value);
    series.changes.push({ at: timeLabel(atMs), value });
  }

  #decided(atMs: number, nodeId: string, output: string): void {
    const outputs = this.#outputs.get(nodeId) ?? new Map<string, number>();
    this.#outputs.set(nodeId, outputs);
    outputs.set(output, (outputs.get(output) ?? 0) + 1);
    const at = timeLabel(atMs);
    const open = this.#open.get(nodeId);
    if (open?.output === output) {
      open.to = at;
      return;
    }
    const decision = { from: at, to: at, node_id: nodeId, output };
    this.#open.set(nodeId, decision);
    this.#decisions.push(decision);
  }
}

function thinned<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  if (most === 1) return list.slice(0, 1);
  return Array.from({ length: most }, (_, index) => list[Math.round((index * (list.length - 1)) / (most - 1))] as T);
}
