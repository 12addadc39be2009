/** Two versions of one rule: the stored one and the draft. The choice is shown with its consequences; both can be undone. */
import { Button, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { fullTime } from '../parts/moment.tsx';
import { Difference } from '../revisions/difference-view.tsx';
import { useRevisions } from '../revisions/revision-queries.ts';
import { useRule } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { contentDifference } from './draft-difference.ts';
import { sameContent } from './draft-history.ts';
import { contentOf, useDraft, useDraftStore } from './draft-store.ts';
import { useEditor } from './editor-context.ts';

const words = t.editor.conflict;

export function ConflictDialog({ onClose }: { onClose: () => void }) {
  const store = useDraftStore();
  const { base, revision } = useDraft();
  const rule = useRule(store.ruleId);
  const theirs = rule.data;
  const { catalogue } = useEditor();
  const revisions = useRevisions(store.ruleId).data;
  if (theirs === undefined || theirs.revision === revision)
    return (
      <Modal opened onClose={onClose} title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
        <Skeleton height={80} aria-label={t.common.loading} />
      </Modal>
    );
  const content = contentOf(theirs);
  const newest = revisions?.pages[0]?.list.find((each) => each.revision === theirs.revision);
  const choose = (work: () => void) => () => {
    work();
    onClose();
  };
  return (
    <Modal opened onClose={onClose} size="lg" title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">{words.lead(revision, theirs.revision)}</Text>
        {newest !== undefined && newest.author !== null && (
          <Text size="sm" data-testid="changed-by">
            {words.by(newest.author.id, fullTime(newest.at))}
            {newest.reason !== null && newest.reason !== '' && ` “${newest.reason}”`}
          </Text>
        )}
        {sameContent(base, content) ? (
          <Text size="sm">{words.same}</Text>
        ) : (
          <Difference
            difference={contentDifference(base, content, catalogue)}
            catalogue={catalogue}
            sides={words.sides}
          />
        )}
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
