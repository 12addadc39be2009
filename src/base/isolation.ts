/**
 * How a thread ends, and what keeps it from ending. The only handler of uncaught errors: work runs under a name, and an error in any later
 * callback of that work is reported with the name instead of ending the thread. An uncaught error outside named work ends the thread as usual.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export type Isolated<Name> = <T>(name: Name, work: () => T) => T;

/** For one thread, once. `failed` takes the errors of named work. */
export function isolateWork<Name>(failed: (name: Name, error: unknown) => void): Isolated<Name> {
  const named = new AsyncLocalStorage<{ readonly name: Name }>();
  process.on('uncaughtException', (error) => {
    const store = named.getStore();
    if (store === undefined) throw error;
    failed(store.name, error);
  });
  return (name, work) => named.run({ name }, work);
}

/** Runs `work`, which cannot wait for anything, as the last of this thread; not if the thread is terminated. */
export function atThreadEnd(work: () => void): void {
  process.once('exit', work);
}
