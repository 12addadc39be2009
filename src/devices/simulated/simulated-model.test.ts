/** The simulated plant: energy is conserved, ratings hold, commands take effect [points §3.3]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandPlant, initialPlant, type PlantSettings, type PlantState, stepPlant } from './simulated-model.ts';

const settings: PlantSettings = {
  battery: { capacity_kwh: 100, max_power_kw: 50, initial_soc_percent: 50, efficiency: 0.9 },
  genset: { rated_kw: 80 },
};
const inputs = { loadKw: 30, pvAvailableKw: 10 };
const after = (state: PlantState, seconds: number, facts = settings, given = inputs) =>
  stepPlant(state, facts, given, seconds);

describe('[points §3.3] the simulated plant', () => {
  test('the grid covers the balance: load less PV, battery and genset', () => {
    const start = commandPlant(commandPlant(initialPlant(settings), 'battery_setpoint_kw', 12), 'genset_run', 1);
    const { signals } = after(start, 1);
    expect(signals.genset_kw).toBe(8);
    expect(signals.grid_kw).toBe(30 - 10 - 12 - 8);
  });

  test('discharging 1 kWh takes 1/efficiency out of the store; charging 1 kWh puts efficiency in', () => {
    const out = after(commandPlant(initialPlant(settings), 'battery_setpoint_kw', 36), 100);
    expect(out.state.socKwh).toBeCloseTo(50 - 1 / 0.9, 9);
    const into = after(commandPlant(initialPlant(settings), 'battery_setpoint_kw', -36), 100);
    expect(into.state.socKwh).toBeCloseTo(50 + 0.9, 9);
  });

  test('the setpoint is held within the rating', () => {
    expect(after(commandPlant(initialPlant(settings), 'battery_setpoint_kw', 500), 1).signals.battery_kw).toBe(50);
    expect(after(commandPlant(initialPlant(settings), 'battery_setpoint_kw', -500), 1).signals.battery_kw).toBe(-50);
  });

  test('the battery follows no faster than its ramp', () => {
    const ramped = { ...settings, battery: { ...settings.battery, ramp_kw_per_s: 2 } };
    const first = after(commandPlant(initialPlant(ramped), 'battery_setpoint_kw', 20), 3, ramped);
    expect(first.signals.battery_kw).toBe(6);
    expect(after(first.state, 100, ramped).signals.battery_kw).toBe(20);
  });

  test('the genset starts after its delay, reaches its rating in 10 s, and stops as fast', () => {
    const delayed = { ...settings, genset: { rated_kw: 80, start_delay_s: 5 } };
    let { state } = after(commandPlant(initialPlant(delayed), 'genset_run', 1), 5, delayed);
    expect(state.gensetKw).toBe(0);
    state = after(state, 5, delayed).state;
    expect(state.gensetKw).toBe(40);
    state = after(state, 60, delayed).state;
    expect(state.gensetKw).toBe(80);
    state = after(commandPlant(state, 'genset_run', 0), 5, delayed).state;
    expect([state.gensetKw, state.gensetRunSeconds]).toEqual([40, 0]);
  });

  test('PV is curtailed to its limit and never invented', () => {
    const limited = (kw: number) => after(commandPlant(initialPlant(settings), 'pv_limit_kw', kw), 1).signals;
    expect([limited(4).pv_kw, limited(400).pv_kw, limited(-1).pv_kw]).toEqual([4, 10, 0]);
    expect(limited(4).pv_available_kw).toBe(10);
  });

  test('an unlimited PV has no limit value: unavailable, not zero', () => {
    expect(after(initialPlant(settings), 1).signals.pv_limit_kw).toBeNaN();
  });

  test('a measurement takes no command', () => {
    expect(() => commandPlant(initialPlant(settings), 'load_kw', 1)).toThrow('accepts no commands');
  });

  test('whatever is commanded, charge stays within the store and energy is conserved', () => {
    const command = fc.record({
      setpointKw: fc.double({ min: -200, max: 200, noNaN: true }),
      run: fc.boolean(),
      seconds: fc.double({ min: 0, max: 900, noNaN: true }),
      loadKw: fc.double({ min: 0, max: 500, noNaN: true }),
      pvAvailableKw: fc.double({ min: 0, max: 500, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 50 }), (commands) => {
        let state = initialPlant(settings);
        for (const { setpointKw, run, seconds, ...given } of commands) {
          const before = state;
          state = commandPlant(commandPlant(state, 'battery_setpoint_kw', setpointKw), 'genset_run', run ? 1 : 0);
          const next = after(state, seconds, settings, given);
          const { signals } = next;
          state = next.state;
          expect(state.socKwh).toBeGreaterThanOrEqual(0);
          expect(state.socKwh).toBeLessThanOrEqual(100);
          const balance = signals.grid_kw + signals.pv_kw + signals.battery_kw + signals.genset_kw - signals.load_kw;
          expect(Math.abs(balance)).toBeLessThan(1e-9);
          // Energy at the terminals never exceeds what left the store, and is never less than what entered it.
          const terminalKwh = (signals.battery_kw * seconds) / 3600;
          expect(terminalKwh).toBeLessThanOrEqual(before.socKwh - state.socKwh + 1e-9);
        }
      }),
    );
  });
});
