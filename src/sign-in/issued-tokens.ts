/** The tokens that the site has issued [identity §7.3], as their audit records have them. */
import type { RecordedDetails } from '../audit/recorded-details.ts';
import { timeLabel } from '../base/timestamp.ts';
import { isRevoked } from './revocations.ts';
import type { Revocation } from './store/sign-in-store.ts';

export interface IssuedToken {
  readonly token_id: string;
  readonly subject: string;
  readonly role: string;
  readonly issued_at: string;
  readonly expires_at: string;
  readonly state: 'valid' | 'revoked';
}

/** Those that have not expired at `nowMs`, the newest first. Sessions of browsers have no token. */
export function issuedTokens(
  issues: readonly RecordedDetails[],
  revocations: readonly Revocation[],
  nowMs: number,
): readonly IssuedToken[] {
  const found = issues.flatMap(({ occurredAt, details }) => {
    const { token_id: tokenId, subject, role, ttl_seconds: seconds } = details;
    if (typeof tokenId !== 'string' || typeof subject !== 'string' || typeof seconds !== 'number') return [];
    const issuedAtSeconds = Math.floor(Date.parse(occurredAt) / 1000);
    const expiresMs = (issuedAtSeconds + seconds) * 1000;
    if (expiresMs <= nowMs) return [];
    const claims = { subject, tokenId, issuedAtSeconds };
    const state = isRevoked(revocations, claims) ? ('revoked' as const) : ('valid' as const);
    return [
      {
        token_id: tokenId,
        subject,
        role: String(role),
        issued_at: occurredAt,
        expires_at: timeLabel(expiresMs),
        state,
      },
    ];
  });
  return found.toReversed();
}
