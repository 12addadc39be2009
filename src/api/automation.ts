/** The operations of area A [rules §2] as descriptors: the pipeline and the tools are driven by them. */
import type { TSchema } from 'typebox';
import * as wire from './automation-schemas.ts';
import type { Capability } from './capability.ts';

const prefix = '/api/v1/automation/api';

/** What every operation of the area says of itself; the schemas keep their exact types, for typed clients. */
interface Operation<P extends TSchema, Q extends TSchema, A extends TSchema> {
  readonly name: string;
  readonly summary: string;
  /** Below the prefix. */
  readonly path: string;
  readonly params: P;
  readonly query: Q;
  readonly answer: A;
}

/** A read: any authenticated role, no audit. */
function query<P extends TSchema, Q extends TSchema, A extends TSchema>(operation: Operation<P, Q, A>) {
  return {
    ...operation,
    method: 'GET',
    path: `${prefix}${operation.path}`,
    kind: 'query',
    risk: 'low',
    permission: 'automation.read',
    confirmation: 'never',
    confirmedIn: 'header',
    audit: 'not-required',
    idempotent: true,
    body: null,
  } as const;
}

/** A mutation: audited, and confirmed by the header and, unless the operation says otherwise, by the body too. */
function command<P extends TSchema, Q extends TSchema, B extends TSchema, A extends TSchema>(
  operation: Operation<P, Q, A> &
    Pick<Capability, 'method' | 'risk' | 'idempotent'> & {
      readonly body: B;
      readonly permission?: Capability['permission'];
      readonly confirmedIn?: Capability['confirmedIn'];
    },
) {
  return {
    ...operation,
    path: `${prefix}${operation.path}`,
    kind: 'command',
    permission: operation.permission ?? 'automation.rule.manage',
    confirmation: 'always',
    confirmedIn: operation.confirmedIn ?? 'body',
    audit: 'required',
  } as const;
}

export const automation = {
  list: query({
    name: 'automation.rule.list',
    summary: 'List rules, highest priority first',
    path: '/rules',
    query: wire.listQuery,
    params: wire.noParams,
    answer: wire.listAnswer,
  }),
  get: query({
    name: 'automation.rule.get',
    summary: 'Read one rule with its flow',
    path: '/rules/:id',
    params: wire.ruleParams,
    query: wire.noQuery,
    answer: wire.ruleAnswer,
  }),
  create: command({
    name: 'automation.rule.create',
    summary: 'Create a rule: a disabled stub',
    method: 'POST',
    path: '/rules',
    risk: 'low',
    idempotent: false,
    params: wire.noParams,
    body: wire.createBody,
    query: wire.noQuery,
    answer: wire.createAnswer,
  }),
  update: command({
    name: 'automation.rule.update',
    summary: 'Change a rule: name, priority, cooldown, trigger or flow',
    method: 'PUT',
    path: '/rules/:id',
    risk: 'high',
    idempotent: true,
    body: wire.updateBody,
    params: wire.ruleParams,
    query: wire.noQuery,
    answer: wire.updateAnswer,
  }),
  remove: command({
    name: 'automation.rule.delete',
    summary: 'Delete a rule',
    method: 'DELETE',
    path: '/rules/:id',
    risk: 'high',
    idempotent: true,
    query: wire.deleteQuery,
    body: wire.optionalConfirmedBody,
    confirmedIn: 'body-or-query',
    params: wire.ruleParams,
    answer: wire.deleteAnswer,
  }),
  enable: command({
    name: 'automation.rule.enable',
    summary: 'Let the scheduler run a rule',
    method: 'POST',
    path: '/rules/:id/enable',
    risk: 'high',
    idempotent: true,
    params: wire.ruleParams,
    query: wire.noQuery,
    body: wire.confirmedBody,
    answer: wire.enableAnswer,
  }),
  disable: command({
    name: 'automation.rule.disable',
    summary: 'Stop the scheduler from running a rule',
    method: 'POST',
    path: '/rules/:id/disable',
    risk: 'high',
    idempotent: true,
    params: wire.ruleParams,
    query: wire.noQuery,
    body: wire.confirmedBody,
    answer: wire.disableAnswer,
  }),
  execute: command({
    name: 'automation.rule.execute',
    summary: 'Run a rule once, now, with real effects',
    method: 'POST',
    path: '/rules/:id/execute',
    risk: 'high',
    permission: 'automation.rule.execute',
    idempotent: false,
    params: wire.ruleParams,
    query: wire.noQuery,
    body: wire.confirmedBody,
    answer: wire.executeAnswer,
  }),
  variables: query({
    name: 'automation.rule.variables',
    summary: 'Read what a rule reads, with live values',
    path: '/rules/:id/variables',
    params: wire.ruleParams,
    query: wire.noQuery,
    answer: wire.variablesAnswer,
  }),
  status: query({
    name: 'automation.rule.status',
    summary: 'Explain why a rule is not running now',
    path: '/rules/:id/status',
    params: wire.ruleParams,
    query: wire.noQuery,
    answer: wire.statusAnswer,
  }),
  history: query({
    name: 'automation.rule.history',
    summary: 'Read the executions of a rule, newest first',
    path: '/rules/:id/history',
    params: wire.ruleParams,
    query: wire.historyQuery,
    answer: wire.historyAnswer,
  }),
  instances: query({
    name: 'automation.instance.list',
    summary: 'List the instances, points and parameters of the site',
    path: '/instances',
    params: wire.noParams,
    query: wire.noQuery,
    answer: wire.instancesAnswer,
  }),
  schedulerStatus: query({
    name: 'automation.scheduler.status',
    summary: 'Read the state and the counters of the scheduler',
    path: '/scheduler/status',
    params: wire.noParams,
    query: wire.noQuery,
    answer: wire.schedulerStatusAnswer,
  }),
  reload: command({
    name: 'automation.scheduler.reload',
    summary: 'Read all rules and the site parameters anew',
    method: 'POST',
    path: '/scheduler/reload',
    risk: 'medium',
    idempotent: true,
    params: wire.noParams,
    body: wire.optionalConfirmedBody,
    confirmedIn: 'header',
    query: wire.noQuery,
    answer: wire.reloadAnswer,
  }),
} as const satisfies Record<string, Capability>;
