/** What every plan engine must do [platform §6.3]. */
import { describe, expect, test } from 'vitest';
import { judgeEngineAnswer } from './decode.ts';
import type { EngineRequest, PlanEngine } from './ports.ts';

const digest = `sha256:${'0'.repeat(64)}`;

/** `open` gives an engine that can plan this request. */
export function planEngineContract(name: string, open: () => Promise<PlanEngine>): void {
  const requestFor = (engine: PlanEngine): EngineRequest => ({
    tenantId: 'tenant-1',
    projectId: 'project-1',
    stackId: 'stack-1',
    engine: engine.name,
    module: { reference: 'module://network/base', version: '1.2.3', digest },
    topology: { reference: 'topology://site/one', digest },
    planId: 'plan-0001',
    stateKey: 'state/stack-1',
    lockId: 'lock/stack-1',
  });

  describe(`plan engine: ${name}`, () => {
    test('[platform §6.3] the plan passes every check', async () => {
      const engine = await open();
      const answer = await engine.plan(requestFor(engine), new AbortController().signal);
      expect(judgeEngineAnswer(answer, requestFor(engine), 10_000)).toMatchObject({ ok: true });
    });

    test('[platform §6.3] it has no way to apply', async () => {
      const engine = await open();
      expect(Object.keys(engine).toSorted()).toEqual(['name', 'plan']);
    });

    test('[platform §6.3] after an abort there is no plan', async () => {
      const engine = await open();
      const answer = await engine.plan(requestFor(engine), AbortSignal.abort()).catch(() => null);
      expect(answer?.ok ?? false).toBe(false);
    });
  });
}
