/** Creates a rule with a name, and opens its canvas. */
import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { automation } from '../../../src/api/automation.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';
import { t } from '../strings/index.ts';

const words = t.rules.createDialog;
const nameLengthMax = 128;
const descriptionLengthMax = 2000;

export function CreateRule({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [tried, setTried] = useState(false);
  const create = useMutation({
    mutationFn: async () => {
      const about = description.trim();
      const body = { name: name.trim(), ...(about === '' ? {} : { description: about }) };
      return (await call(automation.create, { body, confirmed: true })).data.data;
    },
    onSuccess: (made) => {
      announce(t.rules.done.created(made.name));
      void queryClient.invalidateQueries({ queryKey: ['rules'] });
      void navigate({ to: '/rules/$ruleId', params: { ruleId: String(made.id) } });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (name.trim() !== '') create.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            data-autofocus
            label={words.name}
            required
            maxLength={nameLengthMax}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={tried && name.trim() === '' ? words.nameNeeded : undefined}
          />
          <Textarea
            label={words.description}
            autosize
            minRows={2}
            maxLength={descriptionLengthMax}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
          />
          <Text size="sm" c="dimmed">
            {words.lead} {t.rules.dialog.audited}
          </Text>
          {create.isError && <Failure error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={create.isPending}>
              {words.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
