/** The in-memory ports of deployment-stack planning; `inMemoryStackPlans` shows what "stored atomically" means. */
import { frozenCopy } from '../freeze.ts';
import { createInMemoryJournal, type InMemoryJournal } from '../in-memory-journal.ts';
import type {
  DeploymentStack,
  DeploymentStacks,
  EngineAnswer,
  EngineRequest,
  PlanEngine,
  PlanPolicy,
  StackPlan,
  StackPlans,
} from './ports.ts';

export interface InMemoryDeploymentStacks extends DeploymentStacks {
  save(stack: DeploymentStack): void;
}

export function inMemoryDeploymentStacks(): InMemoryDeploymentStacks {
  const rows = new Map<string, DeploymentStack>();
  const keyOf = (...ids: readonly string[]): string => JSON.stringify(ids);
  return {
    save(stack) {
      rows.set(keyOf(stack.tenantId, stack.projectId, stack.stackId), frozenCopy(stack));
    },
    async find(scope, stackId) {
      return rows.get(keyOf(scope.tenantId, scope.projectId, stackId)) ?? null;
    },
  };
}

export interface InMemoryStackPlans extends StackPlans {
  readonly journal: InMemoryJournal<StackPlan, StackPlan>;
}

export function inMemoryStackPlans(): InMemoryStackPlans {
  const journal = createInMemoryJournal<StackPlan, StackPlan>();
  return {
    journal,
    async findByRequest(scope, idempotencyKey) {
      return journal.receipt(scope, idempotencyKey);
    },
    async insert(entry) {
      // The plan is the receipt's result: one row holds both.
      return journal.append(entry) ? 'inserted' : 'exists';
    },
    async recordRefusal(scope, entry) {
      journal.recordRefusal(scope, entry);
    },
  };
}

/** An engine whose stacks would all change in the same way. */
export function inMemoryPlanEngine(
  name: PlanEngine['name'],
  changes: Extract<EngineAnswer, { ok: true }>['plan']['changes'],
): PlanEngine {
  const kept = frozenCopy(changes);
  return {
    name,
    async plan(request, signal) {
      if (signal.aborted) return { ok: false, code: 'infrastructure-engine-unavailable', retryable: true };
      return { ok: true, plan: planFor(request, kept) };
    },
  };
}

function planFor(request: EngineRequest, changes: Extract<EngineAnswer, { ok: true }>['plan']['changes']) {
  const { planId, stackId, stateKey, lockId, topology } = request;
  return {
    planId,
    stackId,
    stateKey,
    lock: { lockId, acquired: true, released: true },
    artifact: { reference: `plan-artifact://${planId}`, digest: topology.digest, encrypted: true, sensitive: true },
    changes,
  };
}

/** A policy that refuses some engines outright and some actions in a plan. */
export function inMemoryPlanPolicy(refused: {
  readonly engines?: readonly string[];
  readonly actions?: readonly string[];
}): PlanPolicy {
  const { engines = [], actions = [] } = refused;
  return {
    async judgeRequest(_scope, request) {
      return engines.includes(request.engine)
        ? { decision: 'deny', reasons: ['engine-not-allowed'] }
        : { decision: 'allow' };
    },
    async judgePlan(_scope, _request, changes) {
      return changes.some((change) => actions.includes(change.action))
        ? { decision: 'deny', reasons: ['action-not-allowed'] }
        : { decision: 'allow' };
    },
  };
}
