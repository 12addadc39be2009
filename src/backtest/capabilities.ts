/** The handler of backtests [rules §10]: which rule, over which window, against what; the work itself is a thread's. */
import type { Static } from 'typebox';
import { backtestPoints, ruleBacktest } from '../api/backtest.ts';
import type { Answer, CallContext, HandledCapability } from '../api/capability.ts';
import { success } from '../api/capability.ts';
import { type AutomationParts, ruleIdParameter, ruleResource } from '../automation/automation-parts.ts';
import type { EngineRule } from '../automation/engine-contract.ts';
import { deriveSteps, topologySteps, triggerOf, writesOf } from '../automation/rule-document.ts';
import type { RuleRow } from '../automation/store/rule-table.ts';
import { sha256Hex } from '../base/digest.ts';
import { Fault } from '../base/fault.ts';
import { dayMs, queryTime, timeLabel } from '../base/timestamp.ts';
import { inTurns } from '../base/turns.ts';
import type { SeriesId } from '../historian/historian.ts';
import type { HistoryLimits } from '../historian/limits.ts';
import { recordedSeries } from '../historian/recording.ts';
import { feedbackOf } from '../rules/backtest/feedback.ts';
import type { PlantAssumption } from '../rules/backtest/plant-run.ts';
import { type Trigger, triggerKind } from '../rules/trigger/index.ts';
import { type PointFacts, pointRefOf } from '../site/catalogue.ts';
import type { Site } from '../site/site.ts';
import type { DatabasePlace } from '../storage/database.ts';
import type { Backtests } from './backtests.ts';
import type { BacktestJob } from './job.ts';
import type { BacktestLimits } from './limits.ts';
import { plantAssumption } from './plant-assumption.ts';

export interface BacktestCapabilityParts {
  readonly automation: AutomationParts;
  readonly backtests: Backtests;
  readonly site: () => Site;
  readonly limits: BacktestLimits & { readonly tick_interval_ms: number; readonly event_min_interval_ms: number };
  readonly historyLimits: HistoryLimits;
  readonly history: DatabasePlace;
  /** Stores what was recorded of these series so far. */
  readonly settleHistory: (series: readonly SeriesId[]) => Promise<boolean>;
  readonly runtime: DatabasePlace;
}

type Body = Static<typeof ruleBacktest.run.body>;

/** Revisions that are looked through for those that run as the newest one does. */
const revisionsSeen = 100;

export function backtestCapabilities(parts: BacktestCapabilityParts): HandledCapability[] {
  return [{ descriptor: ruleBacktest.run, resource: ruleResource, handler: (context) => run(parts, context) }];
}

async function run(parts: BacktestCapabilityParts, context: CallContext): Promise<Answer> {
  const { automation, limits, historyLimits, history, runtime } = parts;
  const site = parts.site();
  const body = context.body as Body;
  const id = ruleIdParameter(context);
  const stored = await automation.store.get(id);
  if (stored === null) throw new Fault('not-found', `rule ${id} not found`);
  if (body.mode === 'replay' && body.compare !== undefined)
    throw new Fault('invalid-input', 'body /compare: is for the mode recorded; replay compares with the recorded runs');
  if ((body.mode === 'plant') !== (body.assume !== undefined))
    throw new Fault('invalid-input', 'body /assume: the mode plant needs it, and the other modes do not take it');
  const plant = body.assume === undefined ? null : plantAssumption(site, body.assume);
  const window = windowOf(body, limits.window_days);
  const candidate = await candidateOf(parts, stored, body);
  // The newest runs and readings may not be stored yet.
  await automation.engine.settle(id).catch(() => undefined);
  await parts.settleHistory(recordedSeries(site.points));
  const job: BacktestJob = {
    mode: body.mode,
    plant,
    site,
    parameters: automation.parameters.current(),
    candidate: engineRule(candidate),
    running: candidate === stored ? null : engineRule(stored),
    baseline: body.compare === undefined ? null : engineRule(await revisionOf(parts, id, body.compare.revision)),
    revisions: await parts.automation.revisions.runningAs(stored, revisionsSeen),
    ...window,
    pointsMax: body.max_points ?? backtestPoints.standard,
    limits,
    historyLimits,
    history,
    runtime,
  };
  const result = await parts.backtests.run(job, context.gone?.(), context.progress);
  const { fromMs, toMs } = window;
  const answer = {
    rule_id: id,
    from: timeLabel(fromMs),
    to: timeLabel(toMs),
    mode: body.mode,
    ...result,
    notes: [...result.notes, ...(plant === null ? [] : await otherWriters(parts, id, plant))].toSorted(),
    feedback: await feedback(parts, candidate, plant),
  };
  return success({ digest: sha256Hex(JSON.stringify(answer)), ...answer });
}

