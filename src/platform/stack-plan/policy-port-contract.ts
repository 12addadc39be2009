/** What every planning policy must do [platform §6.3]. */
import { describe, expect, test } from 'vitest';
import { decodePolicyDecision } from './decode.ts';
import type { EnginePlan, PlanPolicy, StackRequest } from './ports.ts';

export interface OpenPolicy {
  readonly policy: PlanPolicy;
  readonly allowed: { readonly request: StackRequest; readonly changes: EnginePlan['changes'] };
  /** Refused before the engine runs. */
  readonly refusedRequest: StackRequest;
  /** Refused once they are known, of the allowed request. */
  readonly refusedChanges: EnginePlan['changes'];
}

const scope = { tenantId: 'tenant-1', projectId: 'project-1' };

export function planPolicyContract(name: string, open: () => Promise<OpenPolicy>): void {
  describe(`planning policy: ${name}`, () => {
    test('[platform §6.3] allows what it allows, on the request and on the plan', async () => {
      const { policy, allowed } = await open();
      expect(await policy.judgeRequest(scope, allowed.request)).toEqual({ decision: 'allow' });
      expect(await policy.judgePlan(scope, allowed.request, allowed.changes)).toEqual({ decision: 'allow' });
    });

    test('[platform §6.3] its denials have reasons that decode and name no resource', async () => {
      const { policy, allowed, refusedRequest, refusedChanges } = await open();
      const denials = [
        await policy.judgeRequest(scope, refusedRequest),
        await policy.judgePlan(scope, allowed.request, refusedChanges),
      ];
      for (const denial of denials) {
        expect(denial.decision).toBe('deny');
        expect(decodePolicyDecision(denial)).toEqual(denial);
        for (const change of refusedChanges) expect(JSON.stringify(denial)).not.toContain(change.address);
      }
    });
  });
}
