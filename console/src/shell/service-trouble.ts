/** Whether the service as a whole is in trouble, read from the state of all queries that the page repeats. */
import { useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { ApiError, localCodes } from '../../../src/api/client.ts';

export type Trouble = 'unreachable' | 'unavailable';

/** The newest failure of a shown query; null when all of them succeed. */
export function useServiceTrouble(): Trouble | null {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    (listener) => cache.subscribe(listener),
    () => {
      for (const query of cache.getAll()) {
        const error = query.state.error ?? query.state.fetchFailureReason;
        if (!query.isActive() || !(error instanceof ApiError)) continue;
        if (error.code === localCodes.unreachable || error.code === localCodes.timeout) return 'unreachable';
        // Without our envelope, a 502 or 503 comes from a proxy.
        if (error.status === 503 || error.status === 502) return 'unavailable';
      }
      return null;
    },
  );
}
