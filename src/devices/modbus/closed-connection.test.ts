/** A connection that the device closed between polls [points §3.1], in simulated time. */
import { expect, test } from 'vitest';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { firstRegister, idleContext, passTime } from '../../testing/simulated-modbus.ts';
import type { OpenWire, WireEvents } from './modbus-client.ts';
import { ModbusDriver } from './modbus-driver.ts';
import { frameOf, takeFrames } from './modbus-frame.ts';

/** A driver that has read its device once; the connections that it made since the start. */
async function readOnce() {
  const clock = simulatedClock();
  const connections: { open: boolean; readonly events: WireEvents }[] = [];
  const open: OpenWire = (_, events) => {
    const connection = { open: true, events };
    connections.push(connection);
    clock.soon(() => events.connected());
    return {
      get isOpen() {
        return connection.open;
      },
      write: (bytes) => {
        for (const frame of takeFrames(bytes)?.frames ?? [])
          clock.soon(() => events.data(frameOf({ ...frame, pdu: Buffer.of(3, 2, 0, 7) })));
      },
      destroy: () => {
        connection.open = false;
        clock.soon(() => events.closed());
      },
    };
  };
  const driver = new ModbusDriver({
    connection: { host: 'device', port: 502, timeout_ms: 500 },
    context: idleContext(clock),
    find: async () => ({ places: new Map([[0, firstRegister(1)]]), missing: new Map() }),
    bridges: false,
    unit: 1,
    open,
  });
  const pass = (ms: number) => passTime(clock, ms, 1);
  driver.start();
  await pass(20);
  const close = (): void => {
    const connection = connections.at(-1);
    if (connection === undefined) throw new Error('no connection was made');
    connection.open = false;
    connection.events.closed();
  };
  return { driver, pass, close, made: () => connections.length };
}

test('the next poll opens another, and nothing does before it', async () => {
  const { pass, close, made } = await readOnce();
  close();
  await pass(900);
  expect(made()).toBe(1);
  await pass(100);
  expect(made()).toBe(2);
});

test('a command that may be waiting opens another at once', async () => {
  const { driver, pass, close, made } = await readOnce();
  close();
  driver.wake();
  await pass(5);
  expect(made()).toBe(2);
});

test('after a stop nothing opens another', async () => {
  const { driver, pass, close, made } = await readOnce();
  close();
  await driver.stop();
  driver.wake();
  await pass(3000);
  expect(made()).toBe(1);
});
