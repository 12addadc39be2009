/** Registration of a gateway [platform §6.4]. */
import { describe, expect, test } from 'vitest';
import { at, callScope, commandContext } from '../../testing/application-calls.ts';
import {
  gatewayId,
  type OpenEnrollment,
  openEnrollment,
  otherGatewayId,
  requestFingerprint,
} from '../../testing/gateway-enrollment.ts';

const input = { gatewayId, displayName: 'Roof' };
const exists = { ok: false, code: 'gateway-already-exists', retryable: false };
const invalid = { ok: false, code: 'invalid-input', retryable: false };

const registeredView = { ...callScope, gatewayId, displayName: 'Roof', state: 'registered', revision: 1 };

/** Takes the gateway from registered through awaiting-claim to claimed, calling `look` in each state. */
async function throughAllStates(enrollment: OpenEnrollment, look: (state: string) => Promise<void>): Promise<void> {
  const { issue, consume, fresh, clock } = enrollment;
  await look('registered');
  const claim = await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, 60_000) });
  await look('awaiting-claim');
  const enrollmentToken = 'enrollmentToken' in claim ? claim.enrollmentToken : '';
  await consume(fresh(consume.contract), {
    gatewayId,
    enrollmentToken,
    credentialRequestFingerprint: requestFingerprint,
  });
  await look('claimed');
}

