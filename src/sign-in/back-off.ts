/** How long a name has to wait after failed sign-ins [identity §7.2]: pure. */
import type { Failures } from './store/sign-in-store.ts';

export interface BackOffLimits {
  readonly sign_in_free_failures: number;
  readonly sign_in_wait_ms: number;
  readonly sign_in_wait_max_ms: number;
}

/** The wait doubles with each failure beyond the free ones. */
export function failedOnce(before: Failures, nowMs: number, limits: BackOffLimits): Failures {
  const failures = before.failures + 1;
  const beyond = failures - limits.sign_in_free_failures;
  if (beyond <= 0) return { failures, untilMs: 0 };
  const waitMs = Math.min(limits.sign_in_wait_ms * 2 ** (beyond - 1), limits.sign_in_wait_max_ms);
  return { failures, untilMs: nowMs + waitMs };
}

/** Milliseconds until the next attempt with this name is allowed. */
export function waitMs({ untilMs }: Failures, nowMs: number, limits: BackOffLimits): number {
  // A clock that was set back must not lock the name for longer than the longest wait.
  return Math.min(Math.max(0, untilMs - nowMs), limits.sign_in_wait_max_ms);
}
