/** MQTT in site.yaml [points §3.2]. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { identifier, type Protocol } from './protocol.ts';

const variableName = Type.String({ pattern: '^[A-Z_][A-Z0-9_]{0,127}$' });
/** A topic to publish or subscribe to as it is: wildcards have no one value. */
const mqttTopic = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[^\\u0000+#]+$',
  description: 'a topic without wildcards',
});
const fileName = Type.String({ minLength: 1, maxLength: 1024 });
const mqttSettings = strict({
  id: identifier,
  driver: Type.Literal('mqtt'),
  /** Without credentials: those come from the environment, by name. */
  url: Type.String({
    maxLength: 512,
    pattern: '^mqtts?://[^/@?#\\s]+/?$',
    description: 'mqtt://host:port or mqtts://host:port, without user, path or query',
  }),
  username_env: Type.Optional(variableName),
  password_env: Type.Optional(variableName),
  /** Of this connection at the broker; one of its own for each connection when absent. */
  client_id: Type.Optional(identifier),
  /** PEM files of a `mqtts` connection, relative to site.yaml: whom to trust, and who Setpoint is. */
  ca_file: Type.Optional(fileName),
  cert_file: Type.Optional(fileName),
  key_file: Type.Optional(fileName),
  keep_alive_s: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600 })),
  /** What the broker tells others when the connection is lost. */
  will: Type.Optional(strict({ topic: mqttTopic, payload: Type.String({ maxLength: 1024 }) })),
});

const mqttAddress = strict({
  topic: mqttTopic,
  /** Where the number stands in a JSON payload; the whole payload when absent. */
  path: Type.Optional(
    Type.String({
      maxLength: 256,
      pattern: '^\\$(\\.[A-Za-z_][A-Za-z0-9_-]*|\\[(0|[1-9][0-9]{0,5})\\])*$',
      description: 'a path such as $.meter.p_kw or $.values[0]',
    }),
  ),
});

export type MqttChannel = Static<typeof mqttSettings>;
export type MqttAddress = Static<typeof mqttAddress>;

export const mqtt: Protocol<MqttChannel, MqttAddress> = {
  settings: decoder(mqttSettings),
  address: decoder(mqttAddress),
  defaultMaxAgeMs: () => 60_000,
};
