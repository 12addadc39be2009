/** Selects the recorded runs for the shadow report of a rule [rules §1.6]. */
import type { Answer, CallContext } from '../api/capability.ts';
import { success } from '../api/capability.ts';
import { Fault } from '../base/fault.ts';
import { queryTime } from '../base/timestamp.ts';
import { nextTurn } from '../base/turns.ts';
import type { ExecutionRecord } from '../rules/record.ts';
import { shadowReport } from '../rules/shadow-report.ts';
import { triggerKind } from '../rules/trigger/index.ts';
import { effectiveTrigger } from '../rules/trigger/parse.ts';
import { type AutomationParts, ruleIdParameter } from './automation-parts.ts';
import { triggerOf } from './rule-document.ts';
import { runsBetween } from './runs-between.ts';
import type { RuleRow } from './store/rule-table.ts';

/** Maximum number of runs of each of the two rules in one report. */
export const reportedRunsMax = 10_000;

export async function readShadowReport(parts: AutomationParts, context: CallContext): Promise<Answer> {
  const id = ruleIdParameter(context);
  const { against, from = '', to = '' } = context.query;
  const [fromMs, toMs] = [queryTime('from', from), queryTime('to', to)];
  if (fromMs > toMs) throw new Fault('invalid-input', 'query /from: must not be after to');
  const shadow = await storedRule(parts, id);
  const other = await storedRule(parts, Number(against));
  const shadowRuns = await scheduledRuns(parts, shadow.id, fromMs, toMs + 1, (run) => run.shadow === true);
  const liveRuns = await scheduledRuns(parts, other.id, fromMs, toMs + 1, (run) => run.shadow !== true);
  return success(shadowReport(shadowRuns, liveRuns, toleranceMs(parts, shadow)));
}

async function storedRule({ store }: AutomationParts, id: number): Promise<RuleRow> {
  const row = await store.get(id);
  if (row === null) throw new Fault('not-found', `rule ${id} not found`);
  return row;
}

/** A tick, or half a period if that is longer. */
function toleranceMs({ catalogue, engine }: AutomationParts, row: RuleRow): number {
  const trigger = effectiveTrigger(triggerOf(row.trigger_config, catalogue()), row.cooldown_ms);
  return Math.max(engine.tickIntervalMs, triggerKind(trigger.type).gateMs(trigger) / 2);
}

/** By time; manual runs are left out. */
async function scheduledRuns(
  parts: AutomationParts,
  ruleId: number,
  fromMs: number,
  endMs: number,
  isWanted: (run: ExecutionRecord) => boolean,
): Promise<ExecutionRecord[]> {
  await parts.engine.settle(ruleId).catch(() => undefined);
  const runs: ExecutionRecord[] = [];
  for await (const page of runsBetween(parts.runs, ruleId, fromMs, endMs)) {
    runs.push(...page.filter((run) => run.trigger.type !== 'manual' && isWanted(run)));
    if (runs.length > reportedRunsMax)
      throw new Fault(
        'invalid-input',
        `query /from: the rule ran more than ${reportedRunsMax} times; choose a shorter span`,
      );
    await nextTurn(parts.clock);
  }
  return runs.reverse();
}
