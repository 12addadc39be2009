/**
 * The rules that the engine holds: compiled form, run-time state, schedule. A change is made in one turn, its cost depends mostly on
 * the rules that it names, and it does not affect the state of any other rule [rules §6.4], [rules §3.4].
 */
import { timeLabel } from '../base/timestamp.ts';
import type { CompiledRule } from '../rules/compile.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import type { RuleExplanation } from '../rules/scheduled-rule.ts';
import type { Scheduler } from '../rules/scheduler.ts';
import {
  carryRuleState,
  createRuleState,
  exportRuleState,
  type RuleState,
  restoreRuleState,
  urgentRuleState,
} from '../rules/state.ts';
import { writeCycle } from '../rules/write-cycle.ts';
import { type PointFacts, type PointRef, pointRefOf, type SiteCatalogue } from '../site/catalogue.ts';
import { type Snapshot, usable } from '../site/snapshot.ts';
import {
  type EngineRule,
  type EngineStatus,
  type LastRun,
  type PointWriter,
  type ReloadReport,
  type RuleFailureCode,
  type RuleRowsChange,
  type RuleStatus,
  readersNamed,
  type UnusableInput,
} from './engine-contract.ts';
import type { LoadedRule } from './loaded-rule.ts';

interface LiveRule extends LoadedRule {
  readonly state: RuleState | null;
  /** For a rule that does not compile now: its last state, in stored form. */
  readonly kept: unknown;
  /** Shared by all versions of one rule. */
  readonly memory: { lastRun: LastRun | null };
}

export interface RuleSet {
  readonly scheduler: Scheduler;
  get(ruleId: number): LoadedRule | undefined;
  /** The parts that execution needs; asking for a rule that cannot run is a bug. */
  runnable(ruleId: number): { compiled: CompiledRule; state: RuleState; isShadow: boolean };
  /** `edited` are existing rules with a new revision; `removed` are deleted or disabled ones. */
  change(change: RuleRowsChange): { report: ReloadReport; edited: number[]; removed: number[] };
  /** Notes the run; true if it repeats the outcome `no_action` or `skipped` of the run before. */
  finished(ruleId: number, record: ExecutionRecord): boolean;
  explain(ruleId: number, snapshot: Snapshot): RuleStatus | null;
  counts(): Pick<EngineStatus, 'total_rules' | 'enabled_rules' | 'runnable_rules' | 'rules_failed'>;
  writers(points: readonly PointRef[]): PointWriter[];
  writeCycle(ruleId: number): readonly number[] | null;
  unusableInputs(snapshot: Snapshot, isOnline: (pointIndex: number) => boolean): UnusableInput[];
  /** Durable state of one rule as JSON text, null if the rule is not loaded. */
  exportState(ruleId: number): string | null;
  /** The part of it that must be stored at once when it changes [rules §5.2]. */
  urgentState(ruleId: number): string;
  /** Whether the rule has memories that a run may change. */
  remembers(ruleId: number): boolean;
}

/** The stored state of a rule between two starts of the engine. */
interface StoredState {
  readonly trigger: string;
  readonly schedule: unknown;
  readonly execution: unknown;
  readonly last_run: LastRun | null;
}

export interface RuleSetParts {
  readonly scheduler: Scheduler;
  /** The site's catalogue with the given parameters. */
  readonly catalogueWith: (parameters: RuleRowsChange['parameters']) => SiteCatalogue;
  readonly load: (row: EngineRule, catalogue: SiteCatalogue) => LoadedRule;
  readonly limits: { readonly state_flush_ms: number };
  /** States stored by an earlier run, as JSON texts. */
  readonly stored: ReadonlyMap<number, string>;
  readonly now: () => { monotonicMs: number; wallMs: number };
}

