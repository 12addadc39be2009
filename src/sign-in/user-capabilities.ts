/** Account management by an Admin over HTTP [identity §7.2]. */

import { type Answer, type CallContext, type HandledCapability, success } from '../api/capability.ts';
import { wholeList } from '../api/page.ts';
import { users as descriptors, tokenResourceId, tokens } from '../api/users.ts';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { Role } from '../gateway/claims.ts';
import type { Accounts } from './accounts.ts';
import { passwordCodeMs } from './codes.ts';
import { type IssuedTokensParts, readIssuedTokens } from './issued-tokens.ts';
import type { Account, SignInStore } from './store/sign-in-store.ts';

export interface UserParts {
  readonly accounts: Accounts;
  readonly clock: Clock;
}

export function userCapabilities(parts: UserParts): HandledCapability[] {
  const { accounts } = parts;
  const resource = ({ name }: Readonly<Record<string, string>>) => ({
    kind: 'identity-user',
    id: name === undefined ? 'identity-user' : `identity-user:${name}`,
  });
  return [
    {
      descriptor: descriptors.list,
      resource,
      handler: async () => success(wholeList((await accounts.list()).map(accountView))),
    },
    {
      descriptor: descriptors.add,
      resource,
      async handler({ body }) {
        const { name, role } = body as { readonly name: string; readonly role: Role };
        const code = await accounts.add(name, role);
        const resourceId = `identity-user:${name}`;
        return { ...linkAnswer(parts, name, role, code), auditDetails: { name, role }, resourceId };
      },
    },
    {
      descriptor: descriptors.reset,
      resource,
      async handler({ params }) {
        const name = params['name'] ?? '';
        const code = await accounts.reset(name);
        const role = (await accounts.list()).find((account) => account.name === name)?.role ?? 'Viewer';
        return { ...linkAnswer(parts, name, role, code), auditDetails: { name } };
      },
    },
    {
      descriptor: descriptors.changeRole,
      resource,
      async handler({ params, body }) {
        const name = params['name'] ?? '';
        const { role } = body as { readonly role: Role };
        const former_role = await accounts.changeRole(name, role);
        return { ...success({ name, role }), auditDetails: { name, role, former_role } };
      },
    },
    {
      descriptor: descriptors.disable,
      resource,
      async handler({ params }: CallContext) {
        const name = params['name'] ?? '';
        await accounts.disable(name);
        return { ...success({ name }), auditDetails: { name } };
      },
    },
  ];
}

interface RevokeParts {
  readonly store: Pick<SignInStore, 'revoke'>;
  readonly clock: Clock;
}

/** Available on every site: it also revokes tokens of an identity provider. */
export function revokeCapability({ store, clock }: RevokeParts): HandledCapability {
  return {
    descriptor: tokens.revoke,
    resource: () => ({ kind: 'identity-token', id: 'identity-token' }),
    async handler({ body }) {
      const { subject = null, token_id = null, reason } = body as Readonly<Record<string, string | undefined>>;
      if ((subject === null) === (token_id === null))
        throw new Fault('invalid-input', 'body: give either subject or token_id');
      const revokedMs = clock.wallMs();
      const kind = subject === null ? 'token' : 'subject';
      await store.revoke({ kind, value: subject ?? token_id ?? '', revokedMs });
      const named = { subject, token_id };
      return {
        ...success({ ...named, revoked_at: timeLabel(revokedMs) }),
        auditDetails: { ...named, reason },
        ...(subject === null ? {} : { resourceId: tokenResourceId(subject) }),
      };
    },
  };
}

/** For a site that issues tokens itself. */
export function issuedTokensCapability(parts: IssuedTokensParts): HandledCapability {
  return {
    descriptor: tokens.list,
    resource: () => ({ kind: 'identity-token', id: 'identity-token' }),
    handler: async () => success(wholeList(await readIssuedTokens(parts))),
  };
}

function linkAnswer({ clock }: UserParts, name: string, role: Role, code: string): Answer {
  return success({ name, role, link: passwordLink(code), expires_at: timeLabel(clock.wallMs() + passwordCodeMs) });
}

/** The part of the link after the address of the console. */
export function passwordLink(code: string): string {
  return `/#set-password=${code}`;
}

/** An account as listed. */
export function accountView({ name, role, disabled, password, createdMs }: Account) {
  const state = disabled ? 'disabled' : password === null ? 'invited' : 'active';
  return { name, role, state, created_at: timeLabel(createdMs) };
}