function windowOf({ from, to }: Body, daysMax: number): { readonly fromMs: number; readonly toMs: number } {
  const [fromMs, toMs] = [queryTime('from', from), queryTime('to', to)];
  if (fromMs >= toMs) throw new Fault('invalid-input', 'body /from: must be before to');
  if (toMs - fromMs > daysMax * dayMs)
    throw new Fault('invalid-input', `body /to: must be at most ${daysMax} days after from`);
  return { fromMs, toMs };
}

/** The stored row itself where nothing else is to be tried. */
async function candidateOf(parts: BacktestCapabilityParts, stored: RuleRow, body: Body): Promise<RuleRow> {
  const { flow_json, trigger_config, priority, cooldown_ms, revision } = body;
  if (flow_json !== undefined && revision !== undefined)
    throw new Fault('invalid-input', 'body: send flow_json or revision, not both');
  const base = revision === undefined ? stored : await revisionOf(parts, stored.id, revision);
  const { clock, catalogue, flowLimits } = parts.automation;
  const derived = await inTurns(clock, deriveSteps({ flow_json, trigger_config }, catalogue(), flowLimits));
  const changes = {
    ...derived.flow,
    ...derived.trigger,
    ...(priority === undefined ? {} : { priority }),
    ...(cooldown_ms === undefined ? {} : { cooldown_ms }),
  };
  return Object.keys(changes).length === 0 ? base : { ...base, ...changes };
}

async function revisionOf({ automation }: BacktestCapabilityParts, id: number, revision: number): Promise<RuleRow> {
  const found = await automation.revisions.get(id, revision);
  if (found === null) throw new Fault('not-found', `rule ${id} has no revision ${revision}`);
  return found.row;
}

function engineRule({ id, revision, priority, cooldown_ms, trigger_config, nodes_json }: RuleRow): EngineRule {
  return { id, revision, enabled: true, mode: 'live', priority, cooldown_ms, trigger_config, nodes_json };
}

/** Only the rule itself commands the assumed plant. */
async function otherWriters(
  { automation }: BacktestCapabilityParts,
  id: number,
  { setpoint }: PlantAssumption,
): Promise<string[]> {
  const commanded = automation.catalogue().points.filter(({ index }) => index === setpoint.index);
  const writers = await writersOf(automation, commanded);
  return writers.some(({ rule_id: other }) => other !== id) ? ['other-writers-left-out'] : [];
}

/** Which rules write these points; a backtest can be answered without the engine's part. */
async function writersOf({ engine }: AutomationParts, points: readonly PointFacts[]) {
  return engine.ask('writers', { points: points.map(pointRefOf) }).catch((error: unknown) => {
    if (error instanceof Fault) return [];
    throw error;
  });
}

/** Inputs that followed what was written when they were recorded; those of an assumed plant follow the rule. */
async function feedback({ automation }: BacktestCapabilityParts, row: RuleRow, plant: PlantAssumption | null) {
  const catalogue = automation.catalogue();
  const topology = await inTurns(automation.clock, topologySteps(row.nodes_json, catalogue));
  if (topology === null) return [];
  const trigger: Trigger | null = triggerOf(row.trigger_config, catalogue);
  const reads = [...topology.nodes.values()].flatMap((node) => ('variables' in node ? (node.variables ?? []) : []));
  const watched = trigger === null ? [] : triggerKind(trigger.type).points(trigger);
  const known = (refs: readonly Parameters<typeof catalogue.point>[0][]): PointFacts[] => [
    ...new Set(refs.flatMap((ref) => catalogue.point(ref) ?? [])),
  ];
  const modelled = plant === null ? [] : [plant.soc, plant.power?.index, plant.grid?.index];
  const inputs = known([...reads, ...watched]).filter(({ index }) => !modelled.includes(index));
  const written = known(writesOf(topology).map(({ write }) => write));
  const byPoint = new Map<number, number[]>();
  for (const { point, rule_id: ruleId } of await writersOf(automation, inputs)) {
    const index = catalogue.point(point)?.index ?? -1;
    byPoint.set(index, [...(byPoint.get(index) ?? []), ruleId]);
  }
  return feedbackOf(row.id, inputs, written, byPoint);
}
