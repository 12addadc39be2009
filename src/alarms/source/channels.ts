/** Channels that do not answer, and devices that refuse. */
import type { Channel } from '../../site/protocol/index.ts';
import { type AlarmSource, builtIn } from './source.ts';

export function channelAlarms(site: readonly Pick<Channel, 'id'>[]): AlarmSource {
  return {
    owns: (id) => id.startsWith('channel-offline:') || id.startsWith('device-refuses:'),
    look: ({ channels }, limits) =>
      site.flatMap(({ id }, position) => {
        // In the order of the site.
        const state = channels[position]?.state ?? null;
        return [
          {
            facts: builtIn({
              id: `channel-offline:${id}`,
              name: `Channel ${id} is offline`,
              priority: 'high',
              message: 'Its values are unavailable. Rules that read them are skipped, and commands to it fail.',
            }),
            raw: state === null ? null : state === 'offline',
            delayMs: limits.channel_offline_ms,
          },
          {
            facts: builtIn({
              id: `device-refuses:${id}`,
              name: `The device of channel ${id} refuses requests`,
              priority: 'high',
              message: 'It answers every read, or every command, with an exception. Commands are accepted and fail.',
            }),
            // Whether an unreachable device would refuse is unknown.
            raw: state === null || state === 'offline' ? null : state === 'refusing',
            delayMs: 0,
          },
        ];
      }),
  };
}
