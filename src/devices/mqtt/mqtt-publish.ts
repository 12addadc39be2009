/** Publishes one message with QoS 1 over a separate connection: that of the channel is for control. */
import type { Clock } from '../../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../../base/deadline.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';
import { credentialOptions, type MqttCredentials } from '../driver/mqtt.ts';
import { clientIdOf, connectionReason, mqttLibrary } from './mqtt-library.ts';

export interface OneMessage {
  readonly channel: MqttChannel;
  readonly credentials: MqttCredentials;
  readonly topic: string;
  readonly text: string;
  readonly timeoutMs: number;
}

/** Resolves when the broker has confirmed it; throws an Error with the reason otherwise. */
export async function publishOnce(message: OneMessage, clock: Clock): Promise<void> {
  const { channel, credentials, topic, text, timeoutMs } = message;
  const mqtt = await mqttLibrary();
  // Throws where a connection cannot even be tried.
  const client = mqtt.connect(channel.url, {
    ...credentialOptions(credentials),
    clientId: clientIdOf(channel, 'notify'),
    clean: true,
    connectTimeout: timeoutMs,
    reconnectPeriod: 0,
  });
  const limit = deadline(clock, timeoutMs);
  const failed = new Promise<never>((_, reject) => {
    client.on('error', (error) => reject(new Error(connectionReason(error), { cause: error })));
    client.once('close', () => reject(new Error('the connection ended')));
  });
  failed.catch(() => undefined);
  try {
    await untilAborted(Promise.race([client.publishAsync(topic, text, { qos: 1 }), failed]), limit.signal);
  } catch (error) {
    throw timeIsUp(limit.signal) ? new Error('no answer in time') : error;
  } finally {
    limit.cancel();
    client.end(true);
  }
}
