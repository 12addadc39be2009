/**
 * One tagged protocol between threads: calls with replies, and one-way events. Both ends are message ports, so the
 * in-process twin of a worker (two ports of one channel) runs the very same code (ARCHITECTURE.md, "Threads").
 */
import type { Clock, Timer } from './clock.ts';
import { Fault, type FaultCode, faultKinds } from './fault.ts';

/** The common part of a worker and a MessagePort. */
export interface Port {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/**
 * Memory of a thread that runs as long as the service. Most of what it allocates is short-lived: a small young generation is collected in
 * short pauses, and does not grow to many times the live heap.
 */
export const threadMemory = { maxYoungGenerationSizeMb: 6 };

type Procedure = (argument: never) => unknown;
/** A thread's interface: each method takes one argument and answers once. */
export type Methods = Readonly<Record<string, Procedure>>;

export type Handlers<M extends Methods> = {
  readonly [K in keyof M]: (argument: Parameters<M[K]>[0]) => ReturnType<M[K]> | Promise<ReturnType<M[K]>>;
};

interface CallMessage {
  readonly tag: 'call';
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}
interface FaultMessage {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}
interface ReplyMessage {
  readonly tag: 'reply';
  readonly id: number;
  readonly value?: unknown;
  readonly fault?: FaultMessage;
}
interface EventMessage {
  readonly tag: 'event';
  readonly event: unknown;
}
type ThreadMessage = CallMessage | ReplyMessage | EventMessage;

export interface AnswerOptions<M extends Methods> {
  /** Methods that only read: an error in one leaves no partial change, so it never ends the thread. */
  readonly questions?: readonly (keyof M & string)[];
  /** Receives the error of such a method, for the log. */
  readonly onError?: (method: string, error: unknown) => void;
  /** Turns any error into a refusal, where another program calls, perhaps of another version. */
  readonly refuse?: (error: unknown) => Fault;
}

/**
 * Answers calls that arrive at `port` with `handlers`. An error that is not a Fault is a bug: the caller gets
 * `internal-error`, and the thread crashes, unless the method is a question or `refuse` takes the error.
 */
export function answerCalls<M extends Methods>(
  port: Port,
  handlers: Handlers<M>,
  options: AnswerOptions<M> = {},
): void {
  port.on('message', (message) => {
    if (!isThreadMessage(message) || message.tag !== 'call') return;
    void answer(port, handlers, message, options);
  });
}

async function answer<M extends Methods>(
  port: Port,
  handlers: Handlers<M>,
  call: CallMessage,
  { questions = [], onError, refuse }: AnswerOptions<M>,
): Promise<void> {
  const handler: ((argument: never) => unknown) | undefined = Object.hasOwn(handlers, call.method)
    ? handlers[call.method]
    : undefined;
  try {
    if (handler === undefined) throw new Error(`no thread method ${call.method}`);
    const value = await handler(call.argument as never);
    port.postMessage({ tag: 'reply', id: call.id, value } satisfies ReplyMessage);
  } catch (thrown) {
    const error = thrown instanceof Fault ? thrown : (refuse?.(thrown) ?? thrown);
    if (!(error instanceof Fault)) {
      port.postMessage({
        tag: 'reply',
        id: call.id,
        fault: { code: 'internal-error', message: 'internal error', details: undefined },
      } satisfies ReplyMessage);
      if (!questions.some((name) => name === call.method)) throw error;
      onError?.(call.method, error);
      return;
    }
    const fault = { code: error.code, message: error.message, details: error.details };
    port.postMessage({ tag: 'reply', id: call.id, fault } satisfies ReplyMessage);
  }
}

/** Sends a one-way event to the other end. */
export function sendEvent(port: Port, event: unknown): void {
  port.postMessage({ tag: 'event', event } satisfies EventMessage);
}

export interface Caller<M extends Methods, E> {
  /** `ownDeadlineMs`: of a call that takes longer than the others. */
  call<K extends keyof M & string>(
    method: K,
    argument: Parameters<M[K]>[0],
    ownDeadlineMs?: number,
  ): Promise<Awaited<ReturnType<M[K]>>>;
  onEvent(listener: (event: E) => void): void;
  /**
   * Asks open calls of these methods once more, as another thread answers from now on, with another argument where one is
   * given; the first answer counts.
   */
  repeat(methods: readonly (keyof M & string)[], instead?: { readonly [K in keyof M]?: Parameters<M[K]>[0] }): void;
  /** Refuses every open and later call: the thread has ended. */
  close(reason: Fault): void;
}

const engineLate = (): Fault => new Fault('engine-unavailable', 'the engine did not answer in time; try again');

/** Calls methods of the thread behind `port`; a call without an answer in `deadlineMs` is refused with what `late` says. */
export function callThread<M extends Methods, E>(
  port: Port,
  clock: Clock,
  deadlineMs: number,
  late: () => Fault = engineLate,
): Caller<M, E> {
  interface Open {
    readonly message: CallMessage;
    readonly resolve: (value: never) => void;
    readonly reject: (fault: Fault) => void;
    readonly timer: Timer;
  }
  const open = new Map<number, Open>();
  const listeners: ((event: E) => void)[] = [];
  let lastId = 0;
  let closed: Fault | undefined;

  const settle = (id: number): Open | undefined => {
    const entry = open.get(id);
    if (entry === undefined) return undefined;
    open.delete(id);
    entry.timer.cancel();
    return entry;
  };

  port.on('message', (message) => {
    if (!isThreadMessage(message)) return;
    if (message.tag === 'event') for (const listener of listeners) listener(message.event as E);
    if (message.tag !== 'reply') return;
    const entry = settle(message.id);
    if (message.fault) entry?.reject(faultFrom(message.fault));
    else entry?.resolve(message.value as never);
  });

  return {
    call(method, argument, ownDeadlineMs = deadlineMs) {
      return new Promise((resolve, reject) => {
        if (closed) {
          reject(closed);
          return;
        }
        const id = ++lastId;
        const expire = (): void => settle(id)?.reject(late());
        const message: CallMessage = { tag: 'call', id, method, argument };
        open.set(id, { message, resolve, reject, timer: clock.after(ownDeadlineMs, expire) });
        port.postMessage(message);
      });
    },
    onEvent(listener) {
      listeners.push(listener);
    },
    repeat(methods, instead = {}) {
      for (const { message } of open.values()) {
        if (!methods.includes(message.method)) continue;
        const argument: unknown = instead[message.method] ?? message.argument;
        port.postMessage({ ...message, argument } satisfies CallMessage);
      }
    },
    close(reason) {
      closed = reason;
      for (const id of open.keys()) settle(id)?.reject(reason);
    },
  };
}

function faultFrom(fault: FaultMessage): Fault {
  const code = isFaultCode(fault.code) ? fault.code : 'internal-error';
  return new Fault(code, fault.message, fault.details === undefined ? {} : { details: fault.details });
}

function isFaultCode(code: string): code is FaultCode {
  return Object.hasOwn(faultKinds, code);
}

function isThreadMessage(message: unknown): message is ThreadMessage {
  return typeof message === 'object' && message !== null && 'tag' in message;
}
