/**
 * A part of the console that is fetched when it is first shown. One that cannot be fetched, because the service is away or
 * was renewed meanwhile, says so in its own place, and what stands around it stays as it is.
 */
import { Button, Center, Group, Loader } from '@mantine/core';
import { type ComponentType, useCallback, useEffect, useState } from 'react';
import { t } from '../strings/index.ts';
import { Notice } from './tag.tsx';

const words = t.common.failure;

interface Later<P extends object> {
  (props: P): React.ReactNode;
  /** Fetches it before it is shown; the router calls this when a link is pointed at. */
  preload(): Promise<void>;
}

export function later<P extends object>(load: () => Promise<ComponentType<P>>): Later<P> {
  let loaded: ComponentType<P> | null = null;
  const fetchPart = async (): Promise<ComponentType<P>> => {
    loaded ??= await load();
    return loaded;
  };
  function Part(props: P) {
    const [state, setState] = useState<{ readonly part: ComponentType<P> | null; readonly failed: boolean }>({
      part: loaded,
      failed: false,
    });
    const begin = useCallback(() => {
      setState({ part: null, failed: false });
      fetchPart().then(
        (part) => setState({ part, failed: false }),
        () => setState({ part: null, failed: true }),
      );
    }, []);
    useEffect(() => {
      if (loaded === null) begin();
    }, [begin]);
    if (state.part !== null) return <state.part {...props} />;
    if (!state.failed)
      return (
        <Center mih={200} role="status" aria-label={t.common.loading}>
          <Loader size="sm" />
        </Center>
      );
    return (
      <Notice
        tone="warn"
        role="alert"
        action={
          <Group gap="xs">
            <Button size="compact-sm" variant="default" onClick={begin}>
              {t.common.retry}
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => location.reload()}>
              {words.reload}
            </Button>
          </Group>
        }
      >
        {words.partMissing}
      </Notice>
    );
  }
  // A failure before it is shown is no failure yet.
  return Object.assign(Part, { preload: () => fetchPart().then(ignore, ignore) });
}

function ignore(): void {
  // See `preload`.
}
