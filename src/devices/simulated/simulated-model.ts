/**
 * The simulated plant [points §3.3]: load and PV follow measured series, a battery, a generator and the grid answer
 * to commands. Pure: state and a time step in, the next state out. Power in kW, energy in kWh, signs as in site.yaml:
 * battery, generator and PV deliver when positive, the grid imports when positive.
 */
import type { SimulatedChannel, SimulatedSignal } from '../../site/protocol/simulated.ts';

export interface PlantState {
  readonly socKwh: number;
  readonly batteryKw: number;
  readonly gensetKw: number;
  /** Since the command to run. */
  readonly gensetRunSeconds: number;
  readonly loadEnergyKwh: number;
  readonly setpointKw: number;
  /** Null: not limited. */
  readonly pvLimitKw: number | null;
  readonly gensetRun: boolean;
}

export type PlantSettings = Pick<SimulatedChannel, 'battery' | 'genset'>;

export interface PlantInputs {
  readonly loadKw: number;
  readonly pvAvailableKw: number;
  /** Absent or NaN: there is no pyranometer. */
  readonly irradianceWM2?: number;
}

/** A generator reaches its rated power in this many seconds, and stops as fast. */
const gensetRampSeconds = 10;

export function initialPlant(settings: PlantSettings): PlantState {
  return {
    socKwh: (settings.battery.capacity_kwh * settings.battery.initial_soc_percent) / 100,
    batteryKw: 0,
    gensetKw: 0,
    gensetRunSeconds: 0,
    loadEnergyKwh: 0,
    setpointKw: 0,
    pvLimitKw: null,
    gensetRun: false,
  };
}

/** Battery power over the next `seconds`: the setpoint as rating, ramp and charge allow. */
function batteryPowerKw(state: PlantState, { battery }: PlantSettings, seconds: number): number {
  const hours = seconds / 3600;
  if (hours <= 0) return state.batteryKw;
  const wanted = Math.min(battery.max_power_kw, Math.max(-battery.max_power_kw, state.setpointKw));
  const stepKw = (battery.ramp_kw_per_s ?? Number.POSITIVE_INFINITY) * seconds;
  const ramped = Math.min(state.batteryKw + stepKw, Math.max(state.batteryKw - stepKw, wanted));
  const dischargeMax = (state.socKwh * battery.efficiency) / hours;
  const chargeMax = (battery.capacity_kwh - state.socKwh) / battery.efficiency / hours;
  return Math.min(dischargeMax, Math.max(-chargeMax, ramped));
}

function gensetPowerKw(state: PlantState, { genset }: PlantSettings, seconds: number): number {
  const rampSeconds = Math.min(seconds, Math.max(0, state.gensetRunSeconds + seconds - (genset.start_delay_s ?? 0)));
  if (state.gensetRun)
    return Math.min(genset.rated_kw, state.gensetKw + (genset.rated_kw * rampSeconds) / gensetRampSeconds);
  return Math.max(0, state.gensetKw - (genset.rated_kw * seconds) / gensetRampSeconds);
}

/** The plant after `seconds` with constant inputs and commands, and its meter readings. */
export function stepPlant(
  state: PlantState,
  settings: PlantSettings,
  inputs: PlantInputs,
  seconds: number,
): { state: PlantState; signals: Readonly<Record<SimulatedSignal, number>> } {
  const hours = seconds / 3600;
  const { capacity_kwh: capacity, efficiency } = settings.battery;
  const batteryKw = batteryPowerKw(state, settings, seconds);
  const drawnKw = batteryKw >= 0 ? batteryKw / efficiency : batteryKw * efficiency;
  const socKwh = Math.min(capacity, Math.max(0, state.socKwh - drawnKw * hours));
  const gensetKw = gensetPowerKw(state, settings, seconds);
  const gensetRunSeconds = state.gensetRun ? state.gensetRunSeconds + seconds : 0;
  const pvKw = Math.min(inputs.pvAvailableKw, state.pvLimitKw ?? Number.POSITIVE_INFINITY);
  const loadEnergyKwh = state.loadEnergyKwh + inputs.loadKw * hours;
  return {
    state: { ...state, socKwh, batteryKw, gensetKw, gensetRunSeconds, loadEnergyKwh },
    signals: {
      load_kw: inputs.loadKw,
      pv_available_kw: inputs.pvAvailableKw,
      pv_kw: pvKw,
      battery_kw: batteryKw,
      battery_soc: (socKwh / capacity) * 100,
      genset_kw: gensetKw,
      grid_kw: inputs.loadKw - pvKw - batteryKw - gensetKw,
      load_energy_kwh: loadEnergyKwh,
      irradiance_w_m2: inputs.irradianceWM2 ?? Number.NaN,
      battery_setpoint_kw: state.setpointKw,
      pv_limit_kw: state.pvLimitKw ?? Number.NaN,
      genset_run: state.gensetRun ? 1 : 0,
    },
  };
}

/** A command to one of the plant's actions. */
export function commandPlant(state: PlantState, signal: SimulatedSignal, value: number): PlantState {
  switch (signal) {
    case 'battery_setpoint_kw':
      return { ...state, setpointKw: value };
    case 'pv_limit_kw':
      return { ...state, pvLimitKw: Math.max(0, value) };
    case 'genset_run':
      return value >= 0.5 ? { ...state, gensetRun: true } : { ...state, gensetRun: false, gensetRunSeconds: 0 };
    case 'load_kw':
    case 'pv_kw':
    case 'pv_available_kw':
    case 'battery_kw':
    case 'battery_soc':
    case 'genset_kw':
    case 'grid_kw':
    case 'load_energy_kwh':
    case 'irradiance_w_m2':
      // The site's parser allows a command signal only on action points.
      throw new Error(`${signal} accepts no commands`);
  }
}
