/**
 * Channels of site.yaml (decisions §2.6): the grammar of each driver's settings and point addresses. A registry; the
 * device layer has one driver for each name in it.
 */
import Type, { type Static } from 'typebox';

const strict = <P extends Type.TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false });
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
  word_order: Type.Union([Type.Literal('big'), Type.Literal('little')]),
});
const mqtt = strict({
  id: identifier,
  driver: Type.Literal('mqtt'),
  url: Type.String({ pattern: '^mqtts?://' }),
  username_env: Type.Optional(variableName),
  password_env: Type.Optional(variableName),
});
const virtual = strict({ id: identifier, driver: Type.Literal('virtual') });
const simulated = strict({
  id: identifier,
  driver: Type.Literal('simulated'),
  /** CSV files `time,value` in kW, relative to site.yaml. */
  load_series: Type.String({ minLength: 1 }),
  pv_series: Type.String({ minLength: 1 }),
  step_interval_ms: milliseconds(50, 60_000),
  /** How many simulated seconds pass in one; 1 is true pace. */
  speed: Type.Number({ minimum: 1, maximum: 3600 }),
  battery: strict({
    capacity_kwh: Type.Number({ exclusiveMinimum: 0 }),
    max_power_kw: Type.Number({ exclusiveMinimum: 0 }),
    initial_soc_percent: Type.Number({ minimum: 0, maximum: 100 }),
    /** Of one way, charging or discharging. */
    efficiency: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
  }),
  genset: strict({ rated_kw: Type.Number({ exclusiveMinimum: 0 }) }),
});

const modbusType = Type.Union(
  ['bool', 'int16', 'uint16', 'int32', 'uint32', 'float32', 'float64'].map((name) => Type.Literal(name)),
);
const modbusAddress = strict({
  table: Type.Union([Type.Literal('holding'), Type.Literal('input'), Type.Literal('coil'), Type.Literal('discrete')]),
  register: Type.Integer({ minimum: 0, maximum: 65_535 }),
  type: modbusType,
});
const mqttAddress = strict({
  topic: Type.String({ minLength: 1, maxLength: 1024 }),
  path: Type.Optional(Type.String({ pattern: '^\\$' })),
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
] as const;
export const simulatedActions = ['battery_setpoint_kw', 'pv_limit_kw', 'genset_run'] as const;
export type SimulatedSignal = (typeof simulatedMeasurements)[number] | (typeof simulatedActions)[number];
const simulatedAddress = strict({
  signal: Type.Union([...simulatedMeasurements, ...simulatedActions].map((name) => Type.Literal(name))),
});

/** Settings and address grammar by driver; an address of null means that points of the channel have none. */
export const channelGrammar = {
  'modbus-tcp': { settings: modbusTcp, address: modbusAddress },
  mqtt: { settings: mqtt, address: mqttAddress },
  virtual: { settings: virtual, address: null },
  simulated: { settings: simulated, address: simulatedAddress },
} as const;

export type DriverName = keyof typeof channelGrammar;
export type ModbusChannel = Static<typeof modbusTcp>;
export type MqttChannel = Static<typeof mqtt>;
export type VirtualChannel = Static<typeof virtual>;
export type SimulatedChannel = Static<typeof simulated>;
export type Channel = ModbusChannel | MqttChannel | VirtualChannel | SimulatedChannel;

export interface ModbusAddress {
  readonly table: 'holding' | 'input' | 'coil' | 'discrete';
  readonly register: number;
  readonly type: 'bool' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'float32' | 'float64';
}
export interface SimulatedAddress {
  readonly signal: SimulatedSignal;
}

/** How old a reading of this channel may grow when its point does not say (decisions §2.6). */
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