describe('register a gateway', () => {
  test('[platform §6.4] carries its descriptor: low risk, its permission, no confirmation, key and expiry needed', () => {
    expect(openEnrollment().register.contract).toEqual({
      name: 'fleet.gateway.create',
      summary: 'Register a gateway',
      kind: 'command',
      permission: 'fleet.gateway.create',
      risk: 'low',
      confirmation: 'never',
      audit: 'required',
      idempotency: 'required',
      expiry: 'required',
      subjectKind: null,
    });
  });

  test('[platform §6.4] begins as registered, revision 1, without a claim', async () => {
    const { register, fresh, view, store } = openEnrollment();
    const result = await register(fresh(register.contract), input);
    expect(result).toEqual({ ok: true, replayed: false, gateway: registeredView });
    expect(Object.isFrozen(result) && 'gateway' in result && Object.isFrozen(result.gateway)).toBe(true);
    expect(await view()).toEqual({ ok: true, gateway: registeredView });
    expect(store.journal.events).toMatchObject([{ type: 'fleet.gateway.registered', data: registeredView }]);
  });

  test('[platform §6.4] the same request replays its answer in every later state', async () => {
    const enrollment = openEnrollment();
    const { register, clock, view } = enrollment;
    const context = commandContext(clock, register.contract);
    await register(context, input);
    await throughAllStates(enrollment, async (state) => {
      expect(await view()).toMatchObject({ gateway: { state } });
      expect(await register(context, input)).toEqual({ ok: true, replayed: true, gateway: registeredView });
    });
  });

  test('[platform §6.4] another request is gateway-already-exists in every state, with the same name too', async () => {
    const enrollment = openEnrollment();
    const { register, fresh, store } = enrollment;
    await register(fresh(register.contract), input);
    await throughAllStates(enrollment, async (state) => {
      const before = store.all();
      expect(await register(fresh(register.contract), input), state).toEqual(exists);
      expect(await register(fresh(register.contract), { ...input, displayName: 'Cellar' }), state).toEqual(exists);
      expect(store.all(), state).toEqual(before);
    });
  });

  test('[platform §6.4] the same gateway id in another tenant or project is another gateway', async () => {
    const { register, fresh, view } = openEnrollment();
    await register(fresh(register.contract), input);
    for (const scope of [{ tenantId: 'tenant-2' }, { projectId: 'project-2' }]) {
      expect(await view(scope)).toEqual({ ok: false, code: 'gateway-not-found', retryable: false });
      expect(await register(fresh(register.contract, scope), input)).toMatchObject({ ok: true, replayed: false });
      expect(await view(scope)).toMatchObject({ gateway: scope });
    }
  });

  test('contracts the same key in another scope is another request', async () => {
    const { register, clock } = openEnrollment();
    await register(commandContext(clock, register.contract), input);
    const elsewhere = commandContext(clock, register.contract, { tenantId: 'tenant-2' });
    expect(await register(elsewhere, input)).toMatchObject({ ok: true, replayed: false });
  });

  test('[platform §6.4] of concurrent requests with keys of their own one registers', async () => {
    const { register, fresh, store } = openEnrollment();
    const calls = Array.from({ length: 20 }, () => register(fresh(register.contract), input));
    const results = await Promise.all(calls);
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(results.filter((result) => !result.ok)).toEqual(Array.from({ length: 19 }, () => exists));
    expect(store.journal.audit.map(({ entry }) => entry.outcome).toSorted()).toEqual([
      ...Array.from({ length: 19 }, () => 'denied'),
      'succeeded',
    ]);
  });

  test.each([
    ['one character', 'R'],
    ['128 characters', 'R'.repeat(128)],
    ['128 characters beyond the basic plane', '𝟙'.repeat(128)],
    ['blanks inside', 'Roof of the barn'],
    ['combining marks', 'Dächer \u0061\u0308'],
  ])('[platform §6.4] a display name of %s is taken', async (_, displayName) => {
    const { register, fresh } = openEnrollment();
    expect(await register(fresh(register.contract), { gatewayId, displayName })).toMatchObject({
      gateway: { displayName },
    });
  });

  test.each([
    ['nothing', ''],
    ['129 characters', 'R'.repeat(129)],
    ['129 characters beyond the basic plane', '𝟙'.repeat(129)],
    ['a blank', ' '],
    ['a blank at its end', 'Roof '],
    ['a no-break space at its start', '\u00a0Roof'],
    ['a line break', 'Roof\nCellar'],
    ['a line break at its end', 'Roof\n'],
    ['a zero byte', 'Roof\u0000'],
    ['an escape', '\u001b[31mRoof'],
    ['half a surrogate pair', 'Roof\ud835'],
    ['no text', 7],
    ['null', null],
  ])('[platform §6.4] a display name of %s is invalid input', async (_, displayName) => {
    const { register, fresh } = openEnrollment();
    expect(await register(fresh(register.contract), { gatewayId, displayName })).toEqual(invalid);
  });

  test.each([
    '',
    'gateway-1',
    gatewayId.toUpperCase(),
    `{${gatewayId}}`,
    `urn:uuid:${gatewayId}`,
    gatewayId.replaceAll('-', ''),
    `${gatewayId}0`,
    `${gatewayId}\n`,
    `../${gatewayId}`,
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ])('[platform §6.4] the gateway id %j is invalid input', async (id) => {
    const { register, fresh } = openEnrollment();
    expect(await register(fresh(register.contract), { gatewayId: id, displayName: 'Roof' })).toEqual(invalid);
  });

  test('contracts scope, subject and permissions in the input are refused', async () => {
    const { register, fresh, store } = openEnrollment();
    for (const smuggled of [{ tenantId: 'tenant-2' }, { permissions: ['*'] }, { subjectId: 'root' }, { revision: 7 }]) {
      expect(await register(fresh(register.contract), { ...input, ...smuggled })).toEqual(invalid);
    }
    expect(store.all()).toEqual([]);
  });

  test('contracts a store that returns a row of another scope, or another gateway, does not expose it', async () => {
    const { register, view, port, fresh } = openEnrollment();
    const row = { ...registeredView, revision: 1, state: 'registered' };
    for (const foreign of [{ tenantId: 'tenant-2' }, { projectId: 'project-2' }, { gatewayId: otherGatewayId }]) {
      port.break('find', { kind: 'answer', value: { ...row, ...foreign } });
      expect(await view()).toEqual({ ok: false, code: 'gateway-not-found', retryable: false });
    }
    port.break('find', null);
    expect(await register(fresh(register.contract), input)).toMatchObject({ ok: true });
  });
});
