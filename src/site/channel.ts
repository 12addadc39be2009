/**
 * Channels of site.yaml [points §1]: the grammar of each driver's settings and point addresses. A registry; the
 * device layer has one driver for each name in it.
 */
import Type, { type Static } from 'typebox';
import { type Decoded, decoder } from '../base/decode.ts';
import { strict } from '../base/schema.ts';

const identifier = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$' });
const variableName = Type.String({ pattern: '^[A-Z_][A-Z0-9_]{0,127}$' });
const milliseconds = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });

const modbusTcp = strict({
  id: identifier,
  driver: Type.Literal('modbus-tcp'),
  host: Type.String({ minLength: 1, maxLength: 255 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  unit_id: Type.Integer({ minimum: 0, maximum: 255 }),
  poll_interval_ms: milliseconds(10, 3_600_000),
  timeout_ms: milliseconds(10, 60_000),
  /** Of values that take more than one register: which of them stands first. */
  word_order: Type.Enum(['big', 'little']),
});
/** A topic to publish or subscribe to as it is: wildcards have no one value. */
const mqttTopic = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[^\\u0000+#]+$',
  description: 'a topic without wildcards',
});
const fileName = Type.String({ minLength: 1, maxLength: 1024 });
const mqtt = strict({
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
const virtual = strict({ id: identifier, driver: Type.Literal('virtual') });
const simulated = strict({
  id: identifier,
  driver: Type.Literal('simulated'),
  /** CSV files `time,value` in kW, relative to site.yaml. */
  load_series: Type.String({ minLength: 1 }),
  pv_series: Type.String({ minLength: 1 }),
  /** W/m2, of the same times as `pv_series`; without it the plant has no pyranometer. */
  irradiance_series: Type.Optional(Type.String({ minLength: 1 })),
  step_interval_ms: milliseconds(50, 60_000),
  /** How many simulated seconds pass in one; 1 is true pace. */
  speed: Type.Number({ minimum: 1, maximum: 3600 }),
  battery: strict({
    capacity_kwh: Type.Number({ exclusiveMinimum: 0 }),
    max_power_kw: Type.Number({ exclusiveMinimum: 0 }),
    initial_soc_percent: Type.Number({ minimum: 0, maximum: 100 }),
    /** Of one way, charging or discharging. */
    efficiency: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
    /** How fast its power follows the setpoint; at once when absent. */
    ramp_kw_per_s: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  }),
  genset: strict({
    rated_kw: Type.Number({ exclusiveMinimum: 0 }),
    /** From the start command to the first power; none when absent. */
    start_delay_s: Type.Optional(Type.Number({ minimum: 0, maximum: 3600 })),
  }),
});

const modbusAddress = strict({
  table: Type.Enum(['holding', 'input', 'coil', 'discrete']),
  register: Type.Integer({ minimum: 0, maximum: 65_535 }),
  type: Type.Enum(['bool', 'int16', 'uint16', 'int32', 'uint32', 'float32', 'float64']),
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

export const simulatedMeasurements = [
  'load_kw',
  'pv_kw',
  'pv_available_kw',
  'battery_kw',
  'battery_soc',
  'genset_kw',
  'grid_kw',
  'load_energy_kwh',
  'irradiance_w_m2',
] as const;
export const simulatedActions = ['battery_setpoint_kw', 'pv_limit_kw', 'genset_run'] as const;
const simulatedAddress = strict({ signal: Type.Enum([...simulatedMeasurements, ...simulatedActions]) });

/** Settings and address grammar by driver; an address of null means that points of the channel have none. */
export const channelGrammar = {
  'modbus-tcp': { settings: decoder(modbusTcp), address: decoder(modbusAddress) },
  mqtt: { settings: decoder(mqtt), address: decoder(mqttAddress) },
  virtual: { settings: decoder(virtual), address: null },
  simulated: { settings: decoder(simulated), address: decoder(simulatedAddress) },
} as const;

type Grammar = typeof channelGrammar;
export type DriverName = keyof Grammar;
type DecodedBy<D> = D extends (value: unknown) => Decoded<infer T> ? T : never;
/** Settings of a channel, one kind for each driver of the grammar. */
export type Channel = DecodedBy<Grammar[DriverName]['settings']>;
/** Where a point is in its channel. */
export type Address = DecodedBy<Grammar[DriverName]['address']>;

export type ModbusChannel = Static<typeof modbusTcp>;
export type SimulatedChannel = Static<typeof simulated>;
export type MqttChannel = Static<typeof mqtt>;
export type MqttAddress = Static<typeof mqttAddress>;
export type ModbusAddress = Static<typeof modbusAddress>;
export type SimulatedAddress = Static<typeof simulatedAddress>;
export type SimulatedSignal = SimulatedAddress['signal'];

/** How old a reading of this channel may grow when its point does not say [points §2]. */
export function defaultMaxAgeMs(channel: Channel): number {
  switch (channel.driver) {
    case 'modbus-tcp':
      return 5 * channel.poll_interval_ms;
    case 'simulated':
      return 5 * channel.step_interval_ms;
    case 'mqtt':
      return 60_000;
    case 'virtual':
      // A value that a rule wrote stays until the next write.
      return Number.POSITIVE_INFINITY;
  }
}
