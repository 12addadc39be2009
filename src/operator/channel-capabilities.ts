/** The handlers of channels [points §8.5], [points §8.6]. */
import { type Answer, type CallContext, type HandledCapability, success } from '../api/capability.ts';
import { channels as descriptors } from '../api/channels.ts';
import { wholeList } from '../api/page.ts';
import { Fault } from '../base/fault.ts';
import { timeLabel } from '../base/timestamp.ts';
import type { DeviceLayer } from '../devices/device-layer.ts';
import type { ScanQuestion } from '../devices/driver.ts';
import type { TableSample } from '../points/sample.ts';
import type { Site } from '../site/site.ts';
import { channelEntries } from './channels.ts';

export interface ChannelOperatorParts {
  readonly site: () => Pick<Site, 'channels' | 'points'>;
  readonly sample: () => Promise<TableSample | null>;
  readonly devices: Pick<DeviceLayer, 'channels' | 'traffic' | 'errors' | 'trace' | 'scan'>;
  /** Whether this process controls the site: a standby is connected to no device. */
  readonly controls: () => boolean;
}

const channelResource = ({ channel }: Readonly<Record<string, string>>) => ({
  kind: 'automation-channel',
  id: `automation-channel:${channel}`,
});

export function channelCapabilities(parts: ChannelOperatorParts): HandledCapability[] {
  return [
    {
      descriptor: descriptors.list,
      resource: () => ({ kind: 'automation-channel', id: 'automation-channels' }),
      handler: () => list(parts),
    },
    { descriptor: descriptors.trace, resource: channelResource, handler: (context) => trace(parts, context) },
    { descriptor: descriptors.scan, resource: channelResource, handler: (context) => scan(parts, context) },
  ];
}

async function list({ site, sample, devices }: ChannelOperatorParts): Promise<Answer> {
  const [now, traffic, errors] = await Promise.all([sample(), devices.traffic(), devices.errors()]);
  return success(wholeList(channelEntries(site(), now, { states: devices.channels(), traffic, errors })));
}

function positionOf(
  { site }: ChannelOperatorParts,
  { params }: CallContext,
): { readonly channel: string; readonly at: number } {
  const channel = params['channel'] ?? '';
  const at = site().channels.findIndex(({ id }) => id === channel);
  if (at === -1) throw new Fault('not-found', `the site has no channel ${channel}`);
  return { channel, at };
}

async function trace(parts: ChannelOperatorParts, context: CallContext): Promise<Answer> {
  const { channel, at } = positionOf(parts, context);
  const kept = await parts.devices.trace(at);
  if (kept === null) throw notHere(parts, channel);
  const { answered, refused, 'no-answer': noAnswer } = kept.counts;
  return success({
    channel,
    counts: { answered, refused, no_answer: noAnswer },
    exchanges: kept.exchanges.map(({ atMs, durationMs, request, answer, result }) => ({
      at: timeLabel(atMs),
      duration_ms: Math.round(durationMs * 10) / 10,
      request,
      answer,
      result,
    })),
  });
}

async function scan(parts: ChannelOperatorParts, context: CallContext): Promise<Answer> {
  const { channel, at } = positionOf(parts, context);
  const { unit, table, from, count } = context.query;
  const question: ScanQuestion = {
    ...(unit === undefined ? {} : { unit: Number(unit) }),
    ...(table === undefined ? {} : { table: table as NonNullable<ScanQuestion['table']> }),
    ...(from === undefined ? {} : { from: Number(from) }),
    ...(count === undefined ? {} : { count: Number(count) }),
  };
  const found = await parts.devices.scan(at, question);
  if (found === null) throw notHere(parts, channel);
  if (found === undefined)
    throw new Fault('invalid-input', `channel ${channel} cannot be scanned: its driver has no registers to scan`);
  return success({ channel, ...found });
}

function notHere({ controls }: ChannelOperatorParts, channel: string): Fault {
  return new Fault(
    'engine-unavailable',
    controls()
      ? `channel ${channel} has no connection here; see its last error, and try again`
      : `this process is a standby and is not connected to channel ${channel}: ask the one that controls the site`,
  );
}
