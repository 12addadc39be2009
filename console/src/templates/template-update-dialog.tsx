/** A rule is brought to what its template makes today; what that changes is shown first. */
import { Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Difference } from '../revisions/difference-view.tsx';
import type { StoredRule } from '../server/queries.ts';
import { useCatalogue } from '../server/use-catalogue.ts';
import { t } from '../strings/index.ts';
import { templateWords } from '../strings/templates.ts';
import { useTemplateDifference, useTemplateUpdate } from './template-queries.ts';

const words = templateWords;

interface DialogParts {
  readonly rule: StoredRule;
  readonly onClose: () => void;
}

export function TemplateUpdateDialog({ rule, onClose }: DialogParts) {
  const found = useTemplateDifference(rule.id, rule.revision);
  const catalogue = useCatalogue();
  const update = useTemplateUpdate(rule.id, rule.revision, ({ warnings }) => {
    announce(words.updated, warnings);
    onClose();
  });
  const isSame = found.data?.difference.classes.length === 0;
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={words.updateTitle}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Stack data-testid="template-update">
        {found.isPending && <Skeleton height={120} aria-label={t.common.loading} />}
        {found.isError && <Failure error={found.error} onRetry={() => void found.refetch()} />}
        {found.data !== undefined && (
          <>
            <Text size="sm">{isSame ? words.same : words.updateLead(found.data.template)}</Text>
            {!isSame && <Difference difference={found.data.difference} catalogue={catalogue} sides={words} />}
          </>
        )}
        <Text size="sm" c="dimmed">
          {t.rules.dialog.audited}
        </Text>
        {update.isError && <Failure error={update.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button
            disabled={found.data === undefined || isSame}
            loading={update.isPending}
            onClick={() => update.mutate()}
          >
            {words.update}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
