/** Opens a session for a user whom the provider has authenticated [identity §9], never without its audit record. */
import { tokenResourceId } from '../api/users.ts';
import type { AuditLog } from '../audit/log.ts';
import type { Clock } from '../base/clock.ts';
import type { ProviderRoutes } from '../gateway/provider-routes.ts';
import type { Provider } from './provider.ts';
import type { Sessions } from './sessions.ts';

export interface ProviderSignInParts {
  readonly provider: Provider;
  readonly sessions: Sessions;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly clock: Clock;
  readonly limits: { readonly session_ms: number };
}

export function providerSignIn(parts: ProviderSignInParts): Pick<ProviderRoutes, 'begin' | 'finish'> {
  const { provider, sessions, audit, clock, limits } = parts;
  const maxAgeSeconds = Math.floor(limits.session_ms / 1000);
  return {
    begin: (base) => provider.begin(base),
    async finish(address, secret, correlationId) {
      const found = await provider.finish(address, secret);
      if (found === null) return null;
      const { subject, role } = found;
      await audit.append({
        subject: { kind: 'user', subjectId: subject },
        action: 'identity.token.issue',
        resource: { kind: 'identity-token', resourceId: tokenResourceId(subject) },
        outcome: 'succeeded',
        risk: 'high',
        confirmation: 'not-required',
        correlationId,
        details: { role, subject, ttl_seconds: maxAgeSeconds, by: 'provider' },
      });
      const expiresMs = clock.wallMs() + limits.session_ms;
      const cookie = await sessions.open({ kind: 'provider', subject, role, expiresMs }, found);
      return { cookie, maxAgeSeconds };
    },
  };
}
