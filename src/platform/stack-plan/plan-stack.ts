/**
 * Deployment-stack planning [platform §6.3]: policy on the request, one engine run, policy on the plan, one
 * stored record. Nothing here applies anything.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type UseCase, useCase } from '../application-contract.ts';
import { instant } from '../instant.ts';
import { type PlatformLimits, platformLimits } from '../limits.ts';
import { callOutside } from '../outside.ts';
import { failedCommand, type Refusal, type RefusedCommand, refuseCommand } from '../refusal.ts';
import {
  type CommandParts,
  type ContractCommand,
  callStore,
  isSameRequest,
  journalOf,
  runCommand,
} from '../run-command.ts';
import { planStackContract } from './contract.ts';
import { decodePolicyDecision, decodeStackRequest, judgeEngineAnswer } from './decode.ts';
import {
  type ChangeAction,
  changeActions,
  type DeploymentStack,
  type DeploymentStacks,
  type EngineName,
  type EnginePlan,
  type PlanEngine,
  type PlanPolicy,
  type PolicyDecision,
  type StackPlan,
  type StackPlans,
  type StackRequest,
} from './ports.ts';
import { createSingleFlight, type SingleFlight } from './single-flight.ts';

export interface PlanStackParts {
  readonly stacks: DeploymentStacks;
  readonly plans: StackPlans;
  readonly engines: readonly PlanEngine[];
  readonly policy: PlanPolicy;
  readonly newPlanId: () => string;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: PlatformLimits;
}

export interface PlannedStack {
  readonly ok: true;
  /** True if an earlier or a concurrent call made this plan. */
  readonly replayed: boolean;
  readonly plan: StackPlan;
}

type PlanOutcome = { readonly plan: StackPlan; readonly replayed: boolean } | RefusedCommand;

/** The input of one run. */
interface Planning extends CommandParts {
  readonly parts: PlanStackParts;
  readonly engines: ReadonlyMap<EngineName, PlanEngine>;
  readonly flights: SingleFlight<PlanOutcome>;
}

/** The use case; two engines of one name are a mistake of the composition and throw here. */
export function createPlanStack(parts: PlanStackParts): UseCase<PlannedStack | Refusal, [signal?: AbortSignal]> {
  const engines = new Map<EngineName, PlanEngine>();
  for (const engine of parts.engines) {
    if (engines.has(engine.name)) throw new Error(`engine ${engine.name} is given twice`);
    engines.set(engine.name, engine);
  }
  const { clock, log, newId, plans, limits = platformLimits } = parts;
  const flights = createSingleFlight<PlanOutcome>(limits.engine_runs_max);
  const planning: Planning = { clock, log, newId, limits, parts, engines, flights };
  return useCase(planStackContract, (context, input, signal?: AbortSignal) =>
    runCommand(
      planning,
      {
        contract: planStackContract,
        resourceKind: 'infrastructure-stack',
        decodeInput: decodeStackRequest,
        resourceId: (request: StackRequest) => request.stackId,
        identity: (request) => ({ ...request }),
        findReceipt: (scope, key) => plans.findByRequest(scope, key),
        replayed: (plan: StackPlan) => planned(plan, true),
        work: (command) => joinOrRun(planning, command, signal),
        refusals: plans,
      },
      context,
      input,
    ),
  );
}

function planned(plan: StackPlan, replayed: boolean): PlannedStack {
  return Object.freeze({ ok: true, replayed, plan });
}

async function joinOrRun(
  planning: Planning,
  command: ContractCommand<StackRequest>,
  signal: AbortSignal | undefined,
): Promise<{ done: PlannedStack } | RefusedCommand> {
  if (signal?.aborted === true) return refuseCommand('operation-cancelled');
  const { scope, subject, idempotencyKey } = command.context;
  const result = await planning.flights.run(
    {
      key: JSON.stringify([scope.tenantId, scope.projectId, idempotencyKey]),
      subject,
      requestDigest: command.requestDigest,
      signal,
    },
    (runSignal) => planOnce(planning, command, runSignal),
  );
  if (result.kind === 'conflict') return refuseCommand('idempotency-conflict');
  if (result.kind === 'full') return refuseCommand('infrastructure-engine-busy');
  // Others may still wait for the run, and a write that has started continues: it is open whether there will be a plan.
  if (result.kind === 'cancelled') return refuseCommand('operation-cancelled', 'unknown');
  const { value, joined } = result;
  return 'plan' in value ? { done: planned(value.plan, joined || value.replayed) } : value;
}

/** The one run behind all concurrent calls of a key. */
async function planOnce(
  planning: Planning,
  command: ContractCommand<StackRequest>,
  signal: AbortSignal,
): Promise<PlanOutcome> {
  // Looked up again: a run that ended between the first lookup and this one must not run twice.
  const earlier = await replay(planning, command);
  if (earlier !== null) return earlier;
  const stack = await findStack(planning, command);
  if ('refusal' in stack) return stack;
  const onRequest = await judge(planning, signal, () =>
    planning.parts.policy.judgeRequest(command.context.scope, command.input),
  );
  if ('refusal' in onRequest) return onRequest;
  const planId = planning.parts.newPlanId();
  if (onRequest.decision === 'deny') {
    return store(planning, command, {
      planId,
      rejection: { stage: 'request', reasons: onRequest.reasons },
      plan: null,
    });
  }
  const plan = await runEngine(planning, command, stack, planId, signal);
  if ('refusal' in plan) return plan;
  const onPlan = await judge(planning, signal, () =>
    planning.parts.policy.judgePlan(command.context.scope, command.input, plan.changes),
  );
  if ('refusal' in onPlan) return onPlan;
  const rejection = onPlan.decision === 'deny' ? { stage: 'plan' as const, reasons: onPlan.reasons } : null;
  // From here on, callers can no longer cancel: a write that has started is completed.
  return store(planning, command, { planId, rejection, plan });
}

