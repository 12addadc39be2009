/** The console's only access to time: wall time for labels and ages, timers for repetition. */

export function nowMs(): number {
  return Date.now();
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
