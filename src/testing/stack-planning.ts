/** Stack planning over in-memory ports that can be made to fail. */
import { silentLog } from '../base/log.ts';
import { type PlatformLimits, platformLimits } from '../platform/limits.ts';
import {
  inMemoryDeploymentStacks,
  inMemoryPlanEngine,
  inMemoryPlanPolicy,
  inMemoryStackPlans,
} from '../platform/stack-plan/in-memory.ts';
import { createPlanStack } from '../platform/stack-plan/plan-stack.ts';
import type {
  DeploymentStacks,
  EngineRequest,
  PlanEngine,
  PlanPolicy,
  StackPlans,
  StackRequest,
} from '../platform/stack-plan/ports.ts';
import { callScope, commandContext } from './application-calls.ts';
import { type FaultyPort, faultyPort } from './faulty-port.ts';
import { simulatedClock } from './simulated-clock.ts';

const digest = `sha256:${'0'.repeat(64)}`;

export const stackRow = { ...callScope, stackId: 'stack-1', stateKey: 'state/stack-1', lockId: 'lock/stack-1' };

export const stackRequest: StackRequest = {
  stackId: 'stack-1',
  engine: 'opentofu',
  module: { reference: 'module://network/base', version: '1.2.3', digest },
  topology: { reference: 'topology://site/one', digest },
};

export const plannedChanges = [
  { address: 'module.network.secret_one', action: 'create' },
  { address: 'module.network.secret_two', action: 'create' },
  { address: 'module.network.secret_three', action: 'no-op' },
] as const;

/** Of the first plan, as an engine should answer it. */
export const goodPlan = {
  planId: 'plan-0001',
  stackId: 'stack-1',
  stateKey: 'state/stack-1',
  lock: { lockId: 'lock/stack-1', acquired: true, released: true },
  artifact: { reference: 'plan-artifact://plans/one', digest, encrypted: true, sensitive: true },
  changes: plannedChanges,
};

export interface PlanningChoices {
  readonly policy?: PlanPolicy;
  readonly limits?: Partial<PlatformLimits>;
  readonly engines?: readonly PlanEngine[];
}

export function openPlanning(choices: PlanningChoices = {}) {
  const clock = simulatedClock();
  const stackStore = inMemoryDeploymentStacks();
  stackStore.save(stackRow);
  stackStore.save({ ...stackRow, stackId: 'stack-2' });
  const planStore = inMemoryStackPlans();
  const stacks = faultyPort<DeploymentStacks>(stackStore);
  const plans = faultyPort<StackPlans>(planStore);
  const policy = faultyPort<PlanPolicy>(choices.policy ?? inMemoryPlanPolicy({}));
  const requests: { readonly request: EngineRequest; readonly signal: AbortSignal }[] = [];
  const inMemory = inMemoryPlanEngine('opentofu', plannedChanges);
  const engine: FaultyPort<PlanEngine> = faultyPort<PlanEngine>({
    name: 'opentofu',
    plan(request, signal) {
      requests.push({ request, signal });
      return inMemory.plan(request, signal);
    },
  });
  let planIds = 0;
  let ids = 0;
  const start = () =>
    createPlanStack({
      stacks: stacks.port,
      plans: plans.port,
      engines: choices.engines ?? [engine.port],
      policy: policy.port,
      newPlanId: () => `plan-${String(++planIds).padStart(4, '0')}`,
      newId: () => `fresh-${String(++ids).padStart(8, '0')}`,
      clock,
      log: silentLog,
      limits: { ...platformLimits, ...choices.limits },
    });
  const planStack = start();
  const context = (overrides: object = {}) => commandContext(clock, planStack.contract, overrides);
  return {
    clock,
    stacks,
    plans,
    policy,
    engine,
    requests,
    planStack,
    /** In another process over the same ports. */
    planStackElsewhere: start(),
    context,
    run: (input: unknown = stackRequest, signal?: AbortSignal) => planStack(context(), input, signal),
    /** The result when the engine returns this. */
    answered(value: unknown) {
      engine.break('plan', { kind: 'answer', value });
      return planStack(context(), stackRequest);
    },
    audit: () => planStore.journal.audit,
    events: () => planStore.journal.events,
  };
}
