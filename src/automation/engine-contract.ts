/**
 * The messages between the main thread and the engine (ARCHITECTURE.md, "Threads"): plain data, the same for the worker and for
 * its in-process twin. Points are named, never numbered: the engine may run on another machine.
 */

import type { NumberedSample } from '../points/numbering.ts';
import type { Grant } from '../rules/authority.ts';
import type { ExecutionRecord, Outcome } from '../rules/record.ts';
import type { Parameter, PointRef } from '../site/catalogue.ts';
import type { AppliedGrant, PointAuthority } from './authority-keeper.ts';
import type { EngineMeasures } from './engine-metrics.ts';
import type { RuleTrouble, TroubleQuestion } from './rule-troubles.ts';
import type { EndedGrant } from './store/authority-store.ts';

/** A rule in shadow is run and recorded, and commands nothing [rules §1.6]. */
export type RuleMode = 'live' | 'shadow';

/** The part of a stored rule that the engine needs. Texts are the columns as stored. */
export interface EngineRule {
  readonly id: number;
  readonly revision: number;
  readonly enabled: boolean;
  readonly mode: RuleMode;
  readonly priority: number;
  readonly cooldown_ms: number;
  readonly trigger_config: string | null;
  readonly nodes_json: string;
}

/** Rules to be compiled before they become part of the set. */
export interface StagedRules {
  readonly rows: readonly EngineRule[];
  /** Rules that the engine holds and that are recompiled, because parameters change. */
  readonly ids?: readonly number[];
  readonly parameters?: Readonly<Record<string, Parameter>>;
}

