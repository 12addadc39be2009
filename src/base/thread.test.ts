/** The protocol between threads (ARCHITECTURE.md, "Threads"): calls with a deadline, faults that keep their code, events. */
import { MessageChannel, Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { systemClock } from './clock.ts';
import { Fault } from './fault.ts';
import { answerCalls, callThread, type Handlers, type Port, sendEvent } from './thread.ts';

interface Arithmetic extends Readonly<Record<string, (argument: never) => unknown>> {
  readonly half: (argument: { readonly of: number }) => number;
  readonly later: (argument: { readonly answer: number; readonly turns: number }) => Promise<number>;
  readonly never: (argument: null) => void;
}
const deadlineMs = 1000;
const gone = new Fault('engine-unavailable', 'the thread has ended');
const turn = (): Promise<void> => new Promise((resolve) => systemClock.soon(resolve));

const handlers: Handlers<Arithmetic> = {
  half({ of }) {
    if (of % 2 !== 0) throw new Fault('invalid-input', 'an odd number', { details: { of } });
    return of / 2;
  },
  async later({ answer, turns }) {
    for (let count = 0; count < turns; count++) await turn();
    return answer;
  },
  never: () => new Promise(() => undefined),
};

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
/** Both ends of a channel, the far one answering. */
function twins() {
  const { port1: near, port2: far } = new MessageChannel();
  closers.push(() => near.close());
  answerCalls<Arithmetic>(far, handlers);
  const clock = simulatedClock();
  const caller = callThread<Arithmetic, unknown>(near, clock, deadlineMs);
  return { near, far, clock, caller };
}

describe('calls', () => {
  test('a call is answered with the method’s value', async () => {
    const { caller } = twins();
    expect(await caller.call('half', { of: 8 })).toBe(4);
    expect(await caller.call('later', { answer: 7, turns: 3 })).toBe(7);
  });

  test('a call with its own deadline is refused at that time, and not before', async () => {
    const { caller, clock } = twins();
    let refused = 0;
    const late = caller.call('never', null, 3 * deadlineMs).catch(() => refused++);
    clock.advance(3 * deadlineMs - 1);
    await turn();
    expect(refused).toBe(0);
    clock.advance(1);
    await late;
    expect(refused).toBe(1);
  });

  test('answers find their calls in any order', async () => {
    const { caller } = twins();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 5 }), { maxLength: 20 }), async (waits) => {
        const answers = waits.map((turns, answer) => caller.call('later', { answer, turns }));
        expect(await Promise.all(answers)).toEqual(waits.map((_turns, answer) => answer));
      }),
      { numRuns: 50 },
    );
  });

  test('a Fault keeps its code, message and details, and the meaning of the code', async () => {
    const { caller } = twins();
    const refused = await caller.call('half', { of: 3 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Fault);
    expect(refused).toMatchObject({ code: 'invalid-input', message: 'an odd number', details: { of: 3 }, status: 400 });
    expect(await caller.call('half', { of: 4 })).toBe(2);
  });

  test('a code that this program does not know is an internal error', async () => {
    const { caller, far } = twins();
    const open = caller.call('never', null);
    far.postMessage({ tag: 'reply', id: 1, fault: { code: 'toString', message: 'm', details: undefined } });
    await expect(open).rejects.toMatchObject({ code: 'internal-error', details: undefined });
  });

  test('an argument that cannot cross is refused, and later calls are not harmed', async () => {
    const { caller } = twins();
    const argument = { of: 2, uncloneable: () => undefined };
    await expect(caller.call('half', argument)).rejects.toThrow(/could not be cloned/);
    expect(await caller.call('half', { of: 2 })).toBe(1);
  });
});

describe('the deadline', () => {
  test('a call without an answer is refused at its deadline, not before', async () => {
    const { caller, clock } = twins();
    let refused: unknown;
    const open = caller.call('never', null).catch((error: unknown) => {
      refused = error;
    });
    clock.advance(deadlineMs - 1);
    await turn();
    expect(refused).toBeUndefined();
    clock.advance(1);
    await open;
    expect(refused).toMatchObject({ code: 'engine-unavailable', retryable: true });
  });

  test('a late or duplicate answer is ignored', async () => {
    const { caller, clock, far } = twins();
    const late = caller.call('never', null);
    clock.advance(deadlineMs);
    await expect(late).rejects.toMatchObject({ code: 'engine-unavailable' });
    const next = caller.call('later', { answer: 5, turns: 2 });
    far.postMessage({ tag: 'reply', id: 1, value: 'late' });
    far.postMessage({ tag: 'reply', id: 99, value: 'unasked' });
    expect(await next).toBe(5);
  });

  test('an answered call has no deadline any more', async () => {
    const { caller, clock } = twins();
    const answer = caller.call('half', { of: 2 });
    expect(clock.pendingCount()).toBe(1);
    expect(await answer).toBe(1);
    expect(clock.pendingCount()).toBe(0);
  });
});

