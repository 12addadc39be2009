/**
 * Gives back the memory that loading the program took: in a thread that has just loaded its modules, more than half of the heap
 * is garbage, and V8 keeps it for later use.
 */
import { Session } from 'node:inspector';
import { systemClock } from './clock.ts';

/** By then the first requests after the start are answered. */
const trimAfterMs = 5000;

/** Collects all garbage of this thread in one of its next turns. That blocks it for 10 to 50 ms, longer with a large heap. */
export function trimHeap(): void {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.enable');
  // Not from within the answer: that would end the session in the middle of its own work.
  session.post('HeapProfiler.collectGarbage', () => systemClock.soon(() => session.disconnect()));
}

/** For a thread that is needed as soon as the service is ready, or whose heap stays small. */
export function trimHeapLater(): void {
  systemClock.after(trimAfterMs, trimHeap);
}
