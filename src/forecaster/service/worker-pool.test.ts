/** The pool with real threads that answer, hang and die on command. */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { silentLog } from '../../base/log.ts';
import { startWorkerPool, type WorkerPool } from './worker-pool.ts';

interface Reply {
  readonly thread: number;
  readonly job: string;
}

const source = `
  const { parentPort, threadId } = require('node:worker_threads');
  parentPort.on('message', (job) => {
    if (job === 'hang') for (;;);
    if (job === 'die') process.exit(3);
    if (job === 'throw') throw new Error('a bug');
    parentPort.postMessage({ thread: threadId, job });
    if (job === 'leave') setImmediate(() => process.exit(0));
  });
  parentPort.postMessage('ready');
`;

describe('a worker pool', () => {
  let pool: WorkerPool<string, Reply>;
  let spawned = 0;
  afterEach(() => pool.close());

  async function start(size: number): Promise<void> {
    spawned = 0;
    const spawn = () => {
      spawned++;
      return new Worker(source, { eval: true });
    };
    pool = await startWorkerPool<string, Reply>(size, spawn, { clock: systemClock, log: silentLog, startMs: 15_000 });
  }
  const run = (job: string, series = 'a', signal = new AbortController().signal) => pool.run(job, [], series, signal);

  test('a series returns to its thread, another one uses the other', async () => {
    await start(2);
    const [first, second] = await Promise.all([run('x', 'a'), run('y', 'b')]);
    expect([first.job, second.job]).toEqual(['x', 'y']);
    expect(first.thread).not.toBe(second.thread);
    for (const series of ['b', 'a', 'b', 'b', 'a'])
      expect((await run('again', series)).thread).toBe(series === 'a' ? first.thread : second.thread);
  });

  test('[processor §6.5] one job a thread: the excess is refused, not queued', async () => {
    await start(1);
    const controller = new AbortController();
    const hanging = run('hang', 'a', controller.signal);
    await expect(run('x', 'b')).rejects.toThrow('busy');
    controller.abort();
    await expect(hanging).rejects.toThrow('aborted');
  });

  test('[processor §6.1] an aborted job ends its thread, and another takes its place', async () => {
    await start(1);
    const before = await run('x');
    const controller = new AbortController();
    const hanging = run('hang', 'a', controller.signal);
    controller.abort();
    await expect(hanging).rejects.toThrow('aborted');
    const after = await run('y');
    expect([after.job, after.thread === before.thread, spawned]).toEqual(['y', false, 2]);
    await expect(run('z', 'a', controller.signal)).rejects.toThrow('aborted');
    expect(spawned).toBe(2);
  });

  test('a signal that aborts after the answer ends nothing', async () => {
    await start(1);
    const controller = new AbortController();
    const { thread } = await run('x', 'a', controller.signal);
    controller.abort();
    expect([(await run('y')).thread, spawned]).toEqual([thread, 1]);
  });

  test.each(['die', 'throw'])('a thread that dies in a job (%s) fails that job alone', async (job) => {
    await start(2);
    await expect(run(job)).rejects.toThrow('died');
    expect((await run('x')).job).toBe('x');
    expect(spawned).toBe(3);
  });

  test('a thread that dies without a job is started again by the next one, not before', async () => {
    await start(1);
    await run('leave');
    await expect.poll(() => pool.alive).toBe(0);
    expect(spawned).toBe(1);
    expect([(await run('x')).job, spawned, pool.alive]).toEqual(['x', 2, 1]);
  });

  test('after the end nothing runs, and running work is aborted', async () => {
    await start(1);
    const hanging = run('hang');
    const closed = pool.close();
    await expect(hanging).rejects.toThrow('stopping');
    await closed;
    await expect(run('x')).rejects.toThrow('aborted');
    expect([pool.alive, spawned]).toEqual([0, 1]);
  });

  test('a thread that cannot start fails the start', async () => {
    await start(1);
    const broken = startWorkerPool(2, () => new Worker('throw new Error("no")', { eval: true }), {
      clock: systemClock,
      log: silentLog,
      startMs: 15_000,
    });
    await expect(broken).rejects.toThrow('failed at its start');
  });
});