describe('the end of a thread', () => {
  test('refuses every open call at once, and every later one', async () => {
    const { caller, clock } = twins();
    const open = [caller.call('never', null), caller.call('never', null), caller.call('half', { of: 2 })];
    caller.close(gone);
    for (const call of open) await expect(call).rejects.toBe(gone);
    await expect(caller.call('half', { of: 2 })).rejects.toBe(gone);
    expect(clock.pendingCount()).toBe(0);
  });
});

describe('events', () => {
  test('reach every listener in order, and are not taken for answers; other messages are ignored', async () => {
    const { caller, far, near } = twins();
    const heard: [string, unknown][] = [];
    caller.onEvent((event) => heard.push(['first', event]));
    caller.onEvent((event) => heard.push(['second', event]));
    const answer = caller.call('later', { answer: 1, turns: 2 });
    sendEvent(far, { tag: 'reply', id: 1, value: 'no answer' });
    sendEvent(far, 'second event');
    for (const stray of [null, 'text', 5, {}, { tag: 'other' }, [1]]) {
      far.postMessage(stray);
      near.postMessage(stray);
    }
    expect(await answer).toBe(1);
    expect(heard).toEqual([
      ['first', { tag: 'reply', id: 1, value: 'no answer' }],
      ['second', { tag: 'reply', id: 1, value: 'no answer' }],
      ['first', 'second event'],
      ['second', 'second event'],
    ]);
  });
});

describe('a bug in the thread', () => {
  /** A real thread that answers calls with `source`'s handlers. */
  const worker = (source: string) => {
    const module = JSON.stringify(new URL('./thread.ts', import.meta.url).href);
    const thread = new Worker(
      `const { parentPort } = require('node:worker_threads');
       import(${module}).then(({ answerCalls }) => {
         answerCalls(parentPort, { ${source} });
         parentPort.postMessage('ready');
       });`,
      { eval: true },
    );
    closers.push(() => thread.terminate());
    const crashed = new Promise<Error>((resolve) => void thread.once('error', resolve));
    const ready = new Promise<void>((resolve) => void thread.once('message', () => resolve()));
    return { port: thread as Port, crashed, ready };
  };

  test('crashes it; the caller learns that it failed and nothing else', async () => {
    const { port, crashed, ready } = worker('boom() { throw new TypeError("/secret/path") }');
    const caller = callThread<{ boom: (argument: null) => void }, never>(port, systemClock, 10_000);
    await ready;
    const refused = await caller.call('boom', null).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'internal-error', message: 'internal error', details: undefined });
    expect((await crashed).message).toContain('/secret/path');
  });

  test('[rules §2.6] an error in a question is reported, answered as an internal error, and the thread continues', async () => {
    const { port1: near, port2: far } = new MessageChannel();
    closers.push(() => near.close());
    const heard: unknown[] = [];
    answerCalls<{ ask: (argument: null) => unknown; half: (argument: number) => number }>(
      far,
      {
        ask() {
          throw new RangeError('Invalid time value');
        },
        half: (of) => of / 2,
      },
      { questions: ['ask'], onError: (method, error) => void heard.push([method, String(error)]) },
    );
    const caller = callThread<{ ask: (argument: null) => unknown; half: (argument: number) => number }, never>(
      near,
      systemClock,
      10_000,
    );
    await expect(caller.call('ask', null)).rejects.toMatchObject({ code: 'internal-error' });
    expect(await caller.call('half', 8)).toBe(4);
    expect(heard).toEqual([['ask', 'RangeError: Invalid time value']]);
  });

  test('a method that it does not have is one, names of every object included', async () => {
    for (const method of ['none', 'toString', '__proto__', 'constructor']) {
      const { port, crashed, ready } = worker('half() { return 1 }');
      await ready;
      port.postMessage({ tag: 'call', id: 1, method, argument: null });
      expect((await crashed).message).toBe(`no thread method ${method}`);
    }
  });

  test('a value that cannot cross is one', async () => {
    const { port, crashed, ready } = worker('bad() { return () => 1 }');
    const caller = callThread<{ bad: (argument: null) => unknown }, never>(port, systemClock, 10_000);
    await ready;
    await expect(caller.call('bad', null)).rejects.toMatchObject({ code: 'internal-error' });
    expect(await crashed).toBeInstanceOf(Object);
  });
});
