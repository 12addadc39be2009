/**
 * The sign-in link [identity §2]: a code that works once, for ten minutes, and is exchanged at `POST /session` for a
 * token that the site's own key signs. Of the code only the digest is kept, in memory: it dies with the process.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { CallContext, HandledCapability, Subject } from '../api/capability.ts';
import { sessionDescriptor } from '../api/session.ts';
import type { AuditScope } from '../audit/event.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newSecret } from '../base/id.ts';
import { unauthenticated } from './envelope.ts';
import { issueToken } from './identity.ts';
import type { SigningKey } from './local-keys.ts';

/** How long a code can be used. */
export const signInCodeMs = 600_000;
const session = { role: 'Admin', subject: 'local-admin', lifetimeSeconds: 12 * 3600 } as const;

export interface SignIn {
  /** A fresh code; the one before it stops working. */
  issueCode(): string;
  readonly capability: HandledCapability;
}

export function createSignIn(parts: {
  readonly key: SigningKey;
  readonly site: AuditScope;
  readonly clock: Clock;
}): SignIn {
  const { key, site, clock } = parts;
  let open: { readonly digest: Buffer; readonly untilMs: number } | undefined;

  const isOpen = (code: string): boolean =>
    open !== undefined && clock.monotonicMs() < open.untilMs && timingSafeEqual(digestOf(code), open.digest);
  const caller: Subject = { kind: 'system', subjectId: 'sign-in-link', ...site, roles: [], permissions: new Set() };

  const capability: HandledCapability = {
    descriptor: sessionDescriptor,
    resource: () => ({ kind: 'identity-token', id: 'identity-token' }),
    identify: (context) => (isOpen(codeOf(context)) ? caller : null),
    async handler(context) {
      // Asked again: two calls with one code may both have come this far. From here on it is used up.
      if (!isOpen(codeOf(context))) throw unauthenticated();
      open = undefined;
      const issuedAtSeconds = Math.floor(clock.wallMs() / 1000);
      const token = await issueToken(key, { ...session, issuedAtSeconds });
      const expiresAt = new Date((issuedAtSeconds + session.lifetimeSeconds) * 1000).toISOString();
      return {
        data: {
          success: true,
          data: { token, role: session.role, subject: session.subject, expires_at: expiresAt },
        },
        auditDetails: { role: session.role, subject: session.subject, ttl_seconds: session.lifetimeSeconds },
      };
    },
  };
  return {
    capability,
    issueCode() {
      const code = newSecret();
      open = { digest: digestOf(code), untilMs: clock.monotonicMs() + signInCodeMs };
      return code;
    },
  };
}

function codeOf(context: CallContext): string {
  const { body } = context;
  if (typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string') return body.code;
  throw new Fault('invalid-input', 'body: must have "code"');
}

function digestOf(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}
