/** Calls about sessions: the current one, sign-in and sign-out. */
import type { Static } from 'typebox';
import { session as operations } from '../../../src/api/session.ts';
import { call } from '../server/calls.ts';
import { currentToken, leave, signedIn, signedOut, signOutOtherTabs, usesCookie } from './session.ts';

export type SignInMethods = Static<(typeof operations)['read']['answer']>['data']['methods'];

interface Opened {
  readonly role: 'Admin' | 'Engineer' | 'Viewer';
  readonly subject: string;
  readonly expires_at: string;
}

function take({ role, subject, expires_at: at }: Opened, isAccount: boolean): void {
  signedIn({ subject, role, expiresAtMs: Date.parse(at), isAccount });
}

/** Takes up the session of the cookie, if there is one; answers how one can sign in. */
export async function askSession(): Promise<SignInMethods> {
  const { session, methods } = (await call(operations.read)).data.data;
  // A token that was pasted into this tab comes before the cookie.
  if (session !== null && currentToken() === null) take(session, session.kind === 'account');
  return methods;
}

export async function exchangeCode(code: string): Promise<void> {
  take((await call(operations.open, { body: { code } })).data.data, false);
}

export async function signInAs(name: string, password: string): Promise<void> {
  take((await call(operations.open, { body: { name, password } })).data.data, true);
}

/** Answers the name of the account. */
export async function setPassword(code: string, password: string): Promise<string> {
  return (await call(operations.password, { body: { code, password } })).data.data.name;
}

/** The session of this browser continues; the others of the account end. */
export async function changePassword(name: string, current: string, password: string): Promise<void> {
  await call(operations.password, { body: { name, current, password } });
}

/**
 * Ends the session on the service, and at the provider where it has a place for that. This tab leaves it first, so that none of its
 * own reads is refused; the other tabs follow once the service has ended the session.
 */
export async function signOut(): Promise<void> {
  if (!usesCookie()) return signedOut();
  leave();
  try {
    const { end_session_url: url } = (await call(operations.close, { confirmed: true })).data.data;
    if (url !== null) location.assign(url);
  } catch {
    // A session that could not be ended expires with its cookie.
  } finally {
    signOutOtherTabs();
  }
}