async function replay(planning: Planning, command: ContractCommand<StackRequest>): Promise<PlanOutcome | null> {
  const { scope, subject, idempotencyKey } = command.context;
  const found = await callStore(planning, 'the lookup of a plan', () =>
    planning.parts.plans.findByRequest(scope, idempotencyKey),
  );
  if (found.kind !== 'answered') return refuseCommand('storage-unavailable');
  if (found.value === null) return null;
  if (!isSameRequest(found.value, subject, command.requestDigest)) return refuseCommand('idempotency-conflict');
  return { plan: found.value.result, replayed: true };
}

async function findStack(
  planning: Planning,
  { context: { scope }, input }: ContractCommand<StackRequest>,
): Promise<DeploymentStack | RefusedCommand> {
  const found = await callStore(planning, 'the lookup of a stack', () =>
    planning.parts.stacks.find(scope, input.stackId),
  );
  if (found.kind !== 'answered') return refuseCommand('storage-unavailable');
  const stack = found.value;
  const inScope =
    stack !== null &&
    stack.tenantId === scope.tenantId &&
    stack.projectId === scope.projectId &&
    stack.stackId === input.stackId;
  return inScope ? stack : refuseCommand('deployment-stack-not-found');
}

/** Fails closed: a policy without a decision, or with an invalid one, allows nothing. */
async function judge(
  planning: Planning,
  signal: AbortSignal,
  call: () => Promise<PolicyDecision>,
): Promise<PolicyDecision | RefusedCommand> {
  const { clock, log, limits } = planning;
  const what = 'the planning policy';
  const judged = await callOutside({ clock, log, what, deadlineMs: limits.policy_deadline_ms, signal, call });
  if (judged.kind === 'cancelled') return refuseCommand('operation-cancelled');
  const decision = judged.kind === 'answered' ? decodePolicyDecision(judged.value) : null;
  return decision ?? refuseCommand('policy-unavailable');
}

async function runEngine(
  planning: Planning,
  { context: { scope }, input }: ContractCommand<StackRequest>,
  stack: DeploymentStack,
  planId: string,
  signal: AbortSignal,
): Promise<EnginePlan | RefusedCommand> {
  const { clock, log, limits, engines } = planning;
  const engine = engines.get(input.engine);
  if (engine === undefined) return refuseCommand('infrastructure-engine-not-registered');
  // Frozen: the answer is checked against it.
  const request = Object.freeze({ ...scope, ...input, planId, stateKey: stack.stateKey, lockId: stack.lockId });
  const ran = await callOutside({
    clock,
    log,
    what: 'an infrastructure engine',
    deadlineMs: limits.engine_deadline_ms,
    signal,
    call: (stop) => engine.plan(request, stop),
  });
  if (ran.kind === 'cancelled') return refuseCommand('operation-cancelled');
  if (ran.kind !== 'answered') return refuseCommand('infrastructure-engine-unavailable');
  const answer = judgeEngineAnswer(ran.value, request, limits.plan_changes_max);
  if (answer === null) return refuseCommand('infrastructure-engine-contract-violation');
  return answer.ok ? answer.plan : failedCommand(answer.code, answer.retryable);
}

async function store(
  planning: Planning,
  command: ContractCommand<StackRequest>,
  outcome: {
    readonly planId: string;
    readonly rejection: StackPlan['rejection'];
    readonly plan: EnginePlan | null;
  },
): Promise<PlanOutcome> {
  const { planId, rejection, plan } = outcome;
  const record: StackPlan = Object.freeze({
    ...command.context.scope,
    ...command.input,
    planId,
    status: rejection === null ? 'planned' : 'policy-rejected',
    approval: 'not-requested',
    changes: plan === null ? null : countByAction(plan.changes),
    artifact:
      plan === null ? null : Object.freeze({ reference: plan.artifact.reference, digest: plan.artifact.digest }),
    rejection: rejection === null ? null : Object.freeze(rejection),
    createdAt: instant(planning.clock.wallMs()),
  });
  const journal = journalOf(planning, command, {
    result: record,
    eventType: rejection === null ? 'infrastructure.stack.planned' : 'infrastructure.stack.plan-rejected',
    data: record,
    auditDetails: { planId, status: record.status, changes: record.changes, rejection },
  });
  const inserted = await callStore(planning, 'the insert of a plan', () => planning.parts.plans.insert(journal));
  if (inserted.kind !== 'answered') return refuseCommand('storage-unavailable', 'unknown');
  if (inserted.value === 'inserted') return { plan: record, replayed: false };
  // Another process was first with this key.
  return (await replay(planning, command)) ?? refuseCommand('storage-unavailable');
}

function countByAction(changes: EnginePlan['changes']): Readonly<Record<ChangeAction, number>> {
  const count = (action: ChangeAction): number => changes.filter((change) => change.action === action).length;
  const [create, update, remove, read, noOp, replace] = changeActions.map(count);
  return Object.freeze({
    create: create ?? 0,
    update: update ?? 0,
    delete: remove ?? 0,
    read: read ?? 0,
    'no-op': noOp ?? 0,
    replace: replace ?? 0,
  });
}
