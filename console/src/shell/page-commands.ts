/** Commands that the page that is shown adds to the palette. */
import { useEffect, useSyncExternalStore } from 'react';

export interface PageCommand {
  readonly id: string;
  readonly label: string;
  readonly group: string;
  readonly run: () => void;
}

let commands: readonly PageCommand[] = [];
const listeners = new Set<() => void>();

function become(next: readonly PageCommand[]): void {
  commands = next;
  for (const listener of listeners) listener();
}

/** Offers these while the component is shown. The list must be stable from render to render while nothing changes. */
export function useOfferedCommands(offered: readonly PageCommand[]): void {
  useEffect(() => {
    become(offered);
    return () => become([]);
  }, [offered]);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function usePageCommands(): readonly PageCommand[] {
  return useSyncExternalStore(subscribe, () => commands);
}
