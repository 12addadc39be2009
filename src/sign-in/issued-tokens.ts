/** The tokens that the site has issued [identity §7.3], as their audit records have them. */
import type { Static } from 'typebox';
import { session } from '../api/session.ts';
import type { tokens } from '../api/users.ts';
import type { AuditScope } from '../audit/event.ts';
import { type RecordedDetails, recordedDetails } from '../audit/recorded-details.ts';
import type { Clock } from '../base/clock.ts';
import { timeLabel } from '../base/timestamp.ts';
import { tokenLifetimeSecondsMaximum } from '../gateway/identity.ts';
import type { Database } from '../storage/database.ts';
import { isRevoked } from './revocations.ts';
import type { Revocation, SignInStore } from './store/sign-in-store.ts';

export type IssuedToken = Static<typeof tokens.list.answer>['data']['list'][number];

export interface IssuedTokensParts {
  readonly database: Database;
  /** The site's own tenant and project. */
  readonly scope: AuditScope;
  readonly store: Pick<SignInStore, 'revocations'>;
  readonly clock: Clock;
}

/** As far as retention has left the records of their issue. */
export async function readIssuedTokens(parts: IssuedTokensParts): Promise<readonly IssuedToken[]> {
  const nowMs = parts.clock.wallMs();
  const from = timeLabel(nowMs - tokenLifetimeSecondsMaximum * 1000);
  const issues = await recordedDetails(parts.database, parts.scope, session.open.name, 'token_id', from);
  return issuedTokens(issues, await parts.store.revocations(), nowMs);
}

/** Those that have not expired at `nowMs`, the newest first. Sessions of browsers have no token. */
export function issuedTokens(
  issues: readonly RecordedDetails[],
  revocations: readonly Revocation[],
  nowMs: number,
): readonly IssuedToken[] {
  const found = issues.flatMap(({ occurredAt, details }) => {
    const { token_id: tokenId, subject, role, ttl_seconds: seconds } = details;
    // Records of older versions have the time of the record only, which may be a second earlier.
    const issuedAt = typeof details['issued_at'] === 'string' ? details['issued_at'] : occurredAt;
    if (typeof tokenId !== 'string' || typeof subject !== 'string' || typeof seconds !== 'number') return [];
    const issuedAtSeconds = Math.floor(Date.parse(issuedAt) / 1000);
    const expiresMs = (issuedAtSeconds + seconds) * 1000;
    if (expiresMs <= nowMs) return [];
    const claims = { subject, tokenId, issuedAtSeconds };
    const state = isRevoked(revocations, claims) ? ('revoked' as const) : ('valid' as const);
    return [
      {
        token_id: tokenId,
        subject,
        role: String(role),
        issued_at: issuedAt,
        expires_at: timeLabel(expiresMs),
        state,
      },
    ];
  });
  return found.toReversed();
}
