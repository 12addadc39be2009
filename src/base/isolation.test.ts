/** Uncaught errors, attributed to the work that threw them ([points §3]: a fault of one channel never reaches another). */
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

const module = JSON.stringify(new URL('./isolation.ts', import.meta.url).href);

/** The messages posted by a thread that runs `source`, and the error that ended it. */
async function run(source: string): Promise<{ posted: unknown[]; error: string | null }> {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     import(${module}).then(({ isolateWork }) => {
       let reported = 0;
       const isolated = isolateWork((name, error) => {
         reported++;
         parentPort.postMessage([name, error.message]);
       });
       ${source}
     });`,
    { eval: true },
  );
  const posted: unknown[] = [];
  worker.on('message', (message) => posted.push(message));
  return new Promise((resolve) => {
    let error: string | null = null;
    worker.on('error', (thrown) => (error = thrown instanceof Error ? thrown.message : String(thrown)));
    worker.on('exit', () => resolve({ posted, error }));
  });
}

test('an error in a timer, a promise or a callback of named work is reported with the name, and the thread continues', async () => {
  const { posted, error } = await run(`
    isolated('a', () => void setTimeout(() => { throw new Error('timer'); }, 1));
    isolated('b', () => void Promise.resolve().then(() => { throw new Error('promise'); }));
    isolated('a', () => require('node:fs').stat('.', () => { throw new Error('callback'); }));
    const waiting = setInterval(() => {
      if (reported < 3) return;
      clearInterval(waiting);
      parentPort.postMessage('alive');
    }, 5);
  `);
  expect(error).toBeNull();
  expect(posted.at(-1)).toBe('alive');
  expect(new Set(posted.slice(0, -1).map(String))).toEqual(new Set(['a,timer', 'b,promise', 'a,callback']));
});

test('an error outside named work ends the thread', async () => {
  const { posted, error } = await run(`
    isolated('a', () => undefined);
    setTimeout(() => { throw new Error('nobody'); }, 1);
    setTimeout(() => parentPort.postMessage('alive'), 1000);
  `);
  expect([posted, error]).toEqual([[], 'nobody']);
});
