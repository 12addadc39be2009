/** The cost of silent units to the others behind the same gateway [points §3.1]: in simulated time, so that the rate is exact. */
import { expect, test } from 'vitest';
import { silentLog } from '../../base/log.ts';
import { type SimulatedClock, simulatedClock } from '../../testing/simulated-clock.ts';
import type { DriverContext } from '../driver.ts';
import { deviceLimits } from '../limits.ts';
import type { OpenWire } from './modbus-client.ts';
import { ModbusDriver } from './modbus-driver.ts';
import { frameOf, takeFrames } from './modbus-frame.ts';
import type { RegisterPlace } from './register-place.ts';

const units = Array.from({ length: 10 }, (_, at) => at + 1);
const answerMs = 20;
const minute = 60_000;

const place = (unit: number): RegisterPlace => ({
  unit,
  table: 'holding',
  register: 0,
  encoding: { type: 'int16', length: 1, wordOrder: 'big', byteOrder: 'big', bit: undefined },
  scaleFrom: undefined,
  writeFunction: 'auto',
  intervalMs: 1000,
});

const stepMs = 5;
/** More microtasks than one answer sets off. */
const turnsPerStep = 12;

/** Advances the clock in steps, and after each lets what waits for it run. */
async function pass(clock: SimulatedClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    for (let turn = 0; turn < turnsPerStep; turn++) await Promise.resolve();
  }
}

/** Requests that live units answered in ten minutes, without the first one; `asked` counts those to dead units. */
async function answered(
  dead: ReadonlySet<number>,
  all: readonly number[] = units,
  exception?: number,
): Promise<{ readonly answered: number; readonly askedInVain: number }> {
  const clock = simulatedClock();
  let count = 0;
  let inVain = 0;
  const open: OpenWire = (_, events) => {
    let isOpen = false;
    clock.after(1, () => {
      isOpen = true;
      events.connected();
    });
    return {
      get isOpen() {
        return isOpen;
      },
      write(bytes) {
        for (const frame of takeFrames(bytes)?.frames ?? []) {
          const isDead = dead.has(frame.unit);
          if (isDead) inVain++;
          if (isDead && exception === undefined) continue;
          clock.after(answerMs, () => {
            if (!isOpen) return;
            if (isDead) return events.data(frameOf({ ...frame, pdu: Buffer.of(0x83, exception ?? 0) }));
            count++;
            events.data(frameOf({ ...frame, pdu: Buffer.of(3, 2, 0, 7) }));
          });
        }
      },
      destroy() {
        isOpen = false;
        clock.soon(() => events.closed());
      },
    };
  };
  const nothing = (): void => undefined;
  const context: DriverContext = {
    points: [],
    clock,
    log: silentLog,
    limits: deviceLimits,
    publish: nothing,
    setOnline: nothing,
    reconnected: nothing,
    nextCommand: () => null,
    commandDone: nothing,
    readFailed: nothing,
    forget: nothing,
    exchanged: nothing,
    late: nothing,
    answered: nothing,
  };
  const driver = new ModbusDriver({
    connection: { host: 'gateway', port: 502, timeout_ms: 500 },
    context,
    find: async () => ({ places: new Map(all.map((unit) => [unit, place(unit)])), missing: new Map() }),
    bridges: false,
    unit: 1,
    open,
  });
  driver.start();
  await pass(clock, minute);
  count = 0;
  inVain = 0;
  await pass(clock, 10 * minute);
  await driver.stop();
  return { answered: count, askedInVain: inVain };
}

const threeDead = new Set([3, 6, 9]);

test('[points §3.1] three of ten units are dead: the others keep their rate within 10 %', async () => {
  expect(await answered(new Set())).toEqual({ answered: 10 * 600, askedInVain: 0 });
  // Not one of their polls is lost.
  expect((await answered(threeDead)).answered).toBe(7 * 600);
});

test('[points §3.1] units that a gateway reports as dead are skipped too, unless no other unit answers', async () => {
  const beside = await answered(threeDead, units, 11);
  expect(beside.answered).toBe(7 * 600);
  expect(beside.askedInVain).toBeLessThan(60);
  expect(await answered(new Set([1]), [1], 11)).toEqual({ answered: 0, askedInVain: 600 });
});
