/** The simulated plant in site.yaml [points §3.3]. */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { identifier, milliseconds, type Protocol } from './protocol.ts';

const simulatedSettings = strict({
  id: identifier,
  driver: Type.Literal('simulated'),
  /** CSV files `time,value` in kW, relative to site.yaml. */
  load_series: Type.String({ minLength: 1 }),
  pv_series: Type.String({ minLength: 1 }),
  /** W/m2, at the times of `pv_series`; without it the plant has no pyranometer. */
  irradiance_series: Type.Optional(Type.String({ minLength: 1 })),
  step_interval_ms: milliseconds(50, 60_000),
  /** Simulated seconds per second; 1 is real time. */
  speed: Type.Number({ minimum: 1, maximum: 3600 }),
  battery: strict({
    capacity_kwh: Type.Number({ exclusiveMinimum: 0 }),
    max_power_kw: Type.Number({ exclusiveMinimum: 0 }),
    initial_soc_percent: Type.Number({ minimum: 0, maximum: 100 }),
    /** One-way, charging or discharging. */
    efficiency: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
    /** Ramp rate of its power; immediate if absent. */
    ramp_kw_per_s: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  }),
  genset: strict({
    rated_kw: Type.Number({ exclusiveMinimum: 0 }),
    /** Delay from the start command to the first power; none if absent. */
    start_delay_s: Type.Optional(Type.Number({ minimum: 0, maximum: 3600 })),
  }),
});

const measurements = [
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
const actions = ['battery_setpoint_kw', 'pv_limit_kw', 'genset_run'] as const;
const simulatedAddress = strict({ signal: Type.Enum([...measurements, ...actions]) });

export type SimulatedChannel = Static<typeof simulatedSettings>;
export type SimulatedAddress = Static<typeof simulatedAddress>;
export type SimulatedSignal = SimulatedAddress['signal'];

export const simulated: Protocol<SimulatedChannel, SimulatedAddress> = {
  settings: decoder(simulatedSettings),
  address: decoder(simulatedAddress),
  defaultMaxAgeMs: ({ step_interval_ms }) => 5 * step_interval_ms,
  places: ({ signal }, { id }) => [`${id}/${signal}`],
  checkAddress({ signal }, kind, fault) {
    const isAction = actions.some((name) => name === signal);
    if (isAction !== (kind === 'action'))
      fault('address/signal', `${signal} is ${isAction ? 'an action' : 'a measurement'}`);
  },
};
