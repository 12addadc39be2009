/** `POST /session` [identity §2]: the one-time code of a sign-in link becomes an access token. */
import * as Type from 'typebox';
import type { Capability } from './capability.ts';

const none = Type.Object({}, { additionalProperties: false });

export const sessionDescriptor = {
  // The same name as in the record of `setpoint token`: a search for it finds every token that the site issued.
  name: 'identity.token.issue',
  summary: 'Exchange the code of a sign-in link for an access token',
  method: 'POST',
  path: '/session',
  kind: 'command',
  risk: 'high',
  permission: null,
  confirmation: 'never',
  confirmedIn: 'header',
  audit: 'required',
  idempotent: false,
  params: none,
  query: none,
  // Any text: a code of the wrong form is as wrong as any other.
  body: Type.Object({ code: Type.String() }, { additionalProperties: false }),
  bodyLimit: 'session',
  secretBody: true,
  withheldWithoutAudit: true,
  answer: Type.Object({
    success: Type.Literal(true),
    data: Type.Object({
      token: Type.String(),
      role: Type.String(),
      subject: Type.String(),
      expires_at: Type.String(),
    }),
  }),
} as const satisfies Capability;
