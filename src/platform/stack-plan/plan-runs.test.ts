/** Runs of an engine: one per key, cancelled by a waiting caller, ended by a deadline, counted [platform §6.3]. */
import { describe, expect, test } from 'vitest';
import { holdMethod, settledPort } from '../../testing/faulty-port.ts';
import { openPlanning, stackRequest } from '../../testing/stack-planning.ts';
import { platformLimits } from '../limits.ts';

const cancelled = { ok: false, code: 'operation-cancelled', retryable: true };

describe('runs of an engine', () => {
  test('[platform §6.3] two concurrent calls with one key run the engine once, whichever way they meet', async () => {
    for (const method of ['find', 'findByRequest', 'judgeRequest', 'plan', 'judgePlan', 'insert'] as const) {
      const { run, stacks, plans, policy, engine, events } = openPlanning();
      const held =
        method === 'find'
          ? holdMethod(stacks, method)
          : method === 'plan'
            ? holdMethod(engine, method)
            : method === 'findByRequest' || method === 'insert'
              ? holdMethod(plans, method)
              : holdMethod(policy, method);
      const first = run();
      await settledPort();
      const second = run();
      await settledPort();
      held.forNewCalls();
      held.forAll();
      const results = await Promise.all([first, second]);
      expect(results.map((result) => 'replayed' in result && result.replayed).toSorted(), method).toEqual([
        false,
        true,
      ]);
      expect(engine.calls, method).toEqual(['plan']);
      expect(events(), method).toHaveLength(1);
    }
  });

  test('[platform §6.3] a call that looked up before another one planned, and would run after it, replays', async () => {
    const { run, plans, engine } = openPlanning();
    const first = await run();
    // The first lookup is made at once, before the port is repaired; it answers that there is no plan yet.
    plans.break('findByRequest', { kind: 'answer', value: null });
    const overtaken = run();
    plans.break('findByRequest', null);
    expect(await overtaken).toEqual({ ...first, replayed: true });
    expect(engine.calls).toEqual(['plan']);
  });

  test('[platform §6.3] the same key in another scope, or another key, is a separate run', async () => {
    const { planStack, context, engine, run } = openPlanning();
    const results = await Promise.all([run(), planStack(context({ idempotencyKey: 'key-00000002' }), stackRequest)]);
    expect(results.map((result) => result.ok)).toEqual([true, true]);
    expect(engine.calls).toEqual(['plan', 'plan']);
  });

  test('[platform §6.3] while a run is under way its key is taken: other input or another subject is a conflict', async () => {
    const { run, planStack, context, engine } = openPlanning();
    const held = holdMethod(engine, 'plan');
    const first = run();
    await settledPort();
    const conflict = { ok: false, code: 'idempotency-conflict', retryable: false };
    expect(await run({ ...stackRequest, stackId: 'stack-2' })).toEqual(conflict);
    expect(await planStack(context({ subjectId: 'eve' }), stackRequest)).toEqual(conflict);
    held.forAll();
    expect(await first).toMatchObject({ ok: true });
  });

  test('[platform §6.3] a failed run is the answer of all who waited, and each is recorded', async () => {
    const { run, engine, audit } = openPlanning();
    engine.break('plan', { kind: 'throw' });
    const unavailable = { ok: false, code: 'infrastructure-engine-unavailable', retryable: true };
    expect(await Promise.all([run(), run()])).toEqual([unavailable, unavailable]);
    expect(engine.calls).toEqual(['plan']);
    expect(audit().map(({ entry }) => entry.outcome)).toEqual(['failed', 'failed']);
    // The password in the engine's error is recorded nowhere.
    expect(JSON.stringify(audit())).not.toContain('hunter2');
  });

  test('[platform §6.3] an engine is cancelled at its deadline', async () => {
    const { run, engine, clock, events } = openPlanning();
    const signals: AbortSignal[] = [];
    const stuck = openPlanning({
      engines: [
        {
          name: 'opentofu',
          plan(_, signal) {
            signals.push(signal);
            return new Promise(() => undefined);
          },
        },
      ],
    });
    const ended: unknown[] = [];
    void stuck.run().then((end) => ended.push(end));
    await settledPort();
    stuck.clock.advance(platformLimits.engine_deadline_ms - 1);
    await settledPort();
    expect(ended).toEqual([]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    stuck.clock.advance(1);
    await settledPort();
    expect(ended).toEqual([{ ok: false, code: 'infrastructure-engine-unavailable', retryable: true }]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(stuck.events()).toEqual([]);

    // An answer in the last millisecond still counts.
    const held = holdMethod(engine, 'plan');
    const inTime = run();
    await settledPort();
    clock.advance(platformLimits.engine_deadline_ms - 1);
    held.forAll();
    expect(await inTime).toMatchObject({ ok: true });
    expect(events()).toHaveLength(1);
  });

  test('[platform §6.3] an aborted signal plans nothing, and is recorded', async () => {
    const { run, stacks, engine, audit } = openPlanning();
    expect(await run(stackRequest, AbortSignal.abort())).toEqual(cancelled);
    expect([...stacks.calls, ...engine.calls]).toEqual([]);
    expect(audit()).toMatchObject([{ entry: { outcome: 'failed', details: { code: 'operation-cancelled' } } }]);
  });

  test('[platform §6.3] an abort ends the call at once, stops the engine, and stores no plan', async () => {
    for (const method of ['judgeRequest', 'judgePlan'] as const) {
      const { run, policy, events } = openPlanning();
      const held = holdMethod(policy, method);
      const controller = new AbortController();
      const call = run(stackRequest, controller.signal);
      await settledPort();
      controller.abort();
      expect(await call, method).toEqual(cancelled);
      held.forAll();
      await settledPort();
      expect(events(), method).toEqual([]);
    }
    const { run, engine, requests, events } = openPlanning();
    const controller = new AbortController();
    const stuck = holdMethod(engine, 'plan');
    const call = run(stackRequest, controller.signal);
    await settledPort();
    controller.abort();
    expect(await call).toEqual(cancelled);
    stuck.forAll();
    await settledPort();
    expect(requests.map(({ signal }) => signal.aborted)).toEqual([true]);
    expect(events()).toEqual([]);
  });

  test('[platform §6.3] who leaves does not take the run from who stays; when the last leaves it stops', async () => {
    const { run, engine, requests, events } = openPlanning();
    const leaving = new AbortController();
    const held = holdMethod(engine, 'plan');
    const stays = run();
    const leaves = run(stackRequest, leaving.signal);
    await settledPort();
    leaving.abort();
    expect(await leaves).toEqual(cancelled);
    held.forAll();
    expect(await stays).toMatchObject({ ok: true, replayed: false });
    expect(requests.map(({ signal }) => signal.aborted)).toEqual([false]);
    expect(events()).toHaveLength(1);
  });

  test('[platform §6.3] after an abort the same key runs again', async () => {
    const { run, engine, events } = openPlanning();
    const controller = new AbortController();
    engine.break('plan', { kind: 'hang' });
    const first = run(stackRequest, controller.signal);
    await settledPort();
    controller.abort();
    expect(await first).toEqual(cancelled);
    engine.break('plan', null);
    expect(await run()).toMatchObject({ ok: true, replayed: false });
    expect(events()).toHaveLength(1);
  });

  test('[platform §6.3] an insert that began is not abandoned: a retry gets the plan', async () => {
    const { run, plans, events } = openPlanning();
    const held = holdMethod(plans, 'insert');
    const controller = new AbortController();
    const call = run(stackRequest, controller.signal);
    await settledPort();
    controller.abort();
    expect(await call).toEqual(cancelled);
    held.forAll();
    await settledPort();
    expect(events()).toHaveLength(1);
    expect(await run()).toMatchObject({ ok: true, replayed: true });
  });

  test('[platform §6.3] 16 runs may be in progress; one more is refused because the engine is busy', async () => {
    const { planStack, context, engine } = openPlanning();
    const held = holdMethod(engine, 'plan');
    const call = (index: number) => planStack(context({ idempotencyKey: `key-run-${index}` }), stackRequest);
    const most = Array.from({ length: platformLimits.engine_runs_max }, (_, index) => call(index));
    await settledPort();
    expect(await call(99)).toEqual({ ok: false, code: 'infrastructure-engine-busy', retryable: true });
    // Callers that join a run add none.
    const joined = call(0);
    held.forAll();
    expect((await Promise.all([...most, joined])).every((result) => result.ok)).toBe(true);
    expect(engine.calls).toHaveLength(platformLimits.engine_runs_max);
    expect(await call(99)).toMatchObject({ ok: true });
  });

  test.each(['throw', 'hang'] as const)(
    '[platform §6.3] a lookup of the stack that does %s is storage-unavailable',
    async (kind) => {
      const { run, stacks, engine, clock } = openPlanning();
      stacks.break('find', { kind });
      const result = run();
      await settledPort();
      clock.advance(platformLimits.store_deadline_ms);
      expect(await result).toEqual({ ok: false, code: 'storage-unavailable', retryable: true });
      expect(engine.calls).toEqual([]);
    },
  );
});
