/** Queries and mutations of the device page. */
import { useMutation, useQuery } from '@tanstack/react-query';
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

export type TracedChannel = Static<(typeof channels)['trace']['answer']>['data'];
export type ScannedChannel = Static<(typeof channels)['scan']['answer']>['data'];

const tracePeriodMs = 2000;

export function useTrace(channel: string) {
  return useQuery({
    queryKey: ['channel-trace', channel],
    queryFn: async () => (await call(channels.trace, { params: { channel } })).data.data,
    refetchInterval: tracePeriodMs,
  });
}

/** The registers that a scan reads. */
export interface ScanSpan {
  readonly table: 'holding' | 'input' | 'coil' | 'discrete';
  readonly from: number;
  readonly count: number;
  /** Null: the unit of the channel. */
  readonly unit: number | null;
}

/** Without a span it reads the models of a SunSpec device. */
export function useScan(channel: string) {
  return useMutation({
    mutationFn: async (span: ScanSpan | null) => {
      const { table, from, count, unit } = span ?? {};
      const query = {
        ...(table === undefined ? {} : { table }),
        ...(from === undefined ? {} : { from: String(from) }),
        ...(count === undefined ? {} : { count: String(count) }),
        ...(typeof unit === 'number' ? { unit: String(unit) } : {}),
      };
      return (await call(channels.scan, { params: { channel }, query })).data.data;
    },
  });
}

export function channelTone({ state }: ChannelView): Tone {
  if (state === 'online') return 'calm';
  return state === 'refusing' ? 'warn' : 'bad';
}
