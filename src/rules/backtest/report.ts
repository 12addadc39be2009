/** Totals over the runs of one rule in a backtest [rules §10.1]. */
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

/** Labels of times are made at the end: most of them are never read. */
interface GrowingSeries extends Pick<WriteSeries, 'instance' | 'point'> {
  readonly changes: { readonly atMs: number; readonly value: number }[];
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
  readonly #decisions: OpenDecision[] = [];
  /** By node: what it decided at last. */
  readonly #open = new Map<string, OpenDecision>();
  readonly #outputs = new Map<string, Map<string, { count: number }>>();
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
      writes: writes.map(({ instance, point, counted, changes }) => ({
        instance,
        point,
        changes: thinned(changes, entriesMax).map(({ atMs, value }) => ({ at: timeLabel(atMs), value })),
        counted,
      })),
      decisions: thinned(this.#decisions, entriesMax).map(({ fromMs, toMs, node_id, output }) => ({
        from: timeLabel(fromMs),
        to: timeLabel(toMs),
        node_id,
        output,
      })),
      outputs_share: Object.fromEntries(
        [...this.#outputs].map(([node, outputs]) => [
          node,
          Object.fromEntries([...outputs].map(([output, { count }]) => [output, share(count)])),
        ]),
      ),
      isThinned: lists.some(({ length }) => length > entriesMax),
    };
  }

  #wrote(atMs: number, instance: number, point: number, value: number): void {
    const key = `${instance}:${point}`;
    const series = this.#writes.get(key) ?? { instance, point, changes: [], counted: 0 };
    if (series.counted === 0) this.#writes.set(key, series);
    series.counted++;
    if (series.changes.at(-1)?.value !== value) series.changes.push({ atMs, value });
  }

  #decided(atMs: number, nodeId: string, output: string): void {
    const open = this.#open.get(nodeId);
    if (open?.output === output) {
      open.toMs = atMs;
      open.share.count++;
      return;
    }
    const outputs = this.#outputs.get(nodeId) ?? new Map<string, { count: number }>();
    this.#outputs.set(nodeId, outputs);
    const share = outputs.get(output) ?? { count: 0 };
    outputs.set(output, share);
    share.count++;
    const decision = { fromMs: atMs, toMs: atMs, node_id: nodeId, output, share };
    this.#open.set(nodeId, decision);
    this.#decisions.push(decision);
  }
}

function thinned<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  if (most === 1) return list.slice(0, 1);
  return Array.from({ length: most }, (_, index) => list[Math.round((index * (list.length - 1)) / (most - 1))] as T);
}
