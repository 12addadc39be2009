/** MQTT in site.yaml [points §3.2]. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict, variableName } from '../../base/schema.ts';
import { identifier, type Protocol } from './protocol.ts';

/** A topic to publish or subscribe to, without wildcards: those have no single value. */
const mqttTopic = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[^\\u0000+#]+$',
  description: 'a topic without wildcards',
});
const fileName = Type.String({ minLength: 1, maxLength: 1024 });
/** Availability of a device, or of Setpoint itself: topic and payloads. */
const presence = strict({
  topic: mqttTopic,
  online: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
  offline: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
});
const mqttSettings = strict({
  id: identifier,
  driver: Type.Literal('mqtt'),
  /** Without credentials: those come from environment variables. */
  url: Type.String({
    maxLength: 512,
    pattern: '^mqtts?://[^/@?#\\s]+/?$',
    description: 'mqtt://host:port or mqtts://host:port, without user, path or query',
  }),
  username_env: Type.Optional(variableName),
  password_env: Type.Optional(variableName),
  /** The client id at the broker; by default a new one for each connection. */
  client_id: Type.Optional(identifier),
  /** PEM files of a `mqtts` connection, relative to site.yaml: trusted authorities, and Setpoint's own certificate. */
  ca_file: Type.Optional(fileName),
  cert_file: Type.Optional(fileName),
  key_file: Type.Optional(fileName),
  keep_alive_s: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600 })),
  /** The message that the broker publishes when the connection is lost. */
  will: Type.Optional(strict({ topic: mqttTopic, payload: Type.String({ maxLength: 1024 }) })),
  /** Birth and will of Setpoint's connection, both retained. */
  status: Type.Optional(presence),
  /** Publishes points and rules of the whole site, over a separate connection. */
  publish: Type.Optional(Type.Literal('home-assistant')),
  /** Availability of the devices behind the channel, for points without one of their own. */
  availability: Type.Optional(presence),
});

const mqttAddress = strict({
  topic: mqttTopic,
  /** Path of the value in a JSON payload; by default the whole payload. */
  path: Type.Optional(
    Type.String({
      maxLength: 256,
      pattern: `^\\$(\\.[A-Za-z_][A-Za-z0-9_-]*|\\[(0|[1-9][0-9]{0,5})\\]|\\['[^']+'\\]|\\["[^"]+"\\])*$`,
      description: "a path such as $.meter.p_kw, $.values[0] or $['em:0'].power",
    }),
  ),
  /** A number alone, JSON (the default), or text. */
  payload: Type.Optional(Type.Enum(['number', 'json', 'text'])),
  /** Words of the device with their numbers. */
  map: Type.Optional(Type.Record(Type.String({ minLength: 1, maxLength: 128 }), Type.Number(), { minProperties: 1 })),
  /** `accept`: retained messages count too, as uncertain, because their age is unknown. */
  retained: Type.Optional(Type.Enum(['ignore', 'accept'])),
  availability: Type.Optional(presence),
});

export type MqttChannel = Static<typeof mqttSettings>;
export type MqttAddress = Static<typeof mqttAddress>;

export const mqtt: Protocol<MqttChannel, MqttAddress> = {
  settings: decoder(mqttSettings),
  address: decoder(mqttAddress),
  addressSettings: ['availability'],
  traced: true,
  defaultMaxAgeMs: () => 60_000,
  places: ({ topic, path }, { url }) => [`${url}/${topic}/${path ?? ''}`],
  hasNoNumber: ({ payload, map }) => payload === 'text' && map === undefined,
  checkSettings({ url, username_env, password_env, will, status, ca_file, cert_file, key_file }, fault) {
    if (!URL.canParse(url)) fault('url', 'is not a valid address; the port is at most 65535');
    if (url.startsWith('mqtt://'))
      for (const [name, file] of Object.entries({ ca_file, cert_file, key_file }))
        if (file !== undefined) fault(name, `${name} needs a mqtts:// url`);
    // MQTT 3.1.1 has no password without a user: no connection would ever be made.
    if (password_env !== undefined && username_env === undefined)
      fault('password_env', 'password_env needs a username_env');
    if (cert_file !== undefined && key_file === undefined) fault('cert_file', 'cert_file needs a key_file');
    if (key_file !== undefined && cert_file === undefined) fault('key_file', 'key_file needs a cert_file');
    if (will !== undefined && status !== undefined) fault('will', 'use either will or status: status includes a will');
  },
  checkAddress({ path, payload, map, retained }, kind, fault) {
    if (path !== undefined && payload !== undefined && payload !== 'json')
      fault('address/path', `a path needs payload json, not ${payload}`);
    if (kind === 'action' && payload === 'text' && map === undefined)
      fault('address/payload', 'a text payload of an action point needs a map');
    if (kind === 'action' && retained !== undefined) fault('address/retained', 'commands are never retained');
    const numbers = Object.values(map ?? {});
    if (kind === 'action' && new Set(numbers).size < numbers.length)
      fault('address/map', 'an action point needs a different number for each payload');
  },
};
