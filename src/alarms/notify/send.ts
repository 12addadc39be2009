/** Sends a notification or a heartbeat to its receiver [alarms §5], within a deadline. */
import type { Clock } from '../../base/clock.ts';
import type { MqttCredentials } from '../../devices/driver/mqtt.ts';
import { publishOnce } from '../../devices/mqtt/mqtt-publish.ts';
import { exchange, failureWords } from '../../egress/exchange.ts';
import { isLoopbackHost, systemResolve } from '../../egress/pinned-address.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';
import type { NotifyTarget, UrlTarget } from './targets.ts';

/** A change as it is sent. */
export interface Notification {
  readonly alarm: string;
  readonly state: string;
  /** The id of the site. */
  readonly site: string;
  /** RFC 3339 UTC. */
  readonly at: string;
  readonly name: string;
  readonly priority: string;
  readonly message: string | null;
}

export interface SendParts {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Read for each notification: a certificate may have been renewed. Throws an Error with the reason. */
  readonly credentials: (channel: MqttChannel) => MqttCredentials;
}

/** Throws an Error with the reason if it was not accepted. */
export async function sendNotification(
  target: NotifyTarget,
  notification: Notification,
  parts: SendParts,
): Promise<void> {
  const text = JSON.stringify(notification);
  if (target.kind === 'url') return ask(target, text, parts);
  const { channel, topic } = target;
  const { clock, timeoutMs, credentials } = parts;
  return publishOnce({ channel, credentials: credentials(channel), topic, text, timeoutMs }, clock);
}

/** A `GET` without a body. Throws an Error with the reason if it was not accepted. */
export function sendHeartbeat(target: UrlTarget, parts: Pick<SendParts, 'clock' | 'timeoutMs'>): Promise<void> {
  return ask(target, null, parts);
}

/** A `POST` of `text`, or a `GET` if it is null. */
async function ask(
  { url, bearerToken }: UrlTarget,
  text: string | null,
  { clock, timeoutMs }: Pick<SendParts, 'clock' | 'timeoutMs'>,
): Promise<void> {
  const authorization = bearerToken === null ? undefined : { authorization: `Bearer ${bearerToken}` };
  const ended = await exchange(
    {
      url,
      boundary: isLoopbackHost(url.hostname) ? 'local' : 'remote',
      method: text === null ? 'GET' : 'POST',
      headers: { ...(text !== null && { 'content-type': 'application/json' }), ...authorization },
      body: text === null ? null : Buffer.from(text),
      connectTimeoutMs: timeoutMs,
      requestTimeoutMs: timeoutMs,
      wanted: () => ({ maxBytes: 0, longer: 'unread' }),
    },
    { clock, resolve: systemResolve },
    new AbortController().signal,
  );
  if (ended.end !== 'answer') throw new Error(failureWords(ended));
  if (ended.answer.status < 200 || ended.answer.status > 299) throw new Error(`status ${ended.answer.status}`);
}
