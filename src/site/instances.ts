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
  const given = instances.map((instance, position) =>
    templatedOf(instance, `/instances/${position}`, templates, fault),
  );
  // A channel of one template may be shared by others, whatever their order.
  const own = given.map((each) => (each === null || each.channel !== undefined ? null : withOwnChannel(each, fault)));
  const channels = own.flatMap((device) => device?.channels ?? []);
  const devices = given.map((each, position) =>
    each?.channel === undefined
      ? (own[position] ?? null)
      : onSharedChannel(each.channel, each, [...siteChannels, ...channels], fault),
  );
  const read = instances.map(({ id, template, points = [] }, position): InstanceText<Point> => {
    const path = `/instances/${position}`;
    const ofTemplate = (devices[position]?.points ?? []).flatMap((point, at) => {
      const decoded = decodePoint(point);
      if (decoded.ok) return [{ text: decoded.value, path: `${path}/template` }];
      for (const issue of decoded.issues)
        fault(`${path}/template`, `template ${template}: points/${at}${issue.path} ${issue.message}`);
      return [];
    });
    const ownPoints = points.map((text, at) => ({ text, path: `${path}/points/${at}` }));
    return { id, points: [...ofTemplate, ...ownPoints] };
  });
  return { channels, instances: read };
}

/** An instance with a template that exists. */
interface Templated {
  readonly id: number;
  readonly template: DeviceTemplate;
  readonly parameters: Readonly<Record<string, string | number>>;
  readonly channel: string | undefined;
  readonly path: string;
}

function templatedOf<Point>(
  instance: GivenInstance<Point>,
  path: string,
  templates: DeviceTemplates,
  fault: Fault,
): Templated | null {
  const { id, template: name, parameters = {}, channel } = instance;
  if (name === undefined) {
    checkPlain(instance, path, fault);
    return null;
  }
  const template = templates.get(name);
  if (template !== undefined) return { id, template, parameters, channel, path };
  fault(`${path}/template`, `unknown device template ${name}; \`setpoint site templates\` lists them`);
  return null;
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

function withOwnChannel({ id, template, parameters, path }: Templated, fault: Fault): TemplatedDevice | null {
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
  { template, parameters, path }: Templated,
  channels: readonly ChannelText[],
  fault: Fault,
): TemplatedDevice | null {
  const channel = channels.find(({ given }) => given.id === id)?.given;
  if (channel === undefined) {
    fault(`${path}/channel`, `unknown channel ${id}`);
    return null;
  }
  const driver = driverNames.find((name) => name === channel.driver);
  // Reported with the channel.
  if (driver === undefined) return null;
  const protocol = protocolOf(driver);
  const inAddress = protocol.addressSettings ?? [];
  const ofPoints = [...inAddress, ...(protocol.pollIntervalMs === undefined ? [] : [pollInterval])];
  const device = fillForChannel(template, parameters, { id, driver, ofPoints, settings: { ...channel } });
  if ('faults' in device) {
    for (const [member, reason] of device.faults) fault(`${path}/${member}`, reason);
    return null;
  }
  const { [pollInterval]: interval, ...rest } = device.channel;
  const points = device.points.map((point) => {
    const of = { ...(interval === undefined ? {} : { [pollInterval]: interval }), ...point, channel: id };
    if (protocol.address === null) return of;
    const address = { ...Object(point['address']) } as Readonly<Record<string, unknown>>;
    const settings = Object.entries(rest).filter(([name]) => protocol.takesSetting?.(name, address) !== false);
    return { ...of, address: { ...Object.fromEntries(settings), ...address } };
  });
  return { channels: [], points };
}

const pollInterval = 'poll_interval_ms';
