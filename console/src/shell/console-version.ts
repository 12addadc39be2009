/** Notices that the service was upgraded while this page was open: the page is then still the old console. */
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useStreamState } from '../live/stream.ts';

/** Interval of the checks, beside the one after each new connection: an upgrade restarts the service. */
const checkPeriodMs = 600_000;

export function useIsOutdated(): boolean {
  const stream = useStreamState();
  const { data = false, refetch } = useQuery({
    queryKey: ['console-version'],
    queryFn: isOutdated,
    refetchInterval: checkPeriodMs,
    retry: false,
  });
  useEffect(() => {
    if (stream === 'live') void refetch();
  }, [stream, refetch]);
  return data;
}

/** Compares the script of this page with the one that the service delivers now; names of scripts contain their digest. */
async function isOutdated(): Promise<boolean> {
  const own = document.querySelector<HTMLScriptElement>('script[type="module"]');
  const response = await fetch('/', { cache: 'no-store' });
  const page = await response.text();
  // Another answer, such as a proxy's own page, tells nothing.
  if (own === null || !response.ok || !page.includes('id="root"')) return false;
  return !page.includes(new URL(own.src).pathname);
}