export function createRuleSet(parts: RuleSetParts): RuleSet {
  const { scheduler, now, load } = parts;
  const stored = new Map(parts.stored);
  let catalogue = parts.catalogueWith(undefined);
  const rules = new Map<number, LiveRule>();
  /** Of the enabled rules. */
  const failed = new Map<number, RuleFailureCode>();
  let enabled = 0;

  const fresh = (loaded: LoadedRule): { rule: LiveRule; saved: StoredState | null } => {
    const saved = readStored(stored.get(loaded.row.id));
    const memory = { lastRun: saved?.last_run ?? null };
    return { rule: { ...loaded, ...remembered(loaded, saved?.execution ?? null), memory }, saved };
  };
  const carried = (loaded: LoadedRule, old: LiveRule): LiveRule => {
    const { memory, compiled, state } = old;
    if (loaded.compiled !== null && compiled !== null && state !== null)
      return { ...loaded, state: carryRuleState(state, compiled, loaded.compiled), kept: null, memory };
    return { ...loaded, ...remembered(loaded, storedMemory(old)), memory };
  };

  const drop = (id: number): void => {
    if (rules.get(id)?.row.enabled === true) enabled--;
    failed.delete(id);
    rules.delete(id);
  };
  const put = (id: number, rule: LiveRule): void => {
    drop(id);
    rules.set(id, rule);
    if (!rule.row.enabled) return;
    enabled++;
    if (rule.failure !== null) failed.set(id, rule.failure);
  };
  const failures = (): EngineStatus['rules_failed'] =>
    [...failed].map(([id, code]) => ({ id, code })).toSorted((a, b) => a.id - b.id);

  return {
    scheduler,
    get: (ruleId) => rules.get(ruleId),
    runnable(ruleId) {
      const rule = rules.get(ruleId);
      if (rule === undefined || rule.compiled === null || rule.state === null)
        throw new Error(`rule ${ruleId} cannot run`);
      return { compiled: rule.compiled, state: rule.state, isShadow: rule.row.mode === 'shadow' };
    },
    change({ changed, removed, partial, parameters }) {
      // Other parameters compile every rule again.
      const rows = new Map(parameters === undefined ? [] : [...rules].map(([id, { row }]) => [id, row]));
      if (parameters !== undefined) catalogue = parts.catalogueWith(parameters);
      for (const row of changed) rows.set(row.id, row);
      for (const id of removed) rows.delete(id);
      const gone = removed.filter((id) => rules.has(id));
      for (const id of gone) drop(id);

      const restored = new Map<number, StoredState>();
      const edited: number[] = [];
      for (const [id, row] of rows) {
        const old = rules.get(id);
        const loaded = load(row, catalogue);
        if (old !== undefined) {
          put(id, carried(loaded, old));
          if (row !== old.row) edited.push(id);
          continue;
        }
        const { rule, saved } = fresh(loaded);
        put(id, rule);
        if (saved !== null) restored.set(id, saved);
        stored.delete(id);
      }
      const schedules = [...rows.keys()].flatMap((id) => rules.get(id)?.scheduled ?? []);
      scheduler.change(schedules, gone);
      const { monotonicMs, wallMs } = now();
      for (const [id, saved] of restored) {
        const sameTrigger = saved.trigger === rules.get(id)?.scheduled.triggerText;
        scheduler.restoreState(id, saved.schedule, sameTrigger, monotonicMs, wallMs);
      }
      // States of rules that were deleted while the engine was down are not needed.
      const unclaimed = partial === true ? [] : [...stored.keys()];
      for (const id of unclaimed) stored.delete(id);
      const report = { rules_loaded: enabled - failed.size, rules_failed: failures() };
      return { report, edited, removed: [...gone, ...unclaimed] };
    },
    finished(ruleId, record) {
      const rule = rules.get(ruleId);
      if (rule === undefined) throw new Error(`rule ${ruleId} ran but is not loaded`);
      const before = rule.memory.lastRun?.outcome;
      const { execution_id, started_at, outcome } = record;
      rule.memory.lastRun = { execution_id, started_at, outcome };
      return outcome === before && (outcome === 'no_action' || outcome === 'skipped');
    },
    explain(ruleId, snapshot) {
      const rule = rules.get(ruleId);
      if (rule === undefined) return null;
      return statusOf(rule, scheduler.explain(ruleId, snapshot), snapshot);
    },
    counts: () => ({
      total_rules: rules.size,
      enabled_rules: enabled,
      runnable_rules: enabled - failed.size,
      rules_failed: failures(),
    }),
    writers: (points) =>
      [...rules.values()].flatMap(({ row, compiled }) => {
        if (!commands(row) || compiled === null) return [];
        const written = new Set(compiled.writtenPoints);
        return points
          .filter((point) => written.has(catalogue.point(point)?.index ?? -1))
          .map((point) => ({ rule_id: row.id, point }));
      }),
    unusableInputs(snapshot, isOnline) {
      const found = new Map<number, { rules: number; last: number; rule_ids: number[] }>();
      for (const { row, compiled } of rules.values()) {
        if (!row.enabled) continue;
        for (const { pointIndex, maxAgeMs } of compiled?.readPoints ?? []) {
          if (usable(snapshot, pointIndex, maxAgeMs) || !isOnline(pointIndex)) continue;
          const input = found.get(pointIndex) ?? { rules: 0, last: 0, rule_ids: [] };
          found.set(pointIndex, input);
          // A rule may read a point in several nodes.
          if (input.last === row.id) continue;
          input.last = row.id;
          input.rules++;
          if (input.rule_ids.length < readersNamed) input.rule_ids.push(row.id);
        }
      }
      return [...found].map(([index, { rules: count, rule_ids }]) => ({
        point: pointRefOf(catalogue.points[index] as PointFacts),
        rules: count,
        rule_ids,
      }));
    },
    writeCycle: (ruleId) =>
      writeCycle(
        ruleId,
        [...rules.values()].flatMap(({ row, compiled, scheduled }) =>
          commands(row) && compiled !== null && scheduled.points.length > 0
            ? [{ id: row.id, startedBy: scheduled.points.map(({ index }) => index), writes: compiled.writtenPoints }]
            : [],
        ),
      ),
    exportState(ruleId) {
      const rule = rules.get(ruleId);
      if (rule === undefined) return null;
      const { monotonicMs, wallMs } = now();
      const state: StoredState = {
        trigger: rule.scheduled.triggerText,
        schedule: scheduler.exportState(ruleId, monotonicMs, wallMs),
        execution: storedMemory(rule),
        last_run: rule.memory.lastRun,
      };
      return JSON.stringify(state);
    },
    remembers: (ruleId) => rules.get(ruleId)?.compiled?.sites.length !== 0,
    urgentState(ruleId) {
      const rule = rules.get(ruleId);
      if (rule === undefined) return '';
      const memory = rule.compiled === null || rule.state === null ? '' : urgentRuleState(rule.compiled, rule.state);
      return scheduler.urgentState(ruleId, parts.limits.state_flush_ms) + memory;
    },
  };
}

