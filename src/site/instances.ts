/** The instances of site.yaml with their points, including those of device templates [points §1.1]. */
import type { Decoded } from '../base/decode.ts';
import { type DeviceTemplates, fillTemplate } from './device-template.ts';

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
    const device = fromTemplate(instance, instance.template, templates, path, fault);
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

function fromTemplate<Point>(
  { id, parameters = {}, channel }: GivenInstance<Point>,
  name: string,
  templates: DeviceTemplates,
  path: string,
  fault: Fault,
): { readonly channels: readonly ChannelText[]; readonly points: readonly unknown[] } | null {
  const template = templates.get(name);
  if (template === undefined) {
    fault(`${path}/template`, `unknown device template ${name}; \`setpoint site templates\` lists them`);
    return null;
  }
  const filled = fillTemplate(template, parameters);
  if ('faults' in filled) {
    for (const [member, reason] of filled.faults) fault(`${path}/parameters/${member}`, reason);
    return null;
  }
  const channelId = channel ?? templateChannelId(name, id);
  const driver = String(filled.channel['driver']);
  return {
    channels:
      channel === undefined ? [{ given: { ...filled.channel, id: channelId, driver }, path: `${path}/template` }] : [],
    points: filled.points.map((point) => ({ ...point, channel: channelId })),
  };
}
