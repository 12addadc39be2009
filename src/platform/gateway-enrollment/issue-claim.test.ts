/** Issuing an enrollment claim [platform §6.4]. */
import { describe, expect, test } from 'vitest';
import { sha256Hex } from '../../base/digest.ts';
import { at, callScope, commandContext } from '../../testing/application-calls.ts';
import { settledPort } from '../../testing/faulty-port.ts';
import { gatewayId, openEnrollment, otherGatewayId, requestFingerprint } from '../../testing/gateway-enrollment.ts';

const hourMs = 3_600_000;
const invalid = { ok: false, code: 'invalid-input', retryable: false };

/** Made of 32 bytes that are all 1: the first token of the fixture. */
const firstToken = Buffer.alloc(32, 1).toString('base64url');

describe('issue a claim', () => {
  test('[platform §6.4] carries its descriptor: high risk, its permission, explicit confirmation, key and expiry needed', () => {
    expect(openEnrollment().issue.contract).toMatchObject({
      name: 'fleet.gateway.enrollment.issue',
      kind: 'command',
      permission: 'fleet.gateway.enrollment.issue',
      risk: 'high',
      confirmation: 'always',
      audit: 'required',
      idempotency: 'required',
      expiry: 'required',
    });
  });

  test('[platform §6.4] goes to awaiting-claim, revision 2, and returns the token of 32 bytes in base64url', async () => {
    const { issue, registered, fresh, clock, view } = openEnrollment();
    await registered();
    const claimExpiresAt = at(clock, hourMs);
    const result = await issue(fresh(issue.contract), { gatewayId, claimExpiresAt });
    const gateway = {
      ...callScope,
      gatewayId,
      displayName: 'Roof',
      state: 'awaiting-claim',
      revision: 2,
      claimId: expect.stringMatching(/^fresh-/),
      claimExpiresAt,
    };
    expect(result).toEqual({ ok: true, replayed: false, gateway, enrollmentToken: firstToken });
    expect(firstToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(Object.isFrozen(result)).toBe(true);
    expect(await view()).toEqual({ ok: true, gateway });
  });

  test('[platform §6.4] asks for exactly 32 random bytes, once for each token, and takes no other number', async () => {
    const asked: number[] = [];
    const { issue, registered, fresh, clock } = openEnrollment({
      freshBytes(count) {
        asked.push(count);
        return new Uint8Array(31);
      },
    });
    await registered();
    const input = { gatewayId, claimExpiresAt: at(clock, hourMs) };
    await expect(issue(fresh(issue.contract), input)).rejects.toThrow(/random bytes/);
    expect(asked).toEqual([32]);
  });

  test('[platform §6.4] the token is returned exactly once: no replay, status, audit, event or row has it', async () => {
    const { issue, registered, clock, view, store } = openEnrollment();
    await registered();
    const context = commandContext(clock, issue.contract);
    const input = { gatewayId, claimExpiresAt: at(clock, hourMs) };
    await issue(context, input);
    for (let retry = 0; retry < 3; retry++) {
      const replay = await issue(context, input);
      expect(replay).toMatchObject({ ok: true, replayed: true, gateway: { state: 'awaiting-claim' } });
      expect(replay).not.toHaveProperty('enrollmentToken');
      clock.advance(hourMs);
    }
    const traces = JSON.stringify([store.all(), store.journal.audit, store.journal.events, await view()]);
    expect(traces).not.toContain(firstToken);
    expect(traces).not.toContain(Buffer.alloc(32, 1).toString('hex'));
  });

  test('[platform §6.4] only the digest is stored, in the row and nowhere else, and only as long as it is needed', async () => {
    const { issued, consume, fresh, view, store } = openEnrollment();
    const enrollmentToken = await issued();
    const digest = sha256Hex(enrollmentToken);
    expect(JSON.stringify(store.all())).toContain(digest);
    const elsewhere = [store.journal.audit, store.journal.events, await view()];
    expect(JSON.stringify(elsewhere)).not.toContain(digest);
    await consume(fresh(consume.contract), {
      gatewayId,
      enrollmentToken,
      credentialRequestFingerprint: requestFingerprint,
    });
    expect(JSON.stringify([store.all(), store.journal.audit, store.journal.events])).not.toContain(digest);
  });

  test('[platform §6.4] of ten concurrent calls with one key one gets the token', async () => {
    const { issue, registered, clock } = openEnrollment();
    await registered();
    const context = commandContext(clock, issue.contract);
    const input = { gatewayId, claimExpiresAt: at(clock, hourMs) };
    const results = await Promise.all(Array.from({ length: 10 }, () => issue(context, input)));
    expect(results.filter((result) => 'enrollmentToken' in result)).toHaveLength(1);
    expect(results.every((result) => result.ok)).toBe(true);
  });

  test('[platform §6.4] of concurrent calls with keys of their own one issues, the others lost the revision', async () => {
    const { issue, registered, clock, fresh, store } = openEnrollment();
    await registered();
    const input = { gatewayId, claimExpiresAt: at(clock, hourMs) };
    const results = await Promise.all(Array.from({ length: 10 }, () => issue(fresh(issue.contract), input)));
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(results.filter((result) => !result.ok)).toEqual(
      Array.from({ length: 9 }, () => ({ ok: false, code: 'concurrent-modification', retryable: true })),
    );
    expect(store.all()).toMatchObject([{ revision: 2 }]);
  });

  test.each([
    ['1 ms ahead', 1],
    ['24 h ahead', 24 * hourMs],
  ])('[platform §6.4] a claim that expires %s is issued', async (_, aheadMs) => {
    const { issue, registered, fresh, clock } = openEnrollment();
    await registered();
    const input = { gatewayId, claimExpiresAt: at(clock, aheadMs) };
    expect(await issue(fresh(issue.contract), input)).toMatchObject({
      ok: true,
      gateway: { claimExpiresAt: input.claimExpiresAt },
    });
  });

  test.each([
    ['24 h and 1 ms ahead', 24 * hourMs + 1],
    ['now', 0],
    ['in the past', -1],
  ])('[platform §6.4] a claim that expires %s is invalid input', async (_, aheadMs) => {
    const { issue, registered, fresh, clock, store } = openEnrollment();
    await registered();
    expect(await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, aheadMs) })).toEqual(invalid);
    expect(store.all()).toMatchObject([{ state: 'registered', revision: 1 }]);
  });

  test('[platform §6.4] how far ahead a claim may expire is a limit with a name', async () => {
    const { issue, registered, fresh, clock } = openEnrollment({ limits: { claim_ahead_max_ms: 1000 } });
    await registered();
    expect(await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, 1001) })).toEqual(invalid);
    expect(await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, 1000) })).toMatchObject({
      ok: true,
    });
  });

  test.each(['tomorrow', '2026-13-01T00:00:00Z', '2026-01-01', 1_700_000_000_000, null, ''])(
    '[platform §6.4] the expiry %j is invalid input',
    async (claimExpiresAt) => {
      const { issue, registered, fresh } = openEnrollment();
      await registered();
      expect(await issue(fresh(issue.contract), { gatewayId, claimExpiresAt })).toEqual(invalid);
    },
  );

  test('[platform §6.4] a gateway of another scope is gateway-not-found, exactly like an unknown one', async () => {
    const { issue, registered, fresh, clock } = openEnrollment();
    await registered();
    const claimExpiresAt = at(clock, hourMs);
    const none = { ok: false, code: 'gateway-not-found', retryable: false };
    expect(await issue(fresh(issue.contract), { gatewayId: otherGatewayId, claimExpiresAt })).toEqual(none);
    for (const scope of [{ tenantId: 'tenant-2' }, { projectId: 'project-2' }]) {
      expect(await issue(fresh(issue.contract, scope), { gatewayId, claimExpiresAt })).toEqual(none);
    }
  });

  test('[platform §6.4] an open claim is valid until its expiry; an expired, unclaimed one may be issued again', async () => {
    const { issue, consume, issued, fresh, clock, view } = openEnrollment();
    const first = await issued();
    clock.advance(hourMs - 1);
    const again = () => issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, hourMs) });
    expect(await again()).toEqual({ ok: false, code: 'enrollment-claim-active', retryable: false });
    clock.advance(1);
    const second = await again();
    expect(second).toMatchObject({ ok: true, gateway: { state: 'awaiting-claim', revision: 3 } });
    const take = (enrollmentToken: string) =>
      consume(fresh(consume.contract), {
        gatewayId,
        enrollmentToken,
        credentialRequestFingerprint: requestFingerprint,
      });
    // Now the first token is a different one.
    expect(await take(first)).toMatchObject({ code: 'invalid-enrollment-token' });
    expect(await take('enrollmentToken' in second ? second.enrollmentToken : '')).toMatchObject({ ok: true });
    expect(await view()).toMatchObject({ gateway: { state: 'claimed', revision: 4 } });
  });

  test('[platform §6.4] a claimed gateway gets no other claim, also after the claim expired', async () => {
    const { issue, consume, issued, fresh, clock } = openEnrollment();
    const enrollmentToken = await issued();
    await consume(fresh(consume.contract), {
      gatewayId,
      enrollmentToken,
      credentialRequestFingerprint: requestFingerprint,
    });
    clock.advance(2 * hourMs);
    expect(await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, hourMs) })).toEqual({
      ok: false,
      code: 'gateway-already-claimed',
      retryable: false,
    });
  });

  test('[platform §6.4] a token whose commit may have happened is not answered, and its claim can expire', async () => {
    const { issue, registered, fresh, clock, port, store } = openEnrollment();
    await registered();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    port.break('commit', { kind: 'wait', until: promise });
    const context = fresh(issue.contract);
    const input = { gatewayId, claimExpiresAt: at(clock, hourMs) };
    const late = issue(context, input);
    await settledPort();
    clock.advance(5000);
    const unavailable = await late;
    expect(unavailable).toEqual({ ok: false, code: 'storage-unavailable', retryable: true });
    resolve(undefined);
    port.break('commit', null);
    await settledPort();
    expect(store.all()).toMatchObject([{ state: 'awaiting-claim' }]);
    const retry = await issue(context, input);
    expect(retry).toMatchObject({ ok: true, replayed: true });
    expect(retry).not.toHaveProperty('enrollmentToken');
    clock.advance(hourMs);
    expect(await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, hourMs) })).toHaveProperty(
      'enrollmentToken',
    );
  });

  test('contracts a confirmation of another command, without method, or by another method is not a confirmation', async () => {
    const { issue, registered, clock } = openEnrollment();
    await registered();
    const input = { gatewayId, claimExpiresAt: at(clock, hourMs) };
    for (const confirmation of [{ confirmedAt: at(clock) }, { method: 'policy', confirmedAt: at(clock) }, 'explicit']) {
      expect(await issue(commandContext(clock, issue.contract, { confirmation }), input)).toEqual(invalid);
    }
  });
});
