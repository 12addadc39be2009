/** Deployment-stack planning: request, policy, engine and stored record [platform §6.3]. */
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../base/log.ts';
import { at, callScope } from '../../testing/application-calls.ts';
import { settledPort } from '../../testing/faulty-port.ts';
import { goodPlan, openPlanning, plannedChanges, stackRequest, stackRow } from '../../testing/stack-planning.ts';
import { platformLimits } from '../limits.ts';
import { inMemoryPlanPolicy } from './in-memory.ts';
import { createPlanStack } from './plan-stack.ts';
import { changeActions } from './ports.ts';

const digest = stackRequest.module.digest;
const violation = { ok: false, code: 'infrastructure-engine-contract-violation', retryable: false };
const invalid = { ok: false, code: 'invalid-input', retryable: false };
const noChanges = { create: 0, update: 0, delete: 0, read: 0, 'no-op': 0, replace: 0 };

describe('plan a stack', () => {
  test('[platform §6.3] carries its descriptor: medium risk, its permission, key and expiry needed', () => {
    expect(openPlanning().planStack.contract).toMatchObject({
      name: 'infrastructure.stack.plan',
      kind: 'command',
      permission: 'infrastructure.stack.plan',
      risk: 'medium',
      confirmation: 'never',
      audit: 'required',
      idempotency: 'required',
      expiry: 'required',
    });
  });

  test('[platform §6.3] the stored record counts changes by action, keeps no resource, and approval is not-requested', async () => {
    const { run, clock, audit, events, plans } = openPlanning();
    const plan = {
      ...callScope,
      ...stackRequest,
      planId: 'plan-0001',
      status: 'planned',
      approval: 'not-requested',
      changes: { ...noChanges, create: 2, 'no-op': 1 },
      artifact: { reference: 'plan-artifact://plan-0001', digest },
      rejection: null,
      createdAt: at(clock),
    };
    const result = await run();
    expect(result).toEqual({ ok: true, replayed: false, plan });
    expect(events()).toMatchObject([{ type: 'infrastructure.stack.planned', data: plan }]);
    expect(await plans.port.findByRequest(callScope, 'key-00000001')).toMatchObject({ result: plan });
    const traces = JSON.stringify([
      result,
      audit(),
      events(),
      await plans.port.findByRequest(callScope, 'key-00000001'),
    ]);
    expect(traces).not.toContain('secret');
    expect(traces).not.toContain(stackRow.stateKey);
  });

  test('[platform §6.3] the result is frozen to its last member', async () => {
    const result = await openPlanning().run();
    const plan = 'plan' in result ? result.plan : null;
    for (const part of [result, plan, plan?.changes, plan?.artifact, plan?.module, plan?.topology]) {
      expect(part !== undefined && Object.isFrozen(part)).toBe(true);
    }
  });

  test('[platform §6.3] the engine receives this stack, and cannot change the data that its answer is checked against', async () => {
    const { run, requests } = openPlanning();
    await run();
    const { stateKey, lockId } = stackRow;
    expect(requests.map(({ request }) => request)).toEqual([
      { ...callScope, ...stackRequest, planId: 'plan-0001', stateKey, lockId },
    ]);
    expect(requests.every(({ request }) => Object.isFrozen(request) && Object.isFrozen(request.module))).toBe(true);
  });

  test.each(['opentofu', 'terraform'] as const)('[platform §6.3] the engine %s is the one that runs', async (name) => {
    const ran: string[] = [];
    const engines = (['opentofu', 'terraform'] as const).map((one) => ({
      name: one,
      async plan() {
        ran.push(one);
        return { ok: true as const, plan: goodPlan };
      },
    }));
    const { run } = openPlanning({ engines });
    expect(await run({ ...stackRequest, engine: name })).toMatchObject({ ok: true });
    expect(ran).toEqual([name]);
  });

  test('[platform §6.3] an engine that is not there is infrastructure-engine-not-registered', async () => {
    expect(await openPlanning().run({ ...stackRequest, engine: 'terraform' })).toEqual({
      ok: false,
      code: 'infrastructure-engine-not-registered',
      retryable: false,
    });
  });

  test('[platform §6.3] two engines of one name are a construction error', () => {
    const { engine, stacks, plans, policy, clock } = openPlanning();
    const ports = { stacks: stacks.port, plans: plans.port, policy: policy.port, clock, log: silentLog };
    const ids = { newId: () => 'fresh-00000001', newPlanId: () => 'plan-0001' };
    expect(() => createPlanStack({ ...ports, ...ids, engines: [engine.port, engine.port] })).toThrow(/opentofu/);
  });

  test('[platform §6.3] a stack of another scope is not found, exactly like an unknown one, and neither policy nor engine is called', async () => {
    const { planStack, context, stacks, policy, engine } = openPlanning();
    const none = { ok: false, code: 'deployment-stack-not-found', retryable: false };
    expect(await planStack(context(), { ...stackRequest, stackId: 'stack-3' })).toEqual(none);
    expect(await planStack(context({ tenantId: 'tenant-2' }), stackRequest)).toEqual(none);
    expect(await planStack(context({ projectId: 'project-2' }), stackRequest)).toEqual(none);
    for (const foreign of [{ tenantId: 'tenant-2' }, { projectId: 'project-2' }, { stackId: 'stack-2' }]) {
      stacks.break('find', { kind: 'answer', value: { ...stackRow, ...foreign } });
      expect(await planStack(context(), stackRequest)).toEqual(none);
    }
    expect([...policy.calls, ...engine.calls]).toEqual([]);
  });

  test.each<[string, object]>([
    ['an engine of another name', { engine: 'pulumi' }],
    ['an apply', { apply: true }],
    ['a stack id with a slash', { stackId: 'a/b' }],
    ['a stack id of 101 characters', { stackId: 's'.repeat(101) }],
    ['a module of another scheme', { module: { ...stackRequest.module, reference: 'https://example.org/module' } }],
    ['a module that climbs', { module: { ...stackRequest.module, reference: 'module://a/../b' } }],
    ['a module with a user', { module: { ...stackRequest.module, reference: 'module://user:pw@a' } }],
    ['a module with a query', { module: { ...stackRequest.module, reference: 'module://a?token=1' } }],
    ['a module without path', { module: { ...stackRequest.module, reference: 'module://' } }],
    ['a module without version', { module: { reference: 'module://a', digest } }],
    ['an empty version', { module: { ...stackRequest.module, version: '' } }],
    ['a digest in capitals', { module: { ...stackRequest.module, digest: `sha256:${'A'.repeat(64)}` } }],
    ['a digest of another kind', { module: { ...stackRequest.module, digest: `sha512:${'0'.repeat(64)}` } }],
    ['a digest with a digit too few', { topology: { ...stackRequest.topology, digest: `sha256:${'0'.repeat(63)}` } }],
    ['a topology of another scheme', { topology: { ...stackRequest.topology, reference: 'module://a' } }],
    ['a topology in line', { topology: { nodes: [] } }],
    ['a tenant', { tenantId: 'tenant-2' }],
  ])('[platform §6.3] a request with %s is invalid input, and nothing is read', async (_, members) => {
    const { run, stacks, plans } = openPlanning();
    expect(await run({ ...stackRequest, ...members })).toEqual(invalid);
    expect([...stacks.calls, ...plans.calls]).toEqual(['recordRefusal']);
  });
});

