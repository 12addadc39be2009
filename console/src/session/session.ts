/**
 * Who is signed in: one store. A session of the service is a cookie that all tabs share and no script can read; a pasted token is
 * kept for this tab only. After a refusal the session counts as expired: the page keeps everything that was typed until the user has
 * signed in again.
 */
import { useSyncExternalStore } from 'react';
import { dropText, storedText, storeText } from '../browser-storage.ts';
import { after, nowMs, onServiceClock, serviceAheadMs } from '../clock.ts';
import { mayRead, type TokenFacts, tokenFacts } from './token.ts';

export type Session =
  | { readonly status: 'out' }
  | {
      readonly status: 'in' | 'expired';
      /** Null with a cookie. */
      readonly token: string | null;
      readonly facts: TokenFacts;
    };

const place = 'setpoint.token';
/** Longest delay a timer takes. */
const timerMaxMs = 2_000_000_000;

let session: Session = restored();
let cancelExpiry: () => void = () => undefined;
const listeners = new Set<() => void>();
/** Other tabs of the same browser. */
const tabs = new BroadcastChannel('setpoint.session');
onServiceClock(armExpiry);

tabs.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
  if (data === 'out' && usesCookie()) become({ status: 'out' });
});

function restored(): Session {
  const token = storedText('sessionStorage', place);
  return token === null ? { status: 'out' } : { status: 'in', token, facts: tokenFacts(token) };
}

function become(next: Session): void {
  session = next;
  if (next.status === 'in' && next.token !== null) storeText('sessionStorage', place, next.token);
  else if (next.status !== 'expired') dropText('sessionStorage', place);
  armExpiry();
  for (const listener of listeners) listener();
}

/** A session that ends while the page is open is noticed when it ends, not at the next call. Only the clock of the service says when that is. */
function armExpiry(): void {
  cancelExpiry();
  if (session.status !== 'in' || session.facts.expiresAtMs === null || serviceAheadMs() === null) return;
  const leftMs = session.facts.expiresAtMs - nowMs();
  if (leftMs > timerMaxMs) return;
  cancelExpiry = after(Math.max(0, leftMs), expire);
}

/** With a pasted token. */
export function signIn(token: string): void {
  become({ status: 'in', token, facts: tokenFacts(token) });
}

/** With a cookie that the service has set. */
export function signedIn(facts: TokenFacts): void {
  become({ status: 'in', token: null, facts });
}

/** Signs this tab out, and with a cookie all other tabs too. */
export function signedOut(): void {
  if (usesCookie()) signOutOtherTabs();
  leave();
}

/** This tab shows and reads nothing more with the session; its cookie stays as it is. */
export function leave(): void {
  become({ status: 'out' });
}

/** After the service has ended the session of the cookie. */
export function signOutOtherTabs(): void {
  tabs.postMessage('out');
}

/** The service refuses the session. */
export function expire(): void {
  if (session.status === 'in') become({ ...session, status: 'expired' });
}

export function currentToken(): string | null {
  return session.status === 'out' ? null : session.token;
}

export function usesCookie(): boolean {
  return session.status !== 'out' && session.token === null;
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

export function useMayRead(): boolean {
  const session = useSession();
  return session.status !== 'out' && mayRead(session.facts.role);
}
