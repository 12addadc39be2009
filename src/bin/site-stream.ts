/** The live stream of a site: who may read it, and what it carries. */
import type { AuditScope } from '../audit/event.ts';
import type { AutomationLimits } from '../automation/limits.ts';
import { createLiveStream, type Feed, type LiveStream } from '../automation/live-stream.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Identity } from '../gateway/identity.ts';

export function siteStream(parts: {
  readonly authenticator: Identity;
  readonly scope: AuditScope;
  readonly limits: AutomationLimits;
  readonly log: Log;
  readonly watch: (ruleIds: readonly number[]) => void;
  readonly feeds: { readonly point: Feed; readonly alarm: Feed };
}): LiveStream {
  const { authenticator, scope, ...rest } = parts;
  return createLiveStream({
    ...rest,
    clock: systemClock,
    authenticate: (token) => streamSubject(authenticator.authenticateToken(token), scope),
    authenticateSession: (cookie) => streamSubject(authenticator.authenticateSession(cookie), scope),
  });
}

/** The same rules as for the routes: a read permission, and the site's own tenant and project. */
async function streamSubject(authenticated: ReturnType<Identity['authenticateToken']>, scope: AuditScope) {
  const known = await authenticated;
  if (known === null) return null;
  const { subject, expiresMs } = known;
  const own = subject.tenantId === scope.tenantId && subject.projectId === scope.projectId;
  return {
    mayRead: own && subject.permissions.has('automation.read'),
    expiresAtMs: Number.isFinite(expiresMs) ? expiresMs : null,
  };
}
