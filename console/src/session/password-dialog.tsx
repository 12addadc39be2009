/** The owner of an account changes its password. */
import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../../../src/api/client.ts';
import { passwordLengthMin } from '../../../src/api/session.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { t } from '../strings/index.ts';
import { signInWords } from '../strings/sign-in.ts';
import { NewPassword } from './new-password.tsx';
import { changePassword } from './session-calls.ts';

const words = signInWords.change;

export function PasswordDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState<string | null>(null);
  const change = useMutation({
    mutationFn: (chosen: string) => changePassword(name, current, chosen),
    onSuccess: () => {
      announce(words.done);
      onClose();
    },
  });
  const isWrong = change.error instanceof ApiError && change.error.status === 401;
  const isComplete = current !== '' && password !== null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isComplete) change.mutate(password);
  };
  return (
    <Modal opened onClose={onClose} title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{words.lead(passwordLengthMin)}</Text>
          <input type="text" autoComplete="username" value={name} readOnly hidden />
          <PasswordInput
            data-autofocus
            label={words.current}
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
            visibilityToggleButtonProps={{ 'aria-label': signInWords.showPassword, tabIndex: 0 }}
            error={isWrong ? words.wrong : undefined}
          />
          <NewPassword onPassword={setPassword} />
          {change.isError && !isWrong && <Failure error={change.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" disabled={!isComplete} loading={change.isPending}>
              {words.submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
