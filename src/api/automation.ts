/** The operations of area A (§4.1, decisions §1.2 and §2.1) as descriptors: the pipeline and the tools are driven by them. */
import type { TSchema } from 'typebox';
import * as wire from './automation-schemas.ts';
import type { Capability } from './capability.ts';

const prefix = '/api/v1/automation/api';

/** A read: any authenticated role, no audit. */
function query(operation: {
  name: string;
  summary: string;
  path: string;
  params?: TSchema;
  query?: TSchema;
  answer: TSchema;
}): Capability {
  return {
    name: operation.name,
    summary: operation.summary,
    method: 'GET',
    path: `${prefix}${operation.path}`,
    kind: 'query',
    risk: 'low',
    permission: 'automation.read',
    confirmation: 'never',
    confirmedIn: 'header',
    audit: 'not-required',
    idempotent: true,
    params: operation.params ?? wire.noParams,
    query: operation.query ?? wire.noQuery,
    body: null,
    answer: operation.answer,
  };
}

/** A mutation: audited, and confirmed by the header and, unless the operation says otherwise, by the body too. */
function command(
  operation: Pick<Capability, 'name' | 'summary' | 'method' | 'risk' | 'idempotent' | 'answer'> & {
    path: string;
    permission?: Capability['permission'];
    params?: TSchema;
    query?: TSchema;
    body?: TSchema;
    confirmedIn?: Capability['confirmedIn'];
  },
): Capability {
  return {
    name: operation.name,
    summary: operation.summary,
    method: operation.method,
    path: `${prefix}${operation.path}`,
    kind: 'command',
    risk: operation.risk,
    permission: operation.permission ?? 'automation.rule.manage',
    confirmation: 'always',
    confirmedIn: operation.confirmedIn ?? 'body',
    audit: 'required',
    idempotent: operation.idempotent,
    params: operation.params ?? wire.ruleParams,
    query: operation.query ?? wire.noQuery,
    body: operation.body ?? wire.confirmedBody,
    answer: operation.answer,
  };
}

export const automation = {
  list: query({
    name: 'automation.rule.list',
    summary: 'List rules, highest priority first',
    path: '/rules',
    query: wire.listQuery,
    answer: wire.listAnswer,
  }),
  get: query({
    name: 'automation.rule.get',
    summary: 'Read one rule with its flow',
    path: '/rules/:id',
    params: wire.ruleParams,
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
    answer: wire.deleteAnswer,
  }),
  enable: command({
    name: 'automation.rule.enable',
    summary: 'Let the scheduler run a rule',
    method: 'POST',
    path: '/rules/:id/enable',
    risk: 'high',
    idempotent: true,
    answer: wire.enableAnswer,
  }),
  disable: command({
    name: 'automation.rule.disable',
    summary: 'Stop the scheduler from running a rule',
    method: 'POST',
    path: '/rules/:id/disable',
    risk: 'high',
    idempotent: true,
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
    answer: wire.executeAnswer,
  }),
  variables: query({
    name: 'automation.rule.variables',
    summary: 'Read what a rule reads, with live values',
    path: '/rules/:id/variables',
    params: wire.ruleParams,
    answer: wire.variablesAnswer,
  }),
  status: query({
    name: 'automation.rule.status',
    summary: 'Explain why a rule is not running now',
    path: '/rules/:id/status',
    params: wire.ruleParams,
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
    answer: wire.instancesAnswer,
  }),
  schedulerStatus: query({
    name: 'automation.scheduler.status',
    summary: 'Read the state and the counters of the scheduler',
    path: '/scheduler/status',
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
    answer: wire.reloadAnswer,
  }),
} as const satisfies Record<string, Capability>;
