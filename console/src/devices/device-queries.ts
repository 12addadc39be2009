/** What the page of devices reads. */
import { useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { points } from '../../../src/api/points.ts';
import type { Tone } from '../parts/tag.tsx';
import { call } from '../server/calls.ts';

export type ChannelView = Static<(typeof points)['channels']['answer']>['data']['list'][number];

const listPeriodMs = 3000;

export function useChannels() {
  return useQuery({
    queryKey: ['channels'],
    queryFn: async () => (await call(points.channels)).data.data.list,
    refetchInterval: listPeriodMs,
  });
}

export function channelTone({ state }: ChannelView): Tone {
  if (state === 'online') return 'calm';
  return state === 'refusing' ? 'warn' : 'bad';
}
