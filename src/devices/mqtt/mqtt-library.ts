/** The MQTT library, loaded where a site has a broker: it is large, and most sites have none. */
export async function mqttLibrary() {
  const { default: mqtt } = await import('mqtt');
  return mqtt;
}
