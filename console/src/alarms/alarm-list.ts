/** The alarms of the site, read as a whole now and then; in between, each change is pushed [alarms §4.3]. */
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { alarms } from '../../../src/api/alarms.ts';
import { onAlarms, useStreamState } from '../live/stream.ts';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';
import { useMayRead } from '../session/session.ts';
import { type AlarmView, withChanges } from './alarm-words.ts';

/** While nothing is pushed. */
const listPeriodMs = 2000;
/** While changes are pushed: an alarm that a reload of the site file removed is not. */
const wholePeriodMs = 10_000;
const queryKey = ['alarms'];

export function useAlarms() {
  const mayRead = useMayRead();
  const isPushed = useStreamState() === 'live';
  return useQuery({
    queryKey,
    enabled: mayRead,
    queryFn: async () => (await call(alarms.list)).data.data.list,
    refetchInterval: isPushed ? wholePeriodMs : listPeriodMs,
  });
}

/** Takes pushed changes into the list while the component is shown. */
export function usePushedAlarms(): void {
  const mayRead = useMayRead();
  useEffect(() => {
    if (!mayRead) return undefined;
    return onAlarms((pushed) => {
      queryClient.setQueryData<readonly AlarmView[]>(queryKey, (known) => known && withChanges(known, pushed));
      // Its answer may be older than what was pushed meanwhile.
      if (queryClient.isFetching({ queryKey, exact: true }) > 0)
        void queryClient.invalidateQueries({ queryKey, exact: true });
    });
  }, [mayRead]);
}
