/** Receivers of changes of alarms [alarms §5]: `notify` of service.yaml. */
import Type, { type Static } from 'typebox';
import { strict } from '../../base/schema.ts';
import { YamlError } from '../../base/yaml.ts';
import { outboundUrlFault } from '../../egress/outbound-url.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';
import type { Site } from '../../site/site.ts';

/** Maximum number of URLs. */
export const notifyUrlsMax = 10;

export const notifySchema = strict({
  urls: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { maxItems: notifyUrlsMax, uniqueItems: true }),
  ),
  mqtt: Type.Optional(
    strict({
      channel: Type.String({ minLength: 1 }),
      topic: Type.String({
        pattern: '^[^#+\\u0000]{1,512}$',
        description: 'a topic without wildcards, of 1 to 512 characters',
      }),
    }),
  ),
});
export type NotifySettings = Static<typeof notifySchema>;

export type NotifyTarget =
  | { readonly kind: 'url'; readonly name: string; readonly url: URL }
  | { readonly kind: 'mqtt'; readonly name: string; readonly channel: MqttChannel; readonly topic: string };

/** Throws a YamlError with one line per fault. */
export function notifyTargets({ urls = [], mqtt }: NotifySettings, site: Pick<Site, 'channels'>): NotifyTarget[] {
  const faults: string[] = [];
  const targets = urls.flatMap((text, position): NotifyTarget[] => {
    const url = URL.parse(text);
    const fault = outboundUrlFault(url);
    if (fault !== null) faults.push(`service.yaml: notify.urls[${position}]: ${fault}`);
    return url === null ? [] : [{ kind: 'url', name: url.href, url }];
  });
  if (mqtt !== undefined) {
    const channel = site.channels.find(({ id }) => id === mqtt.channel);
    if (channel?.driver === 'mqtt')
      targets.push({ kind: 'mqtt', name: `mqtt:${channel.id}:${mqtt.topic}`, channel, topic: mqtt.topic });
    else faults.push(`service.yaml: notify.mqtt.channel: the site has no channel ${mqtt.channel} with the driver mqtt`);
  }
  if (faults.length > 0) throw new YamlError(faults);
  return targets;
}
