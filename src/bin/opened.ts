/** Resources opened during the start. They close in reverse order at shutdown, or when a later step fails. */
import type { Log } from '../base/log.ts';

export interface Opened {
  add(close: () => Promise<unknown> | unknown): void;
  closeAll(): Promise<void>;
}

export function openedThings(log: Log): Opened {
  const closers: (() => Promise<unknown> | unknown)[] = [];
  return {
    add: (close) => void closers.push(close),
    async closeAll() {
      for (const close of closers.splice(0).toReversed()) {
        try {
          await close();
        } catch (error) {
          log.error('a component did not close', { error: String(error) });
        }
      }
    },
  };
}