/** A change of the rule set. Rules that it does not name are not changed, so its cost depends mostly on the rules that it names. */
export interface RuleSetChange {
  /** New rules, and rules that are held in another revision. Each was staged. */
  readonly ids: readonly number[];
  readonly removed: readonly number[];
  /** More rules will follow: stored states without a rule are kept for now. */
  readonly partial?: boolean;
  /** Present if the site's parameters were read again. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
}

/** A change with the rows that it names. */
export interface RuleRowsChange extends Omit<RuleSetChange, 'ids'> {
  readonly changed: readonly EngineRule[];
}

export type RuleFailureCode = 'no-runnable-flow' | 'invalid-flow' | 'invalid-trigger';

export interface ReloadReport {
  readonly rules_loaded: number;
  readonly rules_failed: readonly { readonly id: number; readonly code: RuleFailureCode }[];
}

/** The reason why a rule does not run now, or a problem of a running rule. */
export interface RuleReason {
  readonly code: string;
  /** With `takes-turns`: the action point, and the rules that write it in turns with this one. */
  readonly instance?: number;
  readonly point?: string;
  readonly rule_ids?: readonly number[];
}

/** Wire form of `GET /api/rules/{id}/status` [rules §2.6]. */
export interface RuleStatus {
  readonly rule_id: number;
  readonly enabled: boolean;
  readonly mode: RuleMode;
  readonly runnable: boolean;
  readonly state: 'waiting' | 'cooldown' | 'disabled' | 'not-runnable';
  readonly reasons: readonly RuleReason[];
  readonly last_run: LastRun | null;
  readonly next_due_at: string | null;
  readonly cooldown_until: string | null;
  readonly points: readonly {
    readonly instance: number;
    readonly point_type: 'measurement' | 'action';
    readonly point: number;
    readonly last_value: number | null;
    readonly current_value: number | null;
    readonly distance: number | null;
    readonly threshold: number | null;
    readonly gap: boolean;
  }[];
}

export interface LastRun {
  readonly execution_id: string;
  readonly started_at: string;
  readonly outcome: Outcome;
}

/** Counters of the engine since it started; times in milliseconds. */
export interface EngineStatus {
  readonly running: boolean;
  readonly total_rules: number;
  readonly enabled_rules: number;
  readonly runnable_rules: number;
  readonly rules_failed: readonly { readonly id: number; readonly code: RuleFailureCode }[];
  readonly tick_interval_ms: number;
  readonly ticks: number;
  readonly late_ticks: number;
  readonly overruns: number;
  readonly max_lateness_ms: number;
  readonly event_cycles: number;
  readonly executions: number;
  readonly queue_depth: number;
  readonly max_queue_depth: number;
  readonly last_cycle_ms: number;
  readonly torn_snapshots: number;
  readonly records_waiting: number;
  readonly records_dropped: number;
}

/** An enabled rule that writes a point. */
export interface PointWriter {
  readonly rule_id: number;
  readonly point: PointRef;
}

/** A point without a usable value, and the enabled rules that read it and are skipped meanwhile. */
export interface UnusableInput {
  readonly point: PointRef;
  /** How many rules. */
  readonly rules: number;
  /** The first of them, at most `readersNamed`. */
  readonly rule_ids: readonly number[];
}

/** Rules that an answer names for each unusable input: one input may be that of thousands. */
export const readersNamed = 5;

/** A manual execution. It starts before its deadline or not at all [rules §2.5]. */
export interface ExecuteOrder {
  readonly ruleId: number;
  readonly correlationId: string;
  /** Monotonic milliseconds of this process. */
  readonly untilMs: number;
}

/** A grant is applied before its deadline or not at all. */
interface GrantOrder {
  readonly grant: Grant;
  /** Monotonic milliseconds of this process. */
  readonly untilMs: number;
}

/** The process for which an engine acts on a shared site; null if the site is not shared. */
export interface EngineTerm {
  readonly epoch: number | null;
}

export type EngineMethods = {
  /** Compiles rules in bounded turns; ticks continue meanwhile. */
  readonly stage: (rules: StagedRules) => null;
  /** Before `adopt` the rules are only compiled. */
  readonly reload: (change: RuleSetChange) => ReloadReport;
  /** Before `adopt`: a dry run of it, so that its code is loaded and compiled in advance. */
  readonly rehearse: (question: null) => null;
  /** Reads the stored states of the rules, which only this engine writes from now on. Runs no rule. */
  readonly adopt: (term: EngineTerm) => ReloadReport;
  /** From now on rules run. */
  readonly run: (question: null) => null;
  readonly execute: (order: ExecuteOrder) => ExecutionRecord;
  readonly explain: (question: { readonly ruleIds: readonly number[] }) => (RuleStatus | null)[];
  /** As `explain`, as JSON lines: one text crosses threads faster than many objects. */
  readonly explainAsText: (question: { readonly ruleIds: readonly number[] }) => string;
  readonly status: (question: null) => EngineStatus;
  readonly measures: (question: null) => EngineMeasures;
  /** Stores the pending runs of a rule; false if the store did not accept them. */
  readonly settle: (question: { readonly ruleId: number }) => boolean;
  /** Enabled rules that write any of `points`. */
  readonly writers: (question: { readonly points: readonly PointRef[] }) => PointWriter[];
  /** Enabled rules that trigger each other in a cycle with this one, in that order; null without a cycle. */
  readonly writeCycle: (question: { readonly ruleId: number }) => readonly number[] | null;
  /** Enabled rules whose last runs all failed, or were all skipped. */
  readonly troubles: (question: TroubleQuestion) => RuleTrouble[];
  /** Inputs of enabled rules that are not usable now, each rule by its own maximum age. Not those of channels that are offline. */
  readonly unusableInputs: (question: null) => UnusableInput[];
  /** Action points whose last command was not carried out, of channels that are online. */
  readonly failedCommands: (question: null) => PointRef[];
  /** Sets the rules whose records the main thread receives as they happen. */
  readonly watch: (question: { readonly ruleIds: readonly number[] }) => null;
  /** Stores and applies an override or a limit. */
  readonly grant: (order: GrantOrder) => AppliedGrant;
  /** Ends an override or a limit; null if no grant with this id is in force. */
  readonly release: (order: { readonly id: string }) => Grant | null;
  /** Removes grants whose end is recorded. */
  readonly forget: (order: { readonly ids: readonly string[] }) => null;
  readonly grants: (question: null) => readonly Grant[];
  /** The authority over these action points; null for one that the engine does not have. */
  readonly authority: (question: { readonly points: readonly PointRef[] }) => (PointAuthority | null)[];
  /** Live values and channels now, null if no consistent copy was possible; `known` is the digest of the reader's numbering. */
  readonly sample: (question: { readonly known: string }) => NumberedSample;
  /** Stops the ticks and stores pending executions; returns the number that could not be stored. */
  readonly drain: (question: null) => number;
  /** Spools these rows, one file per call, which bounds the time of a call; returns the number of rows left. */
  readonly keep: (question: null) => number;
  /** The last call. */
  readonly close: (question: null) => null;
};

/** Methods that read only: an error in one answers 500 and the engine continues [rules §2.6]. */
export const engineQuestions = [
  'explain',
  'explainAsText',
  'status',
  'measures',
  'settle',
  'writers',
  'writeCycle',
  'troubles',
  'unusableInputs',
  'failedCommands',
  'grants',
  'authority',
  'sample',
  'watch',
] as const satisfies readonly (keyof EngineMethods)[];

/** Methods that the main thread passes through unchanged. */
export type AskedMethod =
  | 'explain'
  | 'explainAsText'
  | 'writers'
  | 'writeCycle'
  | 'troubles'
  | 'unusableInputs'
  | 'failedCommands'
  | 'grants'
  | 'authority'
  | 'release'
  | 'forget'
  | 'sample';

/** Methods that other processes of the site may call on the controlling one. */
export type SharedEngineMethods = Omit<
  EngineMethods,
  'execute' | 'grant' | 'settle' | 'stage' | 'rehearse' | 'adopt' | 'run' | 'drain' | 'keep' | 'close'
> & {
  /** The leader's clock decides when it ends: that of the caller may differ. */
  readonly grant: (order: Omit<GrantOrder, 'untilMs'>) => Partial<AppliedGrant> & Pick<AppliedGrant, 'replaced'>;
  /** Monotonic clocks of two processes are unrelated: the leader sets the deadline of the order. */
  readonly execute: (order: Omit<ExecuteOrder, 'untilMs'>) => ExecutionRecord;
};

export type EngineEvent =
  | { readonly type: 'executions'; readonly records: readonly ExecutionRecord[] }
  | { readonly type: 'grants-ended'; readonly ended: readonly EndedGrant[] };
