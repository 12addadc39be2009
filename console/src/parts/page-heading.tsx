/** The heading of a page, and the name of the page in the title of the browser's tab. */
import { Title, type TitleProps } from '@mantine/core';
import { useEffect, useSyncExternalStore } from 'react';

let name: string | null = null;
const listeners = new Set<() => void>();

function become(next: string | null): void {
  name = next;
  for (const listener of listeners) listener();
}

/** Names the page while the component is shown. */
export function usePageName(own: string): void {
  useEffect(() => {
    become(own);
    return () => become(null);
  }, [own]);
}

/** The name of the shown page; null until it is loaded. */
export function useShownPageName(): string | null {
  return useSyncExternalStore(subscribe, () => name);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function PageHeading({ children, ...style }: { children: string } & Pick<TitleProps, 'mb' | 'className'>) {
  usePageName(children);
  return (
    <Title order={1} size="h2" {...style}>
      {children}
    </Title>
  );
}
