/**
 * A run in the page: the server's own compiler and executor on typed values, with a command port that sends nothing. It returns
 * the record that the server would have written [rules §7.4].
 */
import { createArbiter } from '../../../src/rules/arbiter.ts';
import { type CompiledRule, compileRule } from '../../../src/rules/compile.ts';
import { createPlan } from '../../../src/rules/evaluate.ts';
import { executeRule } from '../../../src/rules/executor.ts';
import type { ExecutionRecord } from '../../../src/rules/record.ts';
import { createRuleState, type RuleState } from '../../../src/rules/state.ts';
import type { Topology } from '../../../src/rules/topology.ts';
import { type Trigger, triggerKind } from '../../../src/rules/trigger/index.ts';
import { effectiveTrigger } from '../../../src/rules/trigger/parse.ts';
import type { SiteCatalogue } from '../../../src/site/catalogue.ts';
import type { CommandPort } from '../../../src/site/command-port.ts';
import { quality } from '../../../src/site/quality.ts';
import { createSnapshot } from '../../../src/site/snapshot.ts';

export interface TrialRule {
  readonly compiled: CompiledRule;
  /** The memory of its functions between evaluations. */
  readonly state: RuleState;
  readonly points: number;
}

export interface TrialInput {
  /** Value by point index; null or absent is a point without a usable value. */
  readonly values: ReadonlyMap<number, number | null>;
  /** The moment of the run: a label, and what functions of the time see. */
  readonly wallMs: number;
  /** The moment for functions that measure time between runs. */
  readonly monotonicMs: number;
}

export interface TrialSource {
  readonly id: number;
  readonly revision: number;
  readonly priority: number;
  readonly cooldownMs: number;
  readonly trigger: Trigger | null;
}

/** Throws where the topology does not fit the catalogue; one that the parser let through does. */
export function prepareTrial(source: TrialSource, topology: Topology, catalogue: SiteCatalogue): TrialRule {
  const { id, revision, priority } = source;
  const trigger = effectiveTrigger(source.trigger, source.cooldownMs);
  const periodMs = triggerKind(trigger.type).periodMs(trigger, 0);
  const compiled = compileRule({ id, revision, priority, periodMs }, topology, catalogue);
  return { compiled, state: createRuleState(compiled), points: catalogue.points.length };
}

export function evaluateTrial(rule: TrialRule, input: TrialInput): ExecutionRecord {
  const snapshot = createSnapshot(rule.points);
  snapshot.wallMs = input.wallMs;
  snapshot.monotonicMs = input.monotonicMs;
  for (const [index, value] of input.values) {
    if (value === null) continue;
    snapshot.values[index] = value;
    snapshot.quality[index] = quality.good;
    snapshot.observedMs[index] = input.monotonicMs;
  }
  const arbiter = createArbiter();
  arbiter.beginCycle(snapshot);
  const port: CommandPort = { submit: () => 'accepted' };
  return executeRule(rule.compiled, snapshot, rule.state, arbiter, port, createPlan(), {
    executionId: 'trial',
    correlationId: 'trial',
    trigger: { type: 'manual' },
    startedAt: new Date(input.wallMs).toISOString(),
    durationUs: () => 0,
  });
}
