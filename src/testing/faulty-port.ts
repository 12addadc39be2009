/**
 * Wraps a port so that a test can count its calls and make one method throw, never answer, wait, or answer
 * something else.
 */

export type PortFault =
  | { readonly kind: 'throw' }
  | { readonly kind: 'hang' }
  | { readonly kind: 'answer'; readonly value: unknown }
  /** Continues, with the call unchanged, when `until` resolves. */
  | { readonly kind: 'wait'; readonly until: Promise<unknown> };

export interface FaultyPort<Port extends object> {
  readonly port: Port;
  /** Names of the methods called so far, in order. */
  readonly calls: readonly string[];
  /** Applies from now on; null removes the fault. */
  break(method: keyof Port & string, fault: PortFault | null): void;
}

export function faultyPort<Port extends object>(target: Port): FaultyPort<Port> {
  const calls: string[] = [];
  const faults = new Map<string, PortFault>();
  const port = new Proxy(target, {
    get(of, name, receiver): unknown {
      const member: unknown = Reflect.get(of, name, receiver);
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      return (...args: readonly unknown[]): unknown => {
        calls.push(name);
        const fault = faults.get(name);
        if (fault === undefined) return Reflect.apply(member, of, args);
        if (fault.kind === 'throw') throw new Error(`password=hunter2 at ${name}`);
        if (fault.kind === 'wait') return fault.until.then(() => Reflect.apply(member, of, args));
        return fault.kind === 'hang' ? new Promise(() => undefined) : Promise.resolve(fault.value);
      };
    },
  });
  return {
    port,
    calls,
    break(method, fault) {
      if (fault === null) faults.delete(method);
      else faults.set(method, fault);
    },
  };
}

export interface Held {
  /** Later calls pass. */
  forNewCalls(): void;
  /** The held calls continue. */
  forAll(): void;
}

/** Makes `method` wait: every call, and after `forNewCalls` only the earlier ones. */
export function holdMethod<Port extends object>(
  { break: breakMethod }: FaultyPort<Port>,
  method: keyof Port & string,
): Held {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  breakMethod(method, { kind: 'wait', until: promise });
  return { forNewCalls: () => breakMethod(method, null), forAll: () => resolve(undefined) };
}

/** Runs everything that is ready to run. */
export async function settledPort(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
}
