/** What a Modbus driver needs in simulated time: a device layer that does nothing, a register, and time that passes. */
import { silentLog } from '../base/log.ts';
import type { DriverContext } from '../devices/driver.ts';
import { deviceLimits } from '../devices/limits.ts';
import type { RegisterPlace } from '../devices/modbus/register-place.ts';
import type { SimulatedClock } from './simulated-clock.ts';

export function idleContext(clock: SimulatedClock): DriverContext {
  const nothing = (): void => undefined;
  return {
    points: [],
    clock,
    log: silentLog,
    limits: deviceLimits,
    publish: nothing,
    setOnline: nothing,
    reconnected: nothing,
    certified: nothing,
    nextCommand: () => null,
    commandDone: nothing,
    readFailed: nothing,
    forget: nothing,
    exchanged: nothing,
    late: nothing,
    answered: nothing,
  };
}

/** Holding register 0 of a unit, read each second. */
export function firstRegister(unit: number): RegisterPlace {
  return {
    unit,
    table: 'holding',
    register: 0,
    encoding: { type: 'int16', length: 1, wordOrder: 'big', byteOrder: 'big', bit: undefined },
    scaleFrom: undefined,
    writeFunction: 'auto',
    intervalMs: 1000,
  };
}

/** More microtasks than one answer sets off. */
const turnsPerStep = 12;

/** Advances the clock in steps, and after each lets what waits for it run. */
export async function passTime(clock: SimulatedClock, ms: number, stepMs: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    for (let turn = 0; turn < turnsPerStep; turn++) await Promise.resolve();
  }
}
