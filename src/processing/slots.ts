/** Limit of concurrent calls per route ([data-processing §5.5] `max_concurrency`); further calls are refused at once, never queued. */
import { Fault } from '../base/fault.ts';
import type { CommissionedRoute } from './commission/commissioned.ts';

/** Retry advice for refused callers [data-processing §5.4]. */
const busyRetryMs = 250;

export interface RouteSlots {
  /** Throws Fault `processor-busy`; the returned function releases the slot, once. */
  take(route: CommissionedRoute): () => void;
}

export function routeSlots(): RouteSlots {
  const taken = new Map<CommissionedRoute, number>();
  return {
    take(route) {
      const before = taken.get(route) ?? 0;
      if (before >= route.route.max_concurrency)
        throw new Fault('processor-busy', 'the route of this task is at its concurrency limit', {
          retryAfterMs: busyRetryMs,
        });
      taken.set(route, before + 1);
      return () => void taken.set(route, (taken.get(route) ?? 1) - 1);
    },
  };
}
