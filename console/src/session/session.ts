/**
 * Who is signed in: one store, kept for this tab only. A token that was refused is kept as expired, so that the page
 * stays as it is, with everything that was typed, until a new one is given.
 */
import { useSyncExternalStore } from 'react';
import { after, nowMs } from '../clock.ts';
import { type TokenFacts, tokenFacts } from './token.ts';

export type Session =
  | { readonly status: 'out' }
  | { readonly status: 'in' | 'expired'; readonly token: string; readonly facts: TokenFacts };

const place = 'setpoint.token';
/** Longest delay a timer takes. */
const timerMaxMs = 2_000_000_000;

let session: Session = restored();
let cancelExpiry: () => void = () => undefined;
const listeners = new Set<() => void>();
armExpiry();

function restored(): Session {
  const token = sessionStorage.getItem(place);
  return token === null ? { status: 'out' } : { status: 'in', token, facts: tokenFacts(token) };
}

function become(next: Session): void {
  session = next;
  if (next.status === 'in') sessionStorage.setItem(place, next.token);
  else if (next.status === 'out') sessionStorage.removeItem(place);
  armExpiry();
  for (const listener of listeners) listener();
}

/** A token that ends while the page is open is noticed when it ends, not at the next call. */
function armExpiry(): void {
  cancelExpiry();
  if (session.status !== 'in' || session.facts.expiresAtMs === null) return;
  const leftMs = session.facts.expiresAtMs - nowMs();
  if (leftMs > timerMaxMs) return;
  cancelExpiry = after(Math.max(0, leftMs), expire);
}

export function signIn(token: string): void {
  become({ status: 'in', token, facts: tokenFacts(token) });
}

export function signOut(): void {
  become({ status: 'out' });
}

/** The server refuses the token. */
export function expire(): void {
  if (session.status === 'in') become({ ...session, status: 'expired' });
}

export function currentToken(): string | null {
  return session.status === 'out' ? null : session.token;
}

export function onSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function currentSession(): Session {
  return session;
}

export function useSession(): Session {
  return useSyncExternalStore(onSession, currentSession);
}
