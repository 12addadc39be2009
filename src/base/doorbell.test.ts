/** Doorbells between threads: rings merge, none is lost, a stopped listener hears nothing. */
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { systemClock } from './clock.ts';
import { listen, ring } from './doorbell.ts';

const cells = (count = 1) => new Int32Array(new SharedArrayBuffer(count * 4));
const turn = () => new Promise<void>((resolve) => systemClock.soon(resolve));

describe('doorbells', () => {
  test('a ring calls the listener in a later turn', async () => {
    const bell = cells();
    let heard = 0;
    const listener = listen(systemClock, bell, 0, () => heard++);
    ring(bell, 0);
    expect(heard).toBe(0);
    await expect.poll(() => heard).toBe(1);
    listener.stop();
  });

  test('rings faster than the listener merge into one call', async () => {
    const bell = cells();
    let heard = 0;
    const listener = listen(systemClock, bell, 0, () => heard++);
    for (let count = 0; count < 1000; count++) ring(bell, 0);
    await expect.poll(() => heard).toBeGreaterThan(0);
    await turn();
    expect(heard).toBeLessThan(5);
    listener.stop();
  });

  test('a ring from inside the call is not lost', async () => {
    const bell = cells();
    let heard = 0;
    const listener = listen(systemClock, bell, 0, () => {
      heard++;
      if (heard < 20) ring(bell, 0);
    });
    ring(bell, 0);
    await expect.poll(() => heard).toBe(20);
    listener.stop();
  });

  test('each bell of an array rings alone', async () => {
    const bell = cells(2);
    const heard = [0, 0];
    const listeners = [0, 1].map((index) =>
      listen(systemClock, bell, index, () => (heard[index] = (heard[index] ?? 0) + 1)),
    );
    ring(bell, 1);
    await expect.poll(() => heard[1]).toBe(1);
    expect(heard[0]).toBe(0);
    for (const listener of listeners) listener.stop();
  });

  test('the wait is renewed: a ring after it timed out is heard', async () => {
    const bell = cells();
    let heard = 0;
    const listener = listen(systemClock, bell, 0, () => heard++, 1);
    await new Promise<void>((resolve) => void systemClock.after(20, resolve));
    expect(heard).toBe(0);
    ring(bell, 0);
    await expect.poll(() => heard).toBe(1);
    listener.stop();
  });

  test('after stop nothing is heard', async () => {
    const bell = cells();
    let heard = 0;
    const listener = listen(systemClock, bell, 0, () => heard++);
    listener.stop();
    ring(bell, 0);
    await turn();
    await turn();
    expect(heard).toBe(0);
  });

  test('another thread rings, and the last value it wrote before is seen', async () => {
    const bell = cells(2);
    let seen = 0;
    const listener = listen(systemClock, bell, 0, () => {
      seen = Atomics.load(bell, 1);
    });
    const source = `
      const { workerData } = require('node:worker_threads');
      for (let count = 1; count <= 10000; count++) {
        Atomics.store(workerData, 1, count);
        Atomics.add(workerData, 0, 1);
        Atomics.notify(workerData, 0);
      }`;
    const worker = new Worker(source, { eval: true, workerData: bell });
    await expect.poll(() => seen).toBe(10_000);
    listener.stop();
    await worker.terminate();
  });
});
