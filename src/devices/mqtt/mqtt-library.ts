/** The MQTT library, loaded on demand: it is large, and most sites have no broker. */
export async function mqttLibrary() {
  const { default: mqtt } = await import('mqtt');
  return mqtt;
}

/** Why a connection failed. Of an error of TLS only the reason: the rest is where in OpenSSL it arose. */
export function connectionReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}
