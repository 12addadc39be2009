/** The cost of silent units to the others behind the same gateway [points §3.1]: in simulated time, so that the rate is exact. */
import { expect, test } from 'vitest';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { firstRegister, idleContext, passTime } from '../../testing/simulated-modbus.ts';
import type { OpenWire } from './modbus-client.ts';
import { ModbusDriver } from './modbus-driver.ts';
import { frameOf, takeFrames } from './modbus-frame.ts';

const units = Array.from({ length: 10 }, (_, at) => at + 1);
const answerMs = 20;
const minute = 60_000;

const stepMs = 5;

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
  const driver = new ModbusDriver({
    connection: { host: 'gateway', port: 502, timeout_ms: 500 },
    context: idleContext(clock),
    find: async () => ({ places: new Map(all.map((unit) => [unit, firstRegister(unit)])), missing: new Map() }),
    bridges: false,
    unit: 1,
    open,
  });
  driver.start();
  await passTime(clock, minute, stepMs);
  count = 0;
  inVain = 0;
  await passTime(clock, 10 * minute, stepMs);
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
