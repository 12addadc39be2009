/** Two versions of one rule: the stored one and the draft. The choice is shown with its consequences; both can be undone. */
import { Button, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useRule } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { Changes } from './changes.tsx';
import { differences } from './difference.ts';
import { contentOf, useDraft, useDraftStore } from './draft-store.ts';

const words = t.editor.conflict;

export function ConflictDialog({ onClose }: { onClose: () => void }) {
  const store = useDraftStore();
  const { base, revision } = useDraft();
  const rule = useRule(store.ruleId);
  const theirs = rule.data;
  if (theirs === undefined || theirs.revision === revision)
    return (
      <Modal opened onClose={onClose} title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
        <Skeleton height={80} aria-label={t.common.loading} />
      </Modal>
    );
  const content = contentOf(theirs);
  const changes = differences(base, content);
  const choose = (work: () => void) => () => {
    work();
    onClose();
  };
  return (
    <Modal opened onClose={onClose} size="lg" title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">{words.lead(revision, theirs.revision)}</Text>
        {changes.length === 0 ? <Text size="sm">{words.same}</Text> : <Changes changes={changes} sides={words.sides} />}
        <Button data-autofocus onClick={choose(() => store.rebase(content, theirs.revision))}>
          {words.keep}
        </Button>
        <Text size="xs" c="dimmed">
          {words.keepHint}
        </Text>
        <Button variant="default" onClick={choose(() => store.adopt(content, theirs.revision))}>
          {words.take}
        </Button>
        <Text size="xs" c="dimmed">
          {words.takeHint}
        </Text>
      </Stack>
    </Modal>
  );
}
