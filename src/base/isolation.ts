/**
 * The one door to errors that nobody caught: work is run under a name, and an error in any later callback of that work is
 * reported with the name instead of ending the thread. An error outside all named work ends it as ever.
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
