/**
 * The live stream [rules §8]: one connection for the whole page, however many parts of it listen. What is watched
 * is counted, a lost connection is made again, and every state of it can be shown.
 */
import { useEffect, useSyncExternalStore } from 'react';
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { Check } from 'typebox/value';
import { executionRecord } from '../../../src/api/automation-schemas.ts';
import { after } from '../clock.ts';
import { currentSession, expire, onSession } from '../session/session.ts';

export type RunRecord = Static<typeof executionRecord>;

export type StreamState = 'off' | 'connecting' | 'live' | 'lost';

const message = Type.Union([
  Type.Object({ type: Type.Literal('rule_execution'), data: executionRecord }),
  Type.Object({ type: Type.Literal('missed'), data: Type.Object({ count: Type.Number() }) }),
  Type.Object({ type: Type.Literal('authenticated') }),
  Type.Object({ type: Type.Literal('subscribed') }),
  Type.Object({ type: Type.Literal('error') }),
]);

const unauthenticatedCode = 4001;
const firstRetryMs = 1000;
const retryMaxMs = 15_000;
/** How long the connection outlives the last page that watched something. */
const lingerMs = 5000;

let socket: WebSocket | null = null;
let state: StreamState = 'off';
/** The server knows us: before that it takes no subscription. */
let isReady = false;
let retryMs = firstRetryMs;
let cancelRetry: () => void = () => undefined;
let cancelSettle: () => void = () => undefined;
/** Runs that the server had to leave out because the page was slow. */
let missed = 0;
const watched = new Map<number, number>();
const lastRecords = new Map<number, RunRecord>();
const listeners = new Set<() => void>();
const recordListeners = new Set<(record: RunRecord) => void>();

function changed(): void {
  for (const listener of listeners) listener();
}

function setState(next: StreamState): void {
  if (state === next) return;
  state = next;
  changed();
}

function open(): void {
  cancelRetry();
  const session = currentSession();
  if (socket !== null || session.status !== 'in' || watched.size === 0) return;
  setState('connecting');
  const own = new WebSocket(new URL('/ws', location.href.replace(/^http/, 'ws')));
  socket = own;
  isReady = false;
  own.addEventListener('open', () => own.send(JSON.stringify({ type: 'authenticate', token: session.token })));
  own.addEventListener('message', (event) => receive(own, event.data));
  own.addEventListener('close', (event) => closed(own, event.code));
}

function receive(own: WebSocket, text: unknown): void {
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : null;
  if (own !== socket || !Check(message, value)) return;
  switch (value.type) {
    case 'authenticated':
      isReady = true;
      subscribe();
      break;
    case 'subscribed':
      retryMs = firstRetryMs;
      setState('live');
      break;
    case 'missed':
      missed += value.data.count;
      changed();
      break;
    case 'rule_execution':
      lastRecords.set(value.data.rule_id, value.data);
      for (const listener of recordListeners) listener(value.data);
      changed();
      break;
    case 'error':
      break;
  }
}

function closed(own: WebSocket, code: number): void {
  if (own !== socket) return;
  socket = null;
  if (code === unauthenticatedCode) expire();
  if (watched.size === 0 || currentSession().status !== 'in') return setState('off');
  setState('lost');
  cancelRetry = after(retryMs, open);
  retryMs = Math.min(retryMs * 2, retryMaxMs);
}

function subscribe(): void {
  if (!isReady || socket?.readyState !== WebSocket.OPEN) return;
  socket.send(JSON.stringify({ type: 'subscribe', data: { source: 'rule', channels: [...watched.keys()] } }));
}

function close(): void {
  cancelRetry();
  const own = socket;
  socket = null;
  own?.close();
  setState('off');
}

// Another subject, or none: the connection of the one before must not go on.
onSession(() => {
  close();
  if (currentSession().status === 'out') lastRecords.clear();
  open();
});

function watch(ids: readonly number[]): () => void {
  for (const id of ids) watched.set(id, (watched.get(id) ?? 0) + 1);
  if (socket === null) open();
  else subscribe();
  return () => {
    for (const id of ids) {
      const count = (watched.get(id) ?? 1) - 1;
      if (count === 0) watched.delete(id);
      else watched.set(id, count);
    }
    // A page that is left is followed by one that is entered: the connection stays for it.
    cancelSettle();
    cancelSettle = after(watched.size === 0 ? lingerMs : 0, () => (watched.size === 0 ? close() : subscribe()));
  };
}

function subscribeStore(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function useStreamState(): StreamState {
  return useSyncExternalStore(subscribeStore, () => state);
}

export function useMissed(): number {
  return useSyncExternalStore(subscribeStore, () => missed);
}

/** Listens to these rules while the component is shown. */
export function useWatch(ids: readonly number[]): void {
  const key = ids.join(',');
  useEffect(() => watch(key === '' ? [] : key.split(',').map(Number)), [key]);
}

/** The last run that was pushed of this rule; null when none was since the page was opened. */
export function useLastRun(ruleId: number): RunRecord | null {
  return useSyncExternalStore(subscribeStore, () => lastRecords.get(ruleId) ?? null);
}

/** Calls `listener` for every run that is pushed. */
export function onRun(listener: (record: RunRecord) => void): () => void {
  recordListeners.add(listener);
  return () => void recordListeners.delete(listener);
}
