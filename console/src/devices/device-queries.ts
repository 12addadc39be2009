/** What the page of devices reads. */
import { useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { channels } from '../../../src/api/channels.ts';
import type { Tone } from '../parts/tag.tsx';
import { call } from '../server/calls.ts';

export type ChannelView = Static<(typeof channels)['list']['answer']>['data']['list'][number];

const listPeriodMs = 3000;

export function useChannels() {
  return useQuery({
    queryKey: ['channels'],
    queryFn: async () => (await call(channels.list)).data.data.list,
    refetchInterval: listPeriodMs,
  });
}

export function channelTone({ state }: ChannelView): Tone {
  if (state === 'online') return 'calm';
  return state === 'refusing' ? 'warn' : 'bad';
}
