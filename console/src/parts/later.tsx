/**
 * A part of the console that is fetched when it is first shown. One that cannot be fetched, because the service is away or
 * was updated meanwhile, shows a message in its place and leaves the rest of the page unchanged.
 */
import { Button, Center, Loader } from '@mantine/core';
import { type ComponentType, useEffect, useState } from 'react';
import { t } from '../strings/index.ts';
import { Notice } from './tag.tsx';

const words = t.common.failure;

interface Later<P extends object> {
  (props: P): React.ReactNode;
  /** Fetches it before it is shown; the router calls this when a link is pointed at. */
  preload(): Promise<void>;
}

/** `heightPx`: the approximate height of the part, reserved while it loads. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>, heightPx = 200): Later<P> {
  let loaded: ComponentType<P> | null = null;
  const fetchPart = async (): Promise<void> => {
    loaded ??= await load();
  };
  function Part(props: P) {
    const [state, setState] = useState<'fetching' | 'there' | 'failed'>(loaded === null ? 'fetching' : 'there');
    useEffect(() => {
      if (loaded === null)
        fetchPart().then(
          () => setState('there'),
          () => setState('failed'),
        );
    }, []);
    const Shown = loaded;
    if (state !== 'failed' && Shown !== null) return <Shown {...props} />;
    if (state !== 'failed')
      return (
        <Center mih={heightPx} role="status" aria-label={t.common.loading}>
          <Loader size="sm" />
        </Center>
      );
    return (
      <Notice
        tone="warn"
        role="alert"
        // A browser keeps to the failure of a module for as long as the page lives: asking once more would not help.
        action={
          <Button size="compact-sm" variant="default" onClick={() => location.reload()}>
            {words.reload}
          </Button>
        }
      >
        {words.partMissing}
      </Notice>
    );
  }
  // A failed preload fails again when shown, and the message appears there.
  return Object.assign(Part, { preload: () => fetchPart().catch(() => undefined) });
}
