/** How many calls of one route may run at once ([data-processing §5.5] `max_concurrency`); the excess is refused at once, never queued. */
import { Fault } from '../base/fault.ts';
import type { CommissionedRoute } from './commission/commissioned.ts';

/** Retry advice for refused callers [data-processing §5.4]. */
const busyRetryMs = 250;

export interface RouteSlots {
  /** Throws Fault `processor-busy`; what is returned gives the slot back, once. */
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
