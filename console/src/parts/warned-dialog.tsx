/** What was done, and what the service warned of when it did it. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { t } from '../strings/index.ts';
import { Notice } from './tag.tsx';

interface Warning {
  readonly code: string;
  readonly message?: string | undefined;
  readonly hint?: string | undefined;
}

export interface WarnedParts {
  readonly text: string;
  readonly warnings: readonly Warning[];
  readonly onClose: () => void;
}

/** A warning of the service with the way out that it names. */
function sentence({ code, message = code, hint }: Warning): string {
  const begun = message.charAt(0).toUpperCase() + message.slice(1);
  return hint === undefined ? begun : `${begun}: ${hint}.`;
}

export function WarnedDialog({ text, warnings, onClose }: WarnedParts) {
  return (
    <Modal opened onClose={onClose} title={t.common.warned} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">{text}</Text>
        {warnings.map(sentence).map((warning) => (
          <Notice key={warning} tone="warn">
            {warning}
          </Notice>
        ))}
        <Group justify="flex-end">
          <Button data-autofocus onClick={onClose}>
            {t.common.close}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
