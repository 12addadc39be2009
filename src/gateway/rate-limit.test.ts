/** Rate limits at their edges [platform §2.4]. */
import { describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { gatewayLimits } from './limits.ts';
import { createRateLimits } from './rate-limit.ts';

/** `rate-limited` with its delay, or undefined when the call was admitted. */
async function refusalOf(call: Promise<void>): Promise<Fault | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

const ada = { tenantId: 'tenant', projectId: 'project', subjectId: 'ada' };
const grace = { ...ada, subjectId: 'grace' };

describe('[platform §2.4] limits', () => {
  test('the defaults: 1200 mutations and 1200 calls of data processing a minute of a subject, 600 failed authentications of an address', () => {
    expect(gatewayLimits.mutations_per_minute).toBe(1200);
    expect(gatewayLimits.processing_calls_per_minute).toBe(1200);
    expect(gatewayLimits.failed_authentications_per_minute).toBe(600);
  });

  test('mutation 1200 passes, 1201 is refused; another subject is not concerned', async () => {
    const limits = createRateLimits(gatewayLimits);
    for (let count = 0; count < 1200; count++) await limits.countMutation(ada);
    const refusal = await refusalOf(limits.countMutation(ada));
    expect([refusal?.code, refusal?.status, refusal?.retryable]).toEqual(['rate-limited', 429, true]);
    expect(refusal?.retryAfterMs).toBeGreaterThan(0);
    expect(refusal?.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(await refusalOf(limits.countMutation(grace))).toBeUndefined();
  });

  test('call 1200 of data processing passes, 1201 is refused; mutations and another subject are not concerned', async () => {
    const limits = createRateLimits(gatewayLimits);
    for (let count = 0; count < 1200; count++) await limits.countProcessing(ada);
    const refusal = await refusalOf(limits.countProcessing(ada));
    expect([refusal?.code, refusal?.status, refusal?.retryable]).toEqual(['rate-limited', 429, true]);
    expect(refusal?.retryAfterMs).toBeGreaterThan(0);
    expect(refusal?.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(await refusalOf(limits.countMutation(ada))).toBeUndefined();
    expect(await refusalOf(limits.countProcessing(grace))).toBeUndefined();
  });

  test('600 failures of an address are failures, the next is refused as too many; another address is not concerned', async () => {
    const limits = createRateLimits(gatewayLimits);
    for (let count = 0; count < 600; count++) await limits.countFailedAuthentication('10.0.0.1');
    const refusal = await refusalOf(limits.countFailedAuthentication('10.0.0.1'));
    expect([refusal?.code, (refusal?.retryAfterMs ?? 0) > 0]).toEqual(['rate-limited', true]);
    expect(await refusalOf(limits.countFailedAuthentication('10.0.0.2'))).toBeUndefined();
  });

  test('[identity §6] IPv6 counts by /64', async () => {
    const limits = createRateLimits({ ...gatewayLimits, failed_authentications_per_minute: 2 });
    for (const end of ['1', '2']) await limits.countFailedAuthentication(`2001:db8:1:2::${end}`);
    expect((await refusalOf(limits.countFailedAuthentication('2001:db8:1:2:ffff::9')))?.code).toBe('rate-limited');
    expect(await refusalOf(limits.countFailedAuthentication('2001:db8:1:3::1'))).toBeUndefined();
  });

  test('[identity §6] the mutation budget belongs to tenant, project and subject: a namesake elsewhere has its own', async () => {
    const limits = createRateLimits({ ...gatewayLimits, mutations_per_minute: 1 });
    await limits.countMutation(ada);
    expect((await refusalOf(limits.countMutation(ada)))?.code).toBe('rate-limited');
    expect(await refusalOf(limits.countMutation({ ...ada, tenantId: 'other' }))).toBeUndefined();
    expect(await refusalOf(limits.countMutation({ ...ada, projectId: 'other' }))).toBeUndefined();
  });

  test('[audit §6] a subject searches the audit 300 times a minute, not 301', async () => {
    const limits = createRateLimits(gatewayLimits);
    for (let count = 0; count < 300; count++) await limits.countSearch(ada);
    expect(await refusalOf(limits.countSearch(ada))).toMatchObject({ code: 'rate-limited', status: 429 });
    expect(await refusalOf(limits.countSearch(grace))).toBeUndefined();
  });

  test('when the minute is over, both are let through again', async () => {
    const shortMinuteSeconds = 1;
    const one = { ...gatewayLimits, mutations_per_minute: 1, failed_authentications_per_minute: 1 };
    const limits = createRateLimits(one, shortMinuteSeconds);
    await limits.countMutation(ada);
    await limits.countFailedAuthentication('10.0.0.1');
    expect((await refusalOf(limits.countMutation(ada)))?.code).toBe('rate-limited');
    expect((await refusalOf(limits.countFailedAuthentication('10.0.0.1')))?.code).toBe('rate-limited');
    await expect.poll(() => refusalOf(limits.countMutation(ada))).toBeUndefined();
    await expect.poll(() => refusalOf(limits.countFailedAuthentication('10.0.0.1'))).toBeUndefined();
  });
});
