/**
 * The console's only access to time: wall time for labels and ages, timers for repetition. The wall time is that of the service, whatever
 * the clock of this device shows: an age that the device computed itself would hide that a value is old, or end a session that is valid.
 */

/** How far the service's clock is ahead of this device's; null before the first answer. */
let aheadMs: number | null = null;
const listeners = new Set<() => void>();

/** The time of the service, to about a second. */
export function nowMs(): number {
  return deviceMs() + (aheadMs ?? 0);
}

export function deviceMs(): number {
  return Date.now();
}

/** Positive if this device is behind; null before the first answer of the service. */
export function serviceAheadMs(): number | null {
  return aheadMs;
}

/** Takes the time of an answer, its header `Date`, to a request that this device sent at `sentMs`. */
export function followService(date: string | null, sentMs: number): void {
  const seenMs = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(seenMs)) return;
  const next = aheadAfter(aheadMs ?? 0, { seenMs, sentMs, receivedMs: deviceMs() });
  if (next === aheadMs) return;
  aheadMs = next;
  for (const each of listeners) each();
}

/** Calls `listener` when the first answer has come, and whenever the difference of the clocks changes. */
export function onServiceClock(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const dateResolutionMs = 1000;

/** The difference nearest to the known one that the answer allows: it was written in the second from `seenMs`, and between both moments. */
export function aheadAfter(
  knownMs: number,
  { seenMs, sentMs, receivedMs }: { readonly seenMs: number; readonly sentMs: number; readonly receivedMs: number },
): number {
  const [least, most] = [seenMs - receivedMs, seenMs + dateResolutionMs - sentMs];
  return Math.max(least, Math.min(most, knownMs));
}

/** Runs `task` once after `delayMs`; the returned function cancels it. */
export function after(delayMs: number, task: () => void): () => void {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}

/** Runs `task` every `periodMs` until the returned function is called. */
export function every(periodMs: number, task: () => void): () => void {
  const timer = setInterval(task, periodMs);
  return () => clearInterval(timer);
}
