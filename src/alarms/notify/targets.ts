/** Receivers of changes of alarms and of the heartbeat [alarms §5]: `notify` of service.yaml. */
import Type, { type Static } from 'typebox';
import { strict, variableName } from '../../base/schema.ts';
import { YamlError } from '../../base/yaml.ts';
import { outboundUrlFault } from '../../egress/outbound-url.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';
import type { Site } from '../../site/site.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Maximum number of URLs. */
export const notifyUrlsMax = 10;

const urlText = Type.String({ minLength: 1, maxLength: 2048 });
/** A receiver with a secret: in its address, or as a bearer token. */
const withSecret = strict({
  url: Type.Optional(urlText),
  url_env: Type.Optional(variableName),
  bearer_token_env: Type.Optional(variableName),
});

const urlEntry = Type.Union([urlText, withSecret]);

export const notifySchema = strict({
  urls: Type.Optional(Type.Array(urlEntry, { maxItems: notifyUrlsMax, uniqueItems: true })),
  heartbeat: Type.Optional(urlEntry),
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

interface Named {
  /** Under which the deliveries of this receiver are remembered. */
  readonly name: string;
  /** For the log, without a secret. */
  readonly shown: string;
}

export interface UrlTarget extends Named {
  readonly kind: 'url';
  readonly url: URL;
  readonly bearerToken: string | null;
}

export type NotifyTarget =
  | UrlTarget
  | (Named & { readonly kind: 'mqtt'; readonly channel: MqttChannel; readonly topic: string });

/** Secrets come from `environment`. Throws a YamlError with one line per fault. */
export function notifyTargets(
  { urls = [], mqtt }: NotifySettings,
  site: Pick<Site, 'channels'>,
  environment: Environment,
): NotifyTarget[] {
  const faults: string[] = [];
  const targets = urls.flatMap((entry, position): NotifyTarget[] => {
    const place = `notify.urls[${position}]`;
    const found = urlTarget(entry, place, environment);
    if (typeof found !== 'string') return [found];
    faults.push(`service.yaml: ${place}: ${found}`);
    return [];
  });
  if (mqtt !== undefined) {
    const channel = site.channels.find(({ id }) => id === mqtt.channel);
    if (channel?.driver === 'mqtt') {
      const { topic } = mqtt;
      const name = `mqtt:${channel.id}:${topic}`;
      targets.push({ kind: 'mqtt', name, shown: name, channel, topic });
    } else
      faults.push(`service.yaml: notify.mqtt.channel: the site has no channel ${mqtt.channel} with the driver mqtt`);
  }
  if (faults.length > 0) throw new YamlError(faults);
  return targets;
}

/** The monitor that the heartbeat is sent to; null without one. Throws a YamlError as `notifyTargets` does. */
export function heartbeatTarget({ heartbeat }: NotifySettings, environment: Environment): UrlTarget | null {
  if (heartbeat === undefined) return null;
  const place = 'notify.heartbeat';
  const found = urlTarget(heartbeat, place, environment);
  if (typeof found === 'string') throw new YamlError([`service.yaml: ${place}: ${found}`]);
  return found;
}

/** The receiver, or what is wrong with it. */
function urlTarget(entry: Static<typeof urlEntry>, place: string, environment: Environment): UrlTarget | string {
  const { url: text, url_env: textIn, bearer_token_env: tokenIn } = typeof entry === 'string' ? { url: entry } : entry;
  if ((text === undefined) === (textIn === undefined)) return 'needs either url or url_env';
  for (const name of [textIn, tokenIn])
    if (name !== undefined && (environment[name] ?? '') === '') return `the environment has no variable ${name}`;
  const url = URL.parse(text ?? environment[textIn ?? ''] ?? '');
  const fault = outboundUrlFault(url);
  if (url === null || fault !== null) return fault ?? '';
  const bearerToken = tokenIn === undefined ? null : (environment[tokenIn] ?? '');
  if (bearerToken !== null && !/^[\u0021-\u007e]+$/.test(bearerToken))
    return `the variable ${tokenIn} holds no token: it contains spaces or control characters`;
  // An address from the environment may change with its secret: the receiver remains the same.
  const name = textIn === undefined ? url.href : `env:${textIn}`;
  return { kind: 'url', name, shown: `${place} (${url.host})`, url, bearerToken };
}
