/**
 * Turns a stored row into a runnable rule, or into the reason why it cannot run ([rules §3.4]: one broken row never stops the
 * others). The row was validated when it was stored; it is validated again here because a file can be edited by hand.
 */
import { atOnce, type Steps } from '../base/turns.ts';
import { type CompiledRule, compileSteps } from '../rules/compile.ts';
import { storedFlowLimits } from '../rules/limits.ts';
import { parseTopologySteps } from '../rules/parse.ts';
import type { ScheduledRule } from '../rules/scheduled-rule.ts';
import { emptyTopologyText } from '../rules/serialise.ts';
import { type Trigger, triggerKind } from '../rules/trigger/index.ts';
import { effectiveTrigger, parseTrigger } from '../rules/trigger/parse.ts';
import type { PointRef, SiteCatalogue } from '../site/catalogue.ts';
import type { EngineRule, RuleFailureCode } from './engine-contract.ts';

export interface LoadedRule {
  readonly row: EngineRule;
  readonly scheduled: ScheduledRule;
  /** Null when the rule cannot run. */
  readonly compiled: CompiledRule | null;
  readonly failure: RuleFailureCode | null;
}

/** Compiles a row. */
export interface RuleLoader {
  load(row: EngineRule, catalogue: SiteCatalogue): LoadedRule;
  /** As `load`, one step per node. */
  steps(row: EngineRule, catalogue: SiteCatalogue): Steps<LoadedRule>;
}

export function ruleLoader(limits: { readonly tick_interval_ms: number }): RuleLoader {
  const steps: RuleLoader['steps'] = (row, catalogue) => loadSteps(row, catalogue, limits.tick_interval_ms);
  return { steps, load: (row, catalogue) => atOnce(steps(row, catalogue)) };
}

function* loadSteps(row: EngineRule, catalogue: SiteCatalogue, tickMs: number): Steps<LoadedRule> {
  const trigger = triggerOf(row, catalogue);
  const compiled = trigger === null ? 'invalid-trigger' : yield* compiledOf(row, trigger, catalogue, tickMs);
  const failure = typeof compiled === 'string' ? compiled : null;
  const effective = trigger ?? effectiveTrigger(null, row.cooldown_ms);
  return {
    row,
    compiled: typeof compiled === 'string' ? null : compiled,
    failure,
    scheduled: {
      id: row.id,
      priority: row.priority,
      enabled: row.enabled,
      runnable: failure === null,
      cooldown_ms: row.cooldown_ms,
      trigger: effective,
      triggerText: JSON.stringify(effective),
      points: subscribedPoints(effective, catalogue),
    },
  };
}

function triggerOf(row: EngineRule, catalogue: SiteCatalogue): Trigger | null {
  if (row.trigger_config === null) return effectiveTrigger(null, row.cooldown_ms);
  const value = parsedJson(row.trigger_config);
  if (value === undefined || value === null) return null;
  const parsed = parseTrigger(value, catalogue);
  return parsed.ok ? effectiveTrigger(parsed.trigger, row.cooldown_ms) : null;
}

function* compiledOf(
  row: EngineRule,
  trigger: Trigger,
  catalogue: SiteCatalogue,
  tickMs: number,
): Steps<CompiledRule | RuleFailureCode> {
  if (row.nodes_json === emptyTopologyText) return 'no-runnable-flow';
  const parsed = yield* parseTopologySteps(parsedJson(row.nodes_json), catalogue, storedFlowLimits);
  if (!parsed.ok) return 'invalid-flow';
  const periodMs = triggerKind(trigger.type).periodMs(trigger, tickMs);
  const source = { id: row.id, revision: row.revision, priority: row.priority, periodMs };
  return yield* compileSteps(source, parsed.topology, catalogue);
}

function subscribedPoints(trigger: Trigger, catalogue: SiteCatalogue): ScheduledRule['points'] {
  return triggerKind(trigger.type)
    .points(trigger)
    .map((ref) => {
      const facts = catalogue.point(ref);
      if (facts === undefined) throw new Error(`a parsed trigger names the unknown point ${pointText(ref)}`);
      return { index: facts.index, maxAgeMs: facts.maxAgeMs, ref };
    });
}

function pointText(ref: PointRef): string {
  return `${ref.instance}:${ref.point_type}:${ref.point}`;
}

/** The parsed text, or undefined when it is not JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
