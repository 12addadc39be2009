/** Signing in and out [identity §2], [identity §7]. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import type { Capability } from './capability.ts';
import { moment, successOf } from './wire.ts';

/** Of a password, in characters [identity §7.2]. */
export const passwordLengthMin = 12;
export const passwordLengthMax = 256;

const none = strict({});
const role = Type.Enum(['Admin', 'Engineer', 'Viewer']);
// Any text: a credential of the wrong form is as wrong as any other.
const credential = Type.String({ maxLength: 1024 });

/** Common to all: the caller is not authenticated yet. */
const signingIn = {
  kind: 'command',
  risk: 'high',
  permission: null,
  confirmation: 'never',
  confirmedIn: 'header',
  audit: 'required',
  idempotent: false,
  params: none,
  query: none,
  bodyLimit: 'session',
} as const;
/** No part of the credential enters the audit, and nothing is given out without its record. */
const secret = { secretBody: true, withheldWithoutAudit: true } as const;

const opened = strict({
  /** Only for a program: a browser has its cookie. */
  token: Type.Optional(Type.String()),
  role,
  subject: Type.String(),
  expires_at: moment,
});

export const session = {
  open: {
    ...signingIn,
    ...secret,
    // The same name as in the record of `setpoint token`: a search for it finds every credential that the site issued.
    name: 'identity.token.issue',
    summary: 'Sign in with the code of a sign-in link, or with name and password',
    method: 'POST',
    path: '/session',
    body: Type.Union([strict({ code: credential }), strict({ name: credential, password: credential })]),
    answer: successOf(opened),
  },
  password: {
    ...signingIn,
    ...secret,
    name: 'identity.password.set',
    summary: 'Set the password of an account, with the code of its link or the current password',
    method: 'POST',
    path: '/session/password',
    body: Type.Union([
      strict({ code: credential, password: credential }),
      strict({ name: credential, current: credential, password: credential }),
    ]),
    answer: successOf(strict({ name: Type.String() })),
  },
  close: {
    ...signingIn,
    name: 'identity.session.close',
    summary: 'Sign out: end the session of this cookie',
    method: 'DELETE',
    path: '/session',
    risk: 'low',
    idempotent: true,
    body: null,
    answer: successOf(strict({ end_session_url: Type.Union([Type.String(), Type.Null()]) })),
  },
  read: {
    name: 'identity.session.read',
    summary: 'Read who is signed in with this cookie, and how one can sign in',
    method: 'GET',
    path: '/session',
    kind: 'query',
    risk: 'low',
    permission: null,
    confirmation: 'never',
    confirmedIn: 'header',
    audit: 'not-required',
    idempotent: true,
    params: none,
    query: none,
    body: null,
    answer: successOf(
      strict({
        session: Type.Union([
          strict({
            role,
            subject: Type.String(),
            expires_at: moment,
            /** An account has a password of its own. */
            kind: Type.Enum(['link', 'account', 'provider']),
          }),
          Type.Null(),
        ]),
        methods: strict({ password: Type.Boolean(), provider: Type.Boolean() }),
      }),
    ),
  },
} as const satisfies Record<string, Capability>;
