/** The instances of site.yaml with their points, including those of device templates [points §1.1]. */
import type { Decoded } from '../base/decode.ts';
import { type DeviceTemplate, type DeviceTemplates, fillForChannel, fillTemplate } from './device-template.ts';
import { driverNames, protocolOf } from './protocol/index.ts';

/** A channel as in the file, or in a template; `path` is where an error is reported. */
export interface ChannelText {
  readonly given: { readonly id: string; readonly driver: string };
  readonly path: string;
}

export interface InstanceText<Point> {
  readonly id: number;
  readonly points: readonly { readonly text: Point; readonly path: string }[];
}

interface GivenInstance<Point> {
  readonly id: number;
  readonly template?: string;
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly channel?: string;
  readonly points?: readonly Point[];
}

type Fault = (path: string, reason: string) => void;

/** The channel that a template creates for an instance. */
function templateChannelId(template: string, instance: number): string {
  return `${template}-${instance}`;
}

export function fromTemplates<Point>(
  instances: readonly GivenInstance<Point>[],
  siteChannels: readonly ChannelText[],
  templates: DeviceTemplates,
  decodePoint: (value: unknown) => Decoded<Point>,
  fault: Fault,
): { readonly channels: readonly ChannelText[]; readonly instances: readonly InstanceText<Point>[] } {
  const channels: ChannelText[] = [];
  const read = instances.map((instance, position): InstanceText<Point> => {
    const path = `/instances/${position}`;
    const own = (instance.points ?? []).map((text, at) => ({ text, path: `${path}/points/${at}` }));
    if (instance.template === undefined) {
      checkPlain(instance, path, fault);
      return { id: instance.id, points: own };
    }
    const template = templates.get(instance.template);
    if (template === undefined)
      fault(`${path}/template`, `unknown device template ${instance.template}; \`setpoint site templates\` lists them`);
    const device = template === undefined ? null : fromTemplate(instance, template, siteChannels, path, fault);
    if (device === null) return { id: instance.id, points: own };
    channels.push(...device.channels);
    const points = device.points.flatMap((given, at) => {
      const decoded = decodePoint(given);
      if (decoded.ok) return [{ text: decoded.value, path: `${path}/template` }];
      for (const issue of decoded.issues)
        fault(`${path}/template`, `template ${instance.template}: points/${at}${issue.path} ${issue.message}`);
      return [];
    });
    return { id: instance.id, points: [...points, ...own] };
  });
  return { channels, instances: read };
}

function checkPlain<Point>(instance: GivenInstance<Point>, path: string, fault: Fault): void {
  if (instance.points === undefined) fault(path, 'an instance needs points or a template');
  for (const member of ['parameters', 'channel'] as const)
    if (instance[member] !== undefined) fault(`${path}/${member}`, `${member} needs a template`);
}

interface TemplatedDevice {
  readonly channels: readonly ChannelText[];
  readonly points: readonly unknown[];
}

function fromTemplate<Point>(
  { id, parameters = {}, channel }: GivenInstance<Point>,
  template: DeviceTemplate,
  siteChannels: readonly ChannelText[],
  path: string,
  fault: Fault,
): TemplatedDevice | null {
  if (channel !== undefined) return onSharedChannel(channel, parameters, template, siteChannels, path, fault);
  const device = fillTemplate(template, parameters);
  if ('faults' in device) {
    for (const [member, reason] of device.faults) fault(`${path}/${member}`, reason);
    return null;
  }
  const given = { ...device.channel, id: templateChannelId(template.name, id), driver: template.channel.driver };
  return {
    channels: [{ given, path: `${path}/template` }],
    points: device.points.map((point) => ({ ...point, channel: given.id })),
  };
}

function onSharedChannel(
  id: string,
  parameters: Readonly<Record<string, string | number>>,
  template: DeviceTemplate,
  siteChannels: readonly ChannelText[],
  path: string,
  fault: Fault,
): TemplatedDevice | null {
  const channel = siteChannels.find(({ given }) => given.id === id)?.given;
  if (channel === undefined) {
    fault(`${path}/channel`, `unknown channel ${id}`);
    return null;
  }
  const driver = driverNames.find((name) => name === channel.driver);
  // Reported with the channel.
  if (driver === undefined) return null;
  const protocol = protocolOf(driver);
  const inAddress = protocol.addressSettings ?? [];
  const ofPoints = [...inAddress, ...(protocol.polled === true ? [pollInterval] : [])];
  const device = fillForChannel(template, parameters, { id, driver, ofPoints, settings: { ...channel } });
  if ('faults' in device) {
    for (const [member, reason] of device.faults) fault(`${path}/${member}`, reason);
    return null;
  }
  const { [pollInterval]: interval, ...rest } = device.channel;
  const points = device.points.map((point) => {
    const address = { ...Object(point['address']) } as Readonly<Record<string, unknown>>;
    const settings = Object.entries(rest).filter(([name]) => protocol.takesSetting?.(name, address) !== false);
    return {
      ...(interval === undefined ? {} : { [pollInterval]: interval }),
      ...point,
      address: { ...Object.fromEntries(settings), ...address },
      channel: id,
    };
  });
  return { channels: [], points };
}

const pollInterval = 'poll_interval_ms';
