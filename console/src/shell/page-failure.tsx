/** A page that failed, or that is not there. */
import { Button, Stack } from '@mantine/core';
import { Notice } from '../parts/tag.tsx';
import { t } from '../strings/index.ts';

export function PageFailure() {
  return (
    <Stack p="lg" maw={640} align="flex-start">
      <Notice tone="bad" role="alert">
        {t.common.failure.broken}
      </Notice>
      <Button onClick={() => location.reload()}>{t.common.failure.reload}</Button>
    </Stack>
  );
}

export function NotFound() {
  return (
    <Stack p="lg" maw={640}>
      <Notice tone="warn">{t.common.failure.notFound}</Notice>
    </Stack>
  );
}
