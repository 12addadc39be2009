/** Consuming an enrollment claim [platform §6.4]. */
import { describe, expect, test } from 'vitest';
import { at, callScope, commandContext } from '../../testing/application-calls.ts';
import {
  gatewayId,
  type OpenEnrollment,
  openEnrollment,
  otherGatewayId,
  requestFingerprint,
} from '../../testing/gateway-enrollment.ts';

const hourMs = 3_600_000;
const wrongToken = Buffer.alloc(32, 99).toString('base64url');
const wrong = { ok: false, code: 'invalid-enrollment-token', retryable: false };
const expired = { ok: false, code: 'enrollment-claim-expired', retryable: false };
const invalid = { ok: false, code: 'invalid-input', retryable: false };

function take({ consume, fresh }: OpenEnrollment, enrollmentToken: string, overrides: object = {}) {
  return consume(fresh(consume.contract), {
    gatewayId,
    enrollmentToken,
    credentialRequestFingerprint: requestFingerprint,
    ...overrides,
  });
}

describe('consume a claim', () => {
  test('[platform §6.4] carries its descriptor: authorized by the token, actor kind gateway, key and expiry needed', () => {
    expect(openEnrollment().consume.contract).toMatchObject({
      kind: 'command',
      permission: null,
      subjectKind: 'gateway',
      audit: 'required',
      idempotency: 'required',
      expiry: 'required',
    });
  });

  test('[platform §6.4] goes to claimed, revision 3, with the moment of the claim', async () => {
    const enrollment = openEnrollment();
    const token = await enrollment.issued();
    const claimExpiresAt = at(enrollment.clock, hourMs);
    enrollment.clock.advance(1000);
    const gateway = {
      ...callScope,
      gatewayId,
      displayName: 'Roof',
      state: 'claimed',
      revision: 3,
      claimId: expect.stringMatching(/^fresh-/),
      claimExpiresAt,
      claimedAt: at(enrollment.clock),
    };
    expect(await take(enrollment, token)).toEqual({ ok: true, replayed: false, gateway });
    expect(await enrollment.view()).toEqual({ ok: true, gateway });
    expect(enrollment.store.all()).toMatchObject([{ credentialRequestFingerprint: requestFingerprint }]);
  });

  test('[platform §6.4] the view of no state has a token, a digest or a fingerprint', async () => {
    const enrollment = openEnrollment();
    const allowed = [
      ['tenantId', 'projectId', 'gatewayId', 'displayName', 'state', 'revision'],
      ['claimId', 'claimExpiresAt', 'claimedAt'],
    ].flat();
    const look = async (): Promise<string[]> => {
      const status = (await enrollment.view()) as { gateway: object };
      return Object.keys(status.gateway);
    };
    await enrollment.registered();
    expect(await look()).toEqual(allowed.slice(0, 6));
    const { issue, fresh, clock } = enrollment;
    const claim = await issue(fresh(issue.contract), { gatewayId, claimExpiresAt: at(clock, hourMs) });
    expect(await look()).toEqual(allowed.slice(0, 8));
    await take(enrollment, 'enrollmentToken' in claim ? claim.enrollmentToken : '');
    expect(await look()).toEqual(allowed);
  });

  test('[platform §6.4] only a gateway may consume', async () => {
    const { issued, consume, clock } = openEnrollment();
    const enrollmentToken = await issued();
    for (const subjectKind of ['user', 'service-account', 'system']) {
      const context = commandContext(clock, consume.contract, { subjectKind });
      const input = { gatewayId, enrollmentToken, credentialRequestFingerprint: requestFingerprint };
      expect(await consume(context, input)).toEqual(invalid);
    }
  });

  test('[platform §6.4] unknown gateway, wrong state and wrong token are one answer, compared alike, recorded alike', async () => {
    const cases: Record<string, (enrollment: OpenEnrollment) => Promise<unknown>> = {
      unknown: (enrollment) => take(enrollment, wrongToken),
      async 'of another tenant'(enrollment) {
        const token = await enrollment.issued();
        const { consume, fresh } = enrollment;
        const input = { gatewayId, enrollmentToken: token, credentialRequestFingerprint: requestFingerprint };
        return consume(fresh(consume.contract, { tenantId: 'tenant-2' }), input);
      },
      async registered(enrollment) {
        await enrollment.registered();
        return take(enrollment, wrongToken);
      },
      async 'claimed, wrong token'(enrollment) {
        await take(enrollment, await enrollment.issued());
        return take(enrollment, wrongToken);
      },
      async 'claimed, right token'(enrollment) {
        const token = await enrollment.issued();
        await take(enrollment, token);
        return take(enrollment, token);
      },
      async 'awaiting, wrong token'(enrollment) {
        await enrollment.issued();
        return take(enrollment, wrongToken);
      },
      async 'awaiting and expired, wrong token'(enrollment) {
        await enrollment.issued();
        enrollment.clock.advance(hourMs);
        return take(enrollment, wrongToken);
      },
      async 'of another gateway'(enrollment) {
        return take(enrollment, await enrollment.issued(), { gatewayId: otherGatewayId });
      },
    };
    const seen = new Set<string>();
    for (const [what, attempt] of Object.entries(cases)) {
      const enrollment = openEnrollment();
      expect(await attempt(enrollment), what).toEqual(wrong);
      const { compared, port, store } = enrollment;
      // The last comparison belongs to this attempt, and compares digests of one length.
      expect(compared.at(-1), what).toEqual([32, 32]);
      const entry = store.journal.audit.at(-1)?.entry;
      const { resource: _, correlationId: __, ...record } = entry ?? {};
      const lastCalls = port.calls.slice(-4);
      seen.add(JSON.stringify({ record, lastCalls }));
    }
    expect([...seen]).toHaveLength(1);
    expect([...seen][0]).toContain('["findReceipt","find","findReceipt","recordRefusal"]');
  });

  test('[platform §6.4] each of the cases compares exactly once', async () => {
    const enrollment = openEnrollment();
    await take(enrollment, wrongToken);
    expect(enrollment.compared).toHaveLength(1);
    const token = await enrollment.issued();
    await take(enrollment, wrongToken);
    expect(enrollment.compared).toHaveLength(2);
    await take(enrollment, token);
    expect(enrollment.compared).toHaveLength(3);
    await take(enrollment, token);
    expect(enrollment.compared).toHaveLength(4);
  });

  test('[platform §6.4] a matching digest does not enroll a gateway that is not awaiting a claim', async () => {
    // If the result of the comparison alone counted, a digest equal to the placeholder would be accepted.
    const enrollment = openEnrollment({ constantTimeEqual: () => true });
    expect(await take(enrollment, wrongToken)).toEqual(wrong);
    await enrollment.registered();
    expect(await take(enrollment, wrongToken)).toEqual(wrong);
  });

  test('[platform §6.4] the right token is good until the last millisecond before its expiry', async () => {
    const enrollment = openEnrollment();
    const token = await enrollment.issued();
    enrollment.clock.advance(hourMs - 1);
    expect(await take(enrollment, token)).toMatchObject({ ok: true });
  });

  test('[platform §6.4] the right token out of its window is enrollment-claim-expired, and nothing changes', async () => {
    const enrollment = openEnrollment();
    const token = await enrollment.issued();
    enrollment.clock.advance(hourMs);
    expect(await take(enrollment, token)).toEqual(expired);
    // A wall clock set back to before the issue.
    enrollment.clock.jumpWall(-hourMs - 1);
    expect(await take(enrollment, token)).toEqual(expired);
    enrollment.clock.jumpWall(1);
    expect(await take(enrollment, token)).toMatchObject({ ok: true });
  });

  test('[platform §6.4] a token is good once: of concurrent calls with keys of their own one enrolls', async () => {
    const enrollment = openEnrollment();
    const token = await enrollment.issued();
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        take(enrollment, token, { credentialRequestFingerprint: index.toString(16).repeat(64) }),
      ),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(enrollment.store.all()).toMatchObject([{ state: 'claimed', revision: 3 }]);
    expect(await take(enrollment, token)).toEqual(wrong);
  });

  test('[platform §6.4] a retry with its key gets the receipt, without the token it is another request', async () => {
    const enrollment = openEnrollment();
    const token = await enrollment.issued();
    const { consume, clock } = enrollment;
    const context = commandContext(clock, consume.contract);
    const input = { gatewayId, enrollmentToken: token, credentialRequestFingerprint: requestFingerprint };
    await consume(context, input);
    clock.advance(2 * hourMs);
    expect(await consume(context, input)).toMatchObject({ ok: true, replayed: true, gateway: { state: 'claimed' } });
    expect(await consume(context, { ...input, enrollmentToken: wrongToken })).toMatchObject({
      code: 'idempotency-conflict',
    });
  });

  test.each([
    ['no token', { enrollmentToken: '' }],
    ['a short token', { enrollmentToken: 'A'.repeat(42) }],
    ['a long token', { enrollmentToken: 'A'.repeat(44) }],
    ['a token in base64', { enrollmentToken: `${'A'.repeat(42)}+` }],
    ['a token as bytes', { enrollmentToken: new Uint8Array(32) }],
    ['a short fingerprint', { credentialRequestFingerprint: 'a'.repeat(63) }],
    ['a long fingerprint', { credentialRequestFingerprint: 'a'.repeat(65) }],
    ['a fingerprint in capitals', { credentialRequestFingerprint: 'A'.repeat(64) }],
    ['a fingerprint that is not hexadecimal', { credentialRequestFingerprint: 'g'.repeat(64) }],
  ])('[platform §6.4] %s is invalid input, and nothing is read', async (_, member) => {
    const enrollment = openEnrollment();
    const token = await enrollment.issued();
    const before = enrollment.port.calls.length;
    expect(await take(enrollment, token, member)).toEqual(invalid);
    expect(enrollment.port.calls.slice(before)).toEqual(['recordRefusal']);
  });

  test('[platform §6.4] no trace of a refused attempt has the token that was shown', async () => {
    const enrollment = openEnrollment();
    await enrollment.issued();
    await take(enrollment, wrongToken);
    const { audit, events } = enrollment.store.journal;
    expect(JSON.stringify([audit, events])).not.toContain(wrongToken);
  });
});
