/** Identity, sessions and accounts, bound to what this process runs. */
import type { AuditScope } from '../audit/event.ts';
import type { AuditLog } from '../audit/log.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { createIdentity, type Identity } from '../gateway/identity.ts';
import type { IdentityConfig } from '../gateway/identity-config.ts';
import type { GatewayLimits } from '../gateway/limits.ts';
import type { SigningKey } from '../gateway/local-keys.ts';
import { Accounts } from '../sign-in/accounts.ts';
import { issueCode } from '../sign-in/codes.ts';
import { Provider } from '../sign-in/provider.ts';
import { providerSignIn } from '../sign-in/provider-sign-in.ts';
import { Revocations } from '../sign-in/revocations.ts';
import { seal, unseal } from '../sign-in/seal.ts';
import { sessionCapabilities } from '../sign-in/session-capabilities.ts';
import { Sessions } from '../sign-in/sessions.ts';
import { createSignInStore } from '../sign-in/store/sign-in-store.ts';
import { issuedTokensCapability, revokeCapability, userCapabilities } from '../sign-in/user-capabilities.ts';
import type { Database } from '../storage/database.ts';

export interface SignInSetup {
  readonly settings: IdentityConfig;
  readonly key: SigningKey;
  readonly scope: AuditScope;
  readonly database: Database;
  readonly audit: AuditLog;
  readonly limits: GatewayLimits;
  readonly log: Log;
}

export type ServiceSignIn = ReturnType<typeof serviceSignIn>;

export function serviceSignIn({ settings, key, scope, database, audit, limits, ...rest }: SignInSetup) {
  const log = rest.log.with({ area: 'sign-in' });
  const clock = systemClock;
  const store = createSignInStore(database);
  const issuesTokens = settings.jwt.kind === 'local';
  const provider =
    settings.provider === null
      ? null
      : new Provider({ config: settings.provider, claims: settings.claims, clock, log, limits });
  const refresh = provider?.refresh ?? null;
  const sessions = new Sessions({ store, site: scope, clock, limits, refresh, seal, unseal });
  const accounts = new Accounts({ store, clock, limits, audit, log });
  const revocations = new Revocations({ store, clock, log, limits });
  const identity: Identity = createIdentity({
    config: settings,
    key,
    site: scope,
    clock,
    log,
    limits,
    session: (cookie) => sessions.authenticate(cookie),
    isRevoked: (claims) => revocations.has(claims),
  });
  const own = {
    key: issuesTokens ? key : null,
    store,
    accounts,
    sessions,
    site: scope,
    clock,
    limits,
    endSessionUrl: provider === null ? null : () => provider.endSessionUrl(),
  };
  return {
    identity,
    capabilities: [
      ...sessionCapabilities(own),
      revokeCapability({ store, clock }),
      // Elsewhere the provider has the accounts.
      ...(issuesTokens
        ? [issuedTokensCapability({ database, scope, store, clock }), ...userCapabilities({ accounts, clock })]
        : []),
    ],
    /** Null when tokens come from elsewhere: a configured secret or identity provider. */
    issueCode: issuesTokens ? () => issueCode(store, null, clock.wallMs()) : null,
    provider: provider === null ? null : providerSignIn({ provider, sessions, audit, clock, limits }),
  };
}