describe('answers of an engine', () => {
  test('[platform §6.3] a plan that keeps to the contract is taken', async () => {
    expect(await openPlanning().answered({ ok: true, plan: goodPlan })).toMatchObject({ ok: true });
  });

  test.each<[string, object]>([
    ['of another plan', { planId: 'plan-0002' }],
    ['of another stack', { stackId: 'stack-2' }],
    ['of another state', { stateKey: 'state/stack-2' }],
    ['with another lock', { lock: { ...goodPlan.lock, lockId: 'lock/stack-2' } }],
    ['with a lock not acquired', { lock: { ...goodPlan.lock, acquired: false } }],
    ['with a lock not released', { lock: { ...goodPlan.lock, released: false } }],
    ['with a lock that says yes in words', { lock: { ...goodPlan.lock, released: 'true' } }],
    ['without lock', { lock: null }],
    ['with an artifact in clear', { artifact: { ...goodPlan.artifact, encrypted: false } }],
    ['with an artifact that is not sensitive', { artifact: { ...goodPlan.artifact, sensitive: false } }],
    ['with an artifact elsewhere', { artifact: { ...goodPlan.artifact, reference: 'https://example.org/plan' } }],
    ['with an artifact without digest', { artifact: { ...goodPlan.artifact, digest: '' } }],
    ['with a change twice', { changes: [plannedChanges[0], plannedChanges[0]] }],
    ['with two actions on one resource', { changes: [plannedChanges[0], { ...plannedChanges[0], action: 'delete' }] }],
    ['with an action of its own', { changes: [{ address: 'a', action: 'destroy' }] }],
    ['with the action constructor', { changes: [{ address: 'a', action: 'constructor' }] }],
    ['with resource values', { changes: [{ address: 'a', action: 'create', after: { password: 'x' } }] }],
    ['with an unknown member', { applied: false }],
    ['without changes', { changes: undefined }],
  ])('[platform §6.3] a plan %s is a contract violation, and nothing is stored', async (_, members) => {
    const { answered, events, audit } = openPlanning();
    expect(await answered({ ok: true, plan: { ...goodPlan, ...members } })).toEqual(violation);
    expect(events()).toEqual([]);
    expect(audit()).toMatchObject([{ entry: { outcome: 'failed' } }]);
  });

  test.each(changeActions)('[platform §6.3] the action %s is counted', async (action) => {
    const changes = [{ address: 'a', action }];
    expect(await openPlanning().answered({ ok: true, plan: { ...goodPlan, changes } })).toMatchObject({
      plan: { changes: { ...noChanges, [action]: 1 } },
    });
  });

  test('[platform §6.3] `plan_changes_max` (10 000) changes are taken, one more is a contract violation', async () => {
    const changes = Array.from({ length: 10_001 }, (_, index) => ({ address: `a.${index}`, action: 'read' }));
    const most = { ...goodPlan, changes: changes.slice(1) };
    expect(await openPlanning().answered({ ok: true, plan: most })).toMatchObject({
      plan: { changes: { read: 10_000 } },
    });
    expect(await openPlanning().answered({ ok: true, plan: { ...goodPlan, changes } })).toEqual(violation);
  });

  test.each([
    ['state-locked', true],
    ['module-digest-mismatch', false],
    ['infrastructure-engine-unavailable', false],
  ])('[platform §6.3] the failure %s keeps its code and retryable %s', async (code, retryable) => {
    const { answered, audit } = openPlanning();
    expect(await answered({ ok: false, code, retryable })).toEqual({ ok: false, code, retryable });
    expect(audit()).toMatchObject([{ entry: { outcome: 'failed', details: { code, retryable } } }]);
  });

  test.each([
    [{ ok: false, code: 'permission-denied', retryable: false }],
    [{ ok: false, code: 'storage-unavailable', retryable: true }],
    [{ ok: false, code: 'State locked by ada', retryable: true }],
    [{ ok: false, code: 'c'.repeat(65), retryable: true }],
    [{ ok: false, code: 'state-locked' }],
    [{ ok: true }],
    [null],
    ['ok'],
  ])('[platform §6.3] the answer %j is a contract violation', async (answer) => {
    expect(await openPlanning().answered(answer)).toEqual(violation);
  });

  test('[platform §6.3] a failed run uses no key up', async () => {
    const { answered, engine, run } = openPlanning();
    expect(await answered({ ok: false, code: 'state-locked', retryable: true })).toMatchObject({ ok: false });
    engine.break('plan', null);
    expect(await run()).toMatchObject({ ok: true, replayed: false });
  });
});

