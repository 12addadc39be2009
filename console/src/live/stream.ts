/**
 * The live stream [rules §8]: one connection for the whole page, however many components listen. Subscriptions are counted, a
 * lost connection is reopened, and every state of it can be shown.
 */
import { useEffect, useSyncExternalStore } from 'react';
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { Check } from 'typebox/schema';
import { alarmEntry } from '../../../src/api/alarms.ts';
import { executionRecord } from '../../../src/api/automation-schemas.ts';
import { after, every } from '../clock.ts';
import { currentSession, expire, onSession } from '../session/session.ts';

export type RunRecord = Static<typeof executionRecord>;

export type StreamState = 'off' | 'connecting' | 'live' | 'lost';

const pointValue = Type.Object({
  instance: Type.Integer(),
  point_type: Type.Enum(['measurement', 'action']),
  point: Type.Integer(),
  value: Type.Union([Type.Number(), Type.Null()]),
  quality: Type.String(),
  observed_at: Type.Union([Type.String(), Type.Null()]),
});
type PointValue = Static<typeof pointValue>;
type PushedAlarm = Static<typeof alarmEntry>;
const message = Type.Union([
  Type.Object({ type: Type.Literal('rule_execution'), data: executionRecord }),
  Type.Object({ type: Type.Literal('point_values'), data: Type.Array(pointValue) }),
  Type.Object({ type: Type.Literal('alarms'), data: Type.Array(alarmEntry) }),
  Type.Object({ type: Type.Literal('missed'), data: Type.Object({ count: Type.Number() }) }),
  Type.Object({ type: Type.Literal('authenticated') }),
  Type.Object({ type: Type.Literal('subscribed') }),
  Type.Object({ type: Type.Literal('error') }),
]);

const unauthenticatedCode = 4001;
const firstRetryMs = 1000;
const retryMaxMs = 15_000;
/** How long the connection stays open after the last subscription. */
const lingerMs = 5000;
/** A connection whose other end is gone can stay open for hours: one that says nothing is asked after 2 such periods, and given up after 6. */
const quietPeriodMs = 2000;
const periodsToAsk = 2;
const periodsToGiveUp = 6;
/** Subscriptions within this time are batched: a scrolled list changes its rows in each frame. */
const gatherMs = 100;

let socket: WebSocket | null = null;
let state: StreamState = 'off';
/** Authenticated: before that the server accepts no subscription. */
let isReady = false;
let retryMs = firstRetryMs;
/** Periods since the server last said something. */
let quietPeriods = 0;
let cancelListening: () => void = () => undefined;
let cancelRetry: () => void = () => undefined;
let cancelSettle: () => void = () => undefined;
let isGathering = false;
/** Runs that the server dropped because the page was slow. */
let missed = 0;
const watched = new Map<number, number>();
const watchedPoints = new Map<string, number>();
const lastValues = new Map<string, PointValue>();
const lastRecords = new Map<number, RunRecord>();
const listeners = new Set<() => void>();
const recordListeners = new Set<(record: RunRecord) => void>();
const alarmListeners = new Set<(changed: readonly PushedAlarm[]) => void>();

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
  if (socket !== null || session.status !== 'in' || isIdle()) return;
  setState('connecting');
  const own = new WebSocket(new URL('/ws', location.href.replace(/^http/, 'ws')));
  socket = own;
  isReady = false;
  listenTo(own);
  own.addEventListener('open', () =>
    own.send(JSON.stringify({ type: 'authenticate', token: session.token ?? undefined })),
  );
  own.addEventListener('message', (event) => receive(own, event.data));
  own.addEventListener('close', (event) => closed(own, event.code));
}

/** Asks after a silence, and gives up after a longer one. It asks by subscribing, which the service always answers. */
function listenTo(own: WebSocket): void {
  quietPeriods = 0;
  cancelListening();
  cancelListening = every(quietPeriodMs, () => {
    // Refused, not silent: the page already shows that it is not live.
    if (state === 'lost') return;
    quietPeriods++;
    if (quietPeriods === periodsToAsk) subscribeRules();
    if (quietPeriods < periodsToGiveUp) return;
    // It may never say that it is closed.
    own.close();
    closed(own, null);
  });
}

function receive(own: WebSocket, text: unknown): void {
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : null;
  if (own !== socket || !Check(message, value)) return;
  quietPeriods = 0;
  switch (value.type) {
    case 'authenticated':
      isReady = true;
      subscribe();
      if (alarmListeners.size > 0) subscribeAlarms();
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
    case 'point_values':
      for (const each of value.data) lastValues.set(keyOf(each), each);
      changed();
      break;
    case 'alarms':
      for (const listener of alarmListeners) listener(value.data);
      break;
    case 'error':
      // The subscription was refused: the page shows that its values are not live.
      setState('lost');
      break;
  }
}

