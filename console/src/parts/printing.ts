/** Whether the page is being printed: a list of which only a part is drawn is then drawn as a whole. */
import { useSyncExternalStore } from 'react';

let isPrinting = false;

/** Called before the browser arranges the page for paper, and after. */
function subscribe(listener: () => void): () => void {
  const become = (next: boolean) => (): void => {
    isPrinting = next;
    listener();
  };
  const [before, after] = [become(true), become(false)];
  addEventListener('beforeprint', before);
  addEventListener('afterprint', after);
  return () => {
    removeEventListener('beforeprint', before);
    removeEventListener('afterprint', after);
  };
}

export function usePrinting(): boolean {
  return useSyncExternalStore(subscribe, () => isPrinting);
}
