/** The list of issued tokens [identity §7.3]. */
import { expect, test } from 'vitest';
import { issuedTokens } from './issued-tokens.ts';

const issuedAt = '2026-11-29T22:00:00.250Z';
const issuedMs = Date.parse('2026-11-29T22:00:00Z');
const issue = { occurredAt: issuedAt, details: { token_id: 'id-1', subject: 'ada', role: 'Admin', ttl_seconds: 60 } };
const listed = {
  token_id: 'id-1',
  subject: 'ada',
  role: 'Admin',
  issued_at: issuedAt,
  expires_at: '2026-11-29T22:01:00.000Z',
};

test('[identity §7.3] a token is listed until it expires', () => {
  expect(issuedTokens([issue], [], issuedMs + 59_999)).toEqual([{ ...listed, state: 'valid' }]);
  expect(issuedTokens([issue], [], issuedMs + 60_000)).toEqual([]);
});

test('[identity §7.3] a token has the time of its issue, not that of its record', () => {
  const issued_at = '2026-11-29T22:00:01.000Z';
  const later = { ...issue, details: { ...issue.details, issued_at } };
  expect(issuedTokens([later], [], issuedMs)).toEqual([
    { ...listed, issued_at, expires_at: '2026-11-29T22:01:01.000Z', state: 'valid' },
  ]);
});

test.each([
  ['its own', { kind: 'token', value: 'id-1', revokedMs: 0 }, 'revoked'],
  ['of another token', { kind: 'token', value: 'id-2', revokedMs: 0 }, 'valid'],
  ['of its subject, later', { kind: 'subject', value: 'ada', revokedMs: issuedMs + 5000 }, 'revoked'],
  ['of its subject, before it was issued', { kind: 'subject', value: 'ada', revokedMs: issuedMs - 1 }, 'valid'],
  ['of another subject', { kind: 'subject', value: 'bob', revokedMs: issuedMs + 5000 }, 'valid'],
] as const)('[identity §7.3] with a revocation %s', (_whose, revocation, state) => {
  expect(issuedTokens([issue], [revocation], issuedMs + 10_000)).toEqual([{ ...listed, state }]);
});

test('[identity §7.3] the newest is first; sign-ins of browsers have no token and are left out', () => {
  const other = { ...issue, details: { ...issue.details, token_id: 'id-2' } };
  const session = { occurredAt: issuedAt, details: { subject: 'ada', role: 'Admin', ttl_seconds: 60, by: 'link' } };
  const ids = issuedTokens([issue, session, other], [], issuedMs).map(({ token_id }) => token_id);
  expect(ids).toEqual(['id-2', 'id-1']);
});
