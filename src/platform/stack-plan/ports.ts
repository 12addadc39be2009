/** The ports of deployment-stack planning [platform §6.3]. */
import type { Scope } from '../call-context.ts';
import type { Journal, Receipt, RefusalRecord } from '../journal.ts';

export const engineNames = ['opentofu', 'terraform'] as const;
export type EngineName = (typeof engineNames)[number];

export const changeActions = ['create', 'update', 'delete', 'read', 'no-op', 'replace'] as const;
export type ChangeAction = (typeof changeActions)[number];

export interface StackRequest {
  readonly stackId: string;
  readonly engine: EngineName;
  readonly module: { readonly reference: string; readonly version: string; readonly digest: string };
  readonly topology: { readonly reference: string; readonly digest: string };
}

/** A stack has a state of its own, and one lock that every access to that state holds. */
export interface DeploymentStack extends Scope {
  readonly stackId: string;
  readonly stateKey: string;
  readonly lockId: string;
}

export interface DeploymentStacks {
  find(scope: Scope, stackId: string): Promise<DeploymentStack | null>;
}

export interface EngineRequest extends Scope, StackRequest {
  readonly planId: string;
  readonly stateKey: string;
  readonly lockId: string;
}

/** The engine's report of its plan; `address` names a resource and is not kept. */
export interface EnginePlan {
  readonly planId: string;
  readonly stackId: string;
  readonly stateKey: string;
  readonly lock: { readonly lockId: string; readonly acquired: boolean; readonly released: boolean };
  readonly artifact: {
    readonly reference: string;
    readonly digest: string;
    readonly encrypted: boolean;
    readonly sensitive: boolean;
  };
  readonly changes: readonly { readonly address: string; readonly action: ChangeAction }[];
}

export type EngineAnswer =
  | { readonly ok: true; readonly plan: EnginePlan }
  | { readonly ok: false; readonly code: string; readonly retryable: boolean };

export interface PlanEngine {
  readonly name: EngineName;
  /** Plans only. Releases the lock and stops when `signal` aborts. */
  plan(request: EngineRequest, signal: AbortSignal): Promise<EngineAnswer>;
}

/** `reasons` are codes such as `deletes-not-allowed`: a stored record keeps them, so they name no resource. */
export type PolicyDecision =
  | { readonly decision: 'allow' }
  | { readonly decision: 'deny'; readonly reasons: readonly string[] };

export interface PlanPolicy {
  judgeRequest(scope: Scope, request: StackRequest): Promise<PolicyDecision>;
  judgePlan(scope: Scope, request: StackRequest, changes: EnginePlan['changes']): Promise<PolicyDecision>;
}

/** The stored record: how many changes of which action, and no resource. */
export interface StackPlan extends Scope, StackRequest {
  readonly planId: string;
  readonly status: 'planned' | 'policy-rejected';
  readonly approval: 'not-requested';
  /** Null when the policy refused the request, so that no engine ran. */
  readonly changes: Readonly<Record<ChangeAction, number>> | null;
  readonly artifact: { readonly reference: string; readonly digest: string } | null;
  /** Null when the policy allowed it. */
  readonly rejection: { readonly stage: 'request' | 'plan'; readonly reasons: readonly string[] } | null;
  readonly createdAt: string;
}

type PlanReceipt = Receipt<StackPlan>;
type PlanJournal = Journal<StackPlan, StackPlan>;

/** Plans are found by the request that made them, and inserted once. */
export interface StackPlans extends RefusalRecord {
  findByRequest(scope: Scope, idempotencyKey: string): Promise<PlanReceipt | null>;
  /** Plan, receipt, audit event and outgoing event together; `exists` when the key has a plan, and then nothing. */
  insert(journal: PlanJournal): Promise<'inserted' | 'exists'>;
}
