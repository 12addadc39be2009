/** Local accounts [identity §7.2]: what an Admin does with them. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import type { Capability } from './capability.ts';
import { listOf } from './page.ts';
import { moment, nullable, successOf, whyText } from './wire.ts';

const none = strict({});
const role = Type.Enum(['Admin', 'Engineer', 'Viewer']);
const accountName = Type.String({
  pattern: '^[A-Za-z0-9._:-]{1,128}$',
  description: '1 to 128 of A-Z a-z 0-9 . _ : -',
});
const accountPath = strict({ name: accountName });
const place = '/api/v1/identity/users';
const account = strict({
  name: accountName,
  role,
  state: Type.Enum(['active', 'invited', 'disabled']),
  created_at: moment,
});
const link = strict({ name: accountName, role, link: Type.String(), expires_at: moment });
const confirmed = Type.Literal(true);

/** Account management by an Admin. */
const managing = {
  method: 'POST',
  kind: 'command',
  risk: 'high',
  permission: 'identity.user.manage',
  confirmation: 'always',
  confirmedIn: 'body',
  audit: 'required',
  query: none,
} as const;

const tokensPath = '/api/v1/identity/tokens';
const issuedToken = strict({
  token_id: Type.String(),
  subject: Type.String(),
  role: Type.String(),
  issued_at: moment,
  expires_at: moment,
  state: Type.Enum(['valid', 'revoked']),
});

/** What an Admin reads. */
const read = {
  method: 'GET',
  kind: 'query',
  risk: 'low',
  permission: 'identity.user.manage',
  confirmation: 'never',
  confirmedIn: 'header',
  audit: 'not-required',
  idempotent: true,
  params: none,
  query: none,
  body: null,
} as const;

/** Issued tokens of all subjects [identity §7.3]. */
export const tokens = {
  list: {
    ...read,
    name: 'identity.token.list',
    summary: 'List issued tokens that have not expired',
    path: tokensPath,
    answer: successOf(listOf(issuedToken)),
  },
  revoke: {
    ...managing,
    name: 'identity.token.revoke',
    summary: 'Revoke tokens: all issued to a subject so far, or the one with an id',
    path: `${tokensPath}/revoke`,
    idempotent: true,
    params: none,
    body: strict({
      subject: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
      token_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
      reason: whyText,
      confirmed,
    }),
    answer: successOf(
      strict({ subject: nullable(Type.String()), token_id: nullable(Type.String()), revoked_at: moment }),
    ),
  },
} as const satisfies Record<string, Capability>;

export const users = {
  list: {
    ...read,
    name: 'identity.user.list',
    summary: 'List local accounts',
    path: place,
    answer: successOf(listOf(account)),
  },
  add: {
    ...managing,
    name: 'identity.user.add',
    summary: 'Add a local account; returns its one-time password link',
    path: place,
    idempotent: false,
    params: none,
    body: strict({ name: accountName, role, confirmed }),
    answer: successOf(link),
  },
  reset: {
    ...managing,
    name: 'identity.user.reset',
    summary: 'Reset the password of an account and end its sessions; returns a one-time password link',
    path: `${place}/:name/reset`,
    idempotent: false,
    params: accountPath,
    body: strict({ confirmed }),
    answer: successOf(link),
  },
  changeRole: {
    ...managing,
    name: 'identity.user.change-role',
    summary: 'Give an account another role; ends its sessions and revokes its tokens',
    path: `${place}/:name/role`,
    idempotent: true,
    params: accountPath,
    body: strict({ role, confirmed }),
    answer: successOf(strict({ name: accountName, role })),
  },
  disable: {
    ...managing,
    name: 'identity.user.disable',
    summary: 'Disable an account and end its sessions',
    path: `${place}/:name/disable`,
    idempotent: true,
    params: accountPath,
    body: strict({ confirmed }),
    answer: successOf(strict({ name: accountName })),
  },
} as const satisfies Record<string, Capability>;

/** Names a token in the audit by whom it is for [identity §9]; a subject that no resource id can hold is in the details alone. */
export function tokenResourceId(subject: string): string {
  const id = `identity-token:${subject}`;
  return /^[A-Za-z0-9._:-]{8,128}$/.test(id) ? id : 'identity-token';
}
