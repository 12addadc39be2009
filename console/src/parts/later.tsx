/**
 * A part of the console that is loaded when it is first shown. If it cannot be loaded, because the service is down or
 * was updated, a message appears in its place and the rest of the page is unaffected.
 */
import { Button, Center, Loader } from '@mantine/core';
import { type ComponentType, useEffect, useState } from 'react';
import { t } from '../strings/index.ts';
import { Notice } from './tag.tsx';

const words = t.common.failure;

interface Later<P extends object> {
  (props: P): React.ReactNode;
  /** Preloads it; the router calls this when the pointer is over a link. */
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
        // Browsers cache the failed load of a module until the page is reloaded: a second attempt would not help.
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