/** `code` is null without an answer. */
function closed(own: WebSocket, code: number | null): void {
  if (own !== socket) return;
  socket = null;
  cancelListening();
  lastValues.clear();
  if (code === unauthenticatedCode) expire();
  if (isIdle() || currentSession().status !== 'in') return setState('off');
  setState('lost');
  cancelRetry = after(retryMs, open);
  retryMs = Math.min(retryMs * 2, retryMaxMs);
}

function subscribe(): void {
  subscribeRules();
  subscribeTo('point', [...watchedPoints.keys()]);
  // Changes of the other points are no longer pushed.
  for (const key of lastValues.keys()) if (!watchedPoints.has(key)) lastValues.delete(key);
}

/** Pushes nothing by itself, unlike a subscription to points. */
function subscribeRules(): void {
  subscribeTo('rule', [...watched.keys()]);
}

/** To all of them: first those that are listed come, then each change. */
function subscribeAlarms(): void {
  subscribeTo('alarm', undefined);
}

function subscribeTo(source: 'rule' | 'point' | 'alarm', channels: readonly (number | string)[] | undefined): void {
  if (isReady && socket?.readyState === WebSocket.OPEN)
    socket.send(JSON.stringify({ type: 'subscribe', data: { source, channels } }));
}

/** Once for all changes until then. */
function subscribeSoon(): void {
  if (isGathering) return;
  isGathering = true;
  after(gatherMs, () => {
    isGathering = false;
    subscribe();
  });
}

function isIdle(): boolean {
  return watched.size + watchedPoints.size + alarmListeners.size === 0;
}

function keyOf({ instance, point_type: kind, point }: Pick<PointValue, 'instance' | 'point_type' | 'point'>): string {
  return `${instance}:${kind}:${point}`;
}

function close(): void {
  cancelRetry();
  const own = socket;
  socket = null;
  cancelListening();
  lastValues.clear();
  own?.close();
  setState('off');
}

// Another subject, or none: the previous connection must end.
onSession(() => {
  close();
  if (currentSession().status === 'out') lastRecords.clear();
  open();
});

function watch<K>(counts: Map<K, number>, keys: readonly K[]): () => void {
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  if (socket === null) open();
  else subscribeSoon();
  return () => {
    for (const key of keys) {
      const count = (counts.get(key) ?? 1) - 1;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    }
    subscribeSoon();
    // After one page another one opens: the connection stays open for it.
    cancelSettle();
    cancelSettle = after(lingerMs, () => {
      if (isIdle()) close();
    });
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

/** Subscribes to these rules while the component is shown. */
export function useWatch(ids: readonly number[]): void {
  const key = ids.join(',');
  useEffect(() => watch(watched, key === '' ? [] : key.split(',').map(Number)), [key]);
}

/** Subscribes to these points while the component is shown. */
export function useWatchPoints(keys: readonly string[]): void {
  const all = keys.join(',');
  useEffect(() => watch(watchedPoints, all === '' ? [] : all.split(',')), [all]);
}

/** The newest value of a point: pushed while subscribed, otherwise read; text is never pushed. */
export function useLivePoint<
  P extends Omit<PointValue, 'quality'> & { readonly quality: string; readonly text?: string | null },
>(read: P): Pick<P, 'value' | 'quality' | 'observed_at'> {
  const pushed = useSyncExternalStore(subscribeStore, () => lastValues.get(keyOf(read)));
  if (typeof read.text === 'string') return read;
  return pushed === undefined ? read : { ...pushed, observed_at: later(pushed.observed_at, read.observed_at) };
}

/** Whether every pushed value of these points is usable; points without a pushed value do not count. */
export function useAreUsable(keys: readonly string[]): boolean {
  return useSyncExternalStore(subscribeStore, () => keys.every((key) => lastValues.get(key)?.value !== null));
}

/** A value is pushed when it changes: a read may return the same value with a later observation. */
function later(pushed: string | null, read: string | null): string | null {
  return pushed === null || (read !== null && read > pushed) ? read : pushed;
}

/** The last pushed run of this rule; null if none was pushed since the page was opened. */
export function useLastRun(ruleId: number): RunRecord | null {
  return useSyncExternalStore(subscribeStore, () => lastRecords.get(ruleId) ?? null);
}

/** Subscribes to the listed alarms and their changes; returns the function that unsubscribes. */
export function onAlarms(listener: (changed: readonly PushedAlarm[]) => void): () => void {
  alarmListeners.add(listener);
  if (socket === null) open();
  else if (alarmListeners.size === 1) subscribeAlarms();
  return () => void alarmListeners.delete(listener);
}

/** Subscribes to pushed runs; returns the function that unsubscribes. */
export function onRun(listener: (record: RunRecord) => void): () => void {
  recordListeners.add(listener);
  return () => void recordListeners.delete(listener);
}