describe('policy', () => {
  test('[platform §6.3] is asked about the request before the engine runs and about the plan after it', async () => {
    const order: string[] = [];
    const asked: unknown[] = [];
    const { run } = openPlanning({
      policy: {
        async judgeRequest(scope, request) {
          order.push('request');
          asked.push(scope, request);
          return { decision: 'allow' };
        },
        async judgePlan(scope, request, changes) {
          order.push('plan');
          asked.push(scope, request, changes);
          return { decision: 'allow' };
        },
      },
      engines: [
        {
          name: 'opentofu',
          async plan() {
            order.push('engine');
            return { ok: true, plan: goodPlan };
          },
        },
      ],
    });
    await run();
    expect(order).toEqual(['request', 'engine', 'plan']);
    expect(asked).toEqual([callScope, stackRequest, callScope, stackRequest, plannedChanges]);
  });

  test('[platform §6.3] a denied request runs no engine, is stored as policy-rejected and is a success of the call', async () => {
    const { run, engine, events, audit } = openPlanning({ policy: inMemoryPlanPolicy({ engines: ['opentofu'] }) });
    const result = await run();
    expect(result).toMatchObject({
      ok: true,
      plan: {
        status: 'policy-rejected',
        approval: 'not-requested',
        changes: null,
        artifact: null,
        rejection: { stage: 'request', reasons: ['engine-not-allowed'] },
      },
    });
    expect(engine.calls).toEqual([]);
    expect(events()).toMatchObject([{ type: 'infrastructure.stack.plan-rejected' }]);
    expect(audit()).toMatchObject([{ entry: { outcome: 'succeeded', details: { status: 'policy-rejected' } } }]);
    expect(await run()).toEqual({ ...result, replayed: true });
  });

  test('[platform §6.3] a denied plan is stored as policy-rejected with its counts and is a success of the call', async () => {
    const { run, engine } = openPlanning({ policy: inMemoryPlanPolicy({ actions: ['create'] }) });
    const result = await run();
    expect(result).toMatchObject({
      ok: true,
      plan: {
        status: 'policy-rejected',
        changes: { create: 2, 'no-op': 1 },
        rejection: { stage: 'plan', reasons: ['action-not-allowed'] },
      },
    });
    expect(await run()).toEqual({ ...result, replayed: true });
    expect(engine.calls).toEqual(['plan']);
  });

  const reasons = (count: number) => Array.from({ length: count }, (_, index) => `reason-${index}`);
  test.each([
    ['nothing', undefined],
    ['a truth', true],
    ['a decision of its own', { decision: 'maybe' }],
    ['an allowance with conditions', { decision: 'allow', unless: 'x' }],
    ['a denial without reasons', { decision: 'deny' }],
    ['a reason that could name a resource', { decision: 'deny', reasons: ['module.network.secret_one'] }],
    ['33 reasons', { decision: 'deny', reasons: reasons(33) }],
  ])('[platform §6.3] a policy that answers %s allows nothing', async (_, value) => {
    for (const method of ['judgeRequest', 'judgePlan'] as const) {
      const { run, policy, events } = openPlanning();
      policy.break(method, { kind: 'answer', value });
      expect(await run()).toEqual({ ok: false, code: 'policy-unavailable', retryable: true });
      expect(events()).toEqual([]);
    }
  });

  test('[platform §6.3] `policy_reasons_max` (32) reasons are stored', async () => {
    const { run, policy } = openPlanning();
    policy.break('judgeRequest', { kind: 'answer', value: { decision: 'deny', reasons: reasons(32) } });
    expect(await run()).toMatchObject({ plan: { rejection: { reasons: reasons(32) } } });
  });

  test.each(['throw', 'hang'] as const)('[platform §6.3] a policy that does %s allows nothing', async (kind) => {
    for (const method of ['judgeRequest', 'judgePlan'] as const) {
      const { run, policy, clock, events } = openPlanning();
      policy.break(method, { kind });
      const result = run();
      await settledPort();
      clock.advance(platformLimits.policy_deadline_ms);
      expect(await result).toEqual({ ok: false, code: 'policy-unavailable', retryable: true });
      expect(events()).toEqual([]);
    }
  });
});
