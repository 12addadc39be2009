/** The MQTT library, and what all connections to a broker have in common. */
import { newId } from '../../base/id.ts';
import type { MqttChannel } from '../../site/protocol/mqtt.ts';

/** Loaded on demand: it is large, and most sites have no broker. */
export async function mqttLibrary() {
  const { default: mqtt } = await import('mqtt');
  return mqtt;
}

/** Each connection of a site has an id of its own: a broker ends the older of two with the same. */
export function clientIdOf({ client_id: given }: Pick<MqttChannel, 'client_id'>, purpose: string): string {
  return given === undefined ? `setpoint-${newId()}` : `${given}-${purpose}`;
}

/** A broker gives no reason when it ends a connection. The most frequent one for a connection that has just begun is another client. */
export function connectionEnd(givenId: string | undefined, { isShort }: { readonly isShort: boolean }): string {
  const ended = 'the broker ended the connection';
  return givenId !== undefined && isShort ? `${ended}; does another client have the client_id ${givenId}?` : ended;
}

/** Why a connection failed. Of an error of TLS only the reason: the rest is where in OpenSSL it arose. */
export function connectionReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}