/** A rule in shadow writes nothing. */
function commands({ enabled, mode }: EngineRule): boolean {
  return enabled && mode === 'live';
}

/** The state with which a rule continues that `kept` was stored for; it is kept while the rule does not compile. */
function remembered({ compiled }: LoadedRule, kept: unknown): Pick<LiveRule, 'state' | 'kept'> {
  if (compiled === null) return { state: null, kept };
  return { state: kept === null ? createRuleState(compiled) : restoreRuleState(compiled, kept), kept: null };
}

function storedMemory({ compiled, state, kept }: LiveRule): unknown {
  return compiled === null || state === null ? kept : exportRuleState(compiled, state);
}

function statusOf(rule: LiveRule, explained: RuleExplanation, snapshot: Snapshot): RuleStatus {
  const label = (monotonicMs: number | null): string | null =>
    monotonicMs === null ? null : timeLabel(snapshot.wallMs + monotonicMs - snapshot.monotonicMs);
  return {
    rule_id: rule.row.id,
    enabled: rule.row.enabled,
    mode: rule.row.mode,
    runnable: rule.failure === null,
    state: explained.state,
    reasons: rule.failure === null ? explained.reasons : [{ code: rule.failure }],
    last_run: rule.memory.lastRun,
    next_due_at: label(explained.next_due_at_ms),
    cooldown_until: label(explained.cooldown_until_ms),
    points: explained.points.map(({ ref, ...point }) => ({
      instance: ref.instance,
      point_type: ref.point_type,
      point: ref.point,
      ...point,
    })),
  };
}

/** A state written by this file; anything else (an older layout, a damaged row) is ignored. */
function readStored(text: string | undefined): StoredState | null {
  if (text === undefined) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isStoredState(value) ? value : null;
  } catch {
    return null;
  }
}

function isStoredState(value: unknown): value is StoredState {
  return (
    typeof value === 'object' &&
    value !== null &&
    'trigger' in value &&
    typeof value.trigger === 'string' &&
    'schedule' in value &&
    'execution' in value &&
    'last_run' in value
  );
}
