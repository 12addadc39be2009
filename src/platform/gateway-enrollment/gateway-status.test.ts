/** Gateway status [platform §6.5]. */
import { describe, expect, test } from 'vitest';
import { callScope } from '../../testing/application-calls.ts';
import { settledPort } from '../../testing/faulty-port.ts';
import { gatewayId, openEnrollment } from '../../testing/gateway-enrollment.ts';
import { hostileVariants } from '../../testing/hostile-values.ts';
import { platformLimits } from '../limits.ts';

const invalid = { ok: false, code: 'invalid-input', retryable: false };

describe('gateway status', () => {
  test('[platform §6.5] carries its descriptor: a query of low risk that needs a permission and nothing else', () => {
    expect(openEnrollment().status.contract).toMatchObject({
      name: 'fleet.gateway.enrollment.read',
      kind: 'query',
      permission: 'fleet.gateway.enrollment.read',
      risk: 'low',
      confirmation: 'never',
      audit: 'not-required',
      idempotency: 'not-required',
      expiry: 'not-required',
    });
  });

  test('[platform §6.5] a gateway of another scope is gateway-not-found, exactly like an unknown one', async () => {
    const { view, registered } = openEnrollment();
    const none = await view();
    expect(none).toEqual({ ok: false, code: 'gateway-not-found', retryable: false });
    await registered();
    expect(await view({ tenantId: 'tenant-2' })).toEqual(none);
    expect(await view({ projectId: 'project-2' })).toEqual(none);
    expect(await view()).toMatchObject({ ok: true });
  });

  test('[platform §6.5] permission is checked after decoding and before any read', async () => {
    const { view, status, port } = openEnrollment();
    expect(await view({ permissions: ['fleet.gateway.create'] })).toEqual({
      ok: false,
      code: 'permission-denied',
      retryable: false,
    });
    expect(await status({ permissions: [] }, {})).toEqual(invalid);
    expect(port.calls).toEqual([]);
  });

  test('[platform §6.5] `permissions_max`: a context may carry 256 permissions, not one more', async () => {
    const { view, status } = openEnrollment();
    const some = Array.from({ length: platformLimits.permissions_max }, (_, index) => `permission-${index}`);
    expect(await view({ permissions: [...some.slice(1), status.contract.permission] })).toMatchObject({
      code: 'gateway-not-found',
    });
    expect(await view({ permissions: [...some, status.contract.permission] })).toEqual(invalid);
  });

  test('[platform §6.5] hostile contexts and inputs are invalid input, and nothing is read', async () => {
    const { status, port } = openEnrollment();
    const context = { ...callScope, subjectKind: 'user', subjectId: 'ada', permissions: [status.contract.permission] };
    for (const { what, value } of hostileVariants(context)) {
      expect(await status(value, { gatewayId }), what).toEqual(invalid);
    }
    for (const { what, value } of hostileVariants({ gatewayId })) {
      expect(await status(context, value), what).toEqual(invalid);
    }
    expect(port.calls).toEqual([]);
  });

  test('[platform §6.5] a store that fails or does not answer within 5 s is storage-unavailable', async () => {
    const { view, port, clock } = openEnrollment();
    const unavailable = { ok: false, code: 'storage-unavailable', retryable: true };
    port.break('find', { kind: 'throw' });
    expect(await view()).toEqual(unavailable);
    port.break('find', { kind: 'hang' });
    let ended = false;
    const late = view().finally(() => {
      ended = true;
    });
    clock.advance(4999);
    await settledPort();
    expect(ended).toBe(false);
    clock.advance(1);
    expect(await late).toEqual(unavailable);
  });
});
