/** Shown while the site file differs from the running site: the changes, the reload, and what prevents it. */
import { Button, Stack } from '@mantine/core';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/tag.tsx';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { deviceWords } from '../strings/devices.ts';
import { type FileChanges, useFileChanges, useReloadSite } from './site-queries.ts';

const words = deviceWords.file;

export function SiteFileNotice() {
  const session = useSession();
  const mayReload = session.status !== 'out' && mayManage(session.facts.role);
  const changes = useFileChanges(mayReload).data;
  const reload = useReloadSite();
  if (!mayReload || changes === undefined) return null;
  if (changes.issues.length > 0)
    return (
      <Stack gap="xs" mb="md">
        <Notice tone="warn">
          {words.refused} {changes.issues.join('; ')}
        </Notice>
      </Stack>
    );
  const parts = partsOf(changes);
  if (parts.length === 0) return null;
  return (
    <Stack gap="xs" mb="md">
      <Notice
        tone="info"
        action={
          <Button
            size="compact-sm"
            loading={reload.isPending}
            onClick={() => reload.mutate(undefined, { onSuccess: () => announce(words.done) })}
          >
            {words.go}
          </Button>
        }
      >
        {words.lead} {parts.join('; ')}. {words.pause}
      </Notice>
      {changes.warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      {reload.isError && <Failure error={reload.error} />}
    </Stack>
  );
}

function partsOf({ channels, points, instances, sections }: FileChanges): string[] {
  const lists = Object.entries({ channels, points, instances } as const);
  return [
    ...lists.flatMap(([name, { added, changed }]) => [
      ...(added.length > 0 ? [words.added[name as keyof typeof words.added](added.length)] : []),
      ...(changed.length > 0 ? [words.changed[name as keyof typeof words.changed](changed.length)] : []),
    ]),
    ...sections.map((section) => words.sections[section]),
  ];
}
