/** The MQTT library, loaded on demand: it is large, and most sites have no broker. */
export async function mqttLibrary() {
  const { default: mqtt } = await import('mqtt');
  return mqtt;
}
