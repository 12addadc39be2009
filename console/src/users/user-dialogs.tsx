/** Dialogs of the users page: a new account, another role, a new password, and its end. */
import { Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Static } from 'typebox';
import { users as operations } from '../../../src/api/users.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { userWords } from '../strings/users.ts';

const words = userWords;
export type User = Static<(typeof operations)['list']['answer']>['data']['list'][number];
export type PasswordLink = Static<(typeof operations)['add']['answer']>['data'];
type Role = User['role'];

const roles: readonly Role[] = ['Viewer', 'Engineer', 'Admin'];
const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['users'] });

export function AddDialog({ onClose, onLink }: { onClose: () => void; onLink: (link: PasswordLink) => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('Viewer');
  const add = useMutation({
    mutationFn: () => call(operations.add, { body: { name: name.trim(), role }, confirmed: true }),
    onSuccess: async ({ data }) => {
      onClose();
      onLink(data.data);
      await refresh();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() !== '') add.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={words.add} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            data-autofocus
            label={words.name}
            description={words.nameHint}
            value={name}
            maxLength={128}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <RoleField role={role} onRole={setRole} />
          {add.isError && <Failure error={add.error} />}
          <Buttons onClose={onClose} label={words.submit} isBusy={add.isPending} />
        </Stack>
      </form>
    </Modal>
  );
}

function RoleField({ role, onRole }: { role: Role; onRole: (role: Role) => void }) {
  return (
    <>
      <div>
        <Text size="sm" fw={500} id="user-role">
          {words.role}
        </Text>
        <SegmentedControl
          aria-labelledby="user-role"
          value={role}
          onChange={(value) => onRole(roles.find((known) => known === value) ?? 'Viewer')}
          data={[...roles]}
          fullWidth
        />
      </div>
      <Text size="sm" c="dimmed">
        {t.common.account.roles[role]}
      </Text>
    </>
  );
}

export function RoleDialog({ user, onClose }: { user: User; onClose: () => void }) {
  const { name } = user;
  const [role, setRole] = useState<Role>(user.role);
  const change = useMutation({
    mutationFn: () => call(operations.changeRole, { params: { name }, body: { role }, confirmed: true }),
    onSuccess: async () => {
      onClose();
      announce(words.hasRole(name, role));
      await refresh();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (role !== user.role) change.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={words.roleOf(name)} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <RoleField role={role} onRole={setRole} />
          <Text size="sm">{words.roleLead}</Text>
          {change.isError && <Failure error={change.error} />}
          <Buttons onClose={onClose} label={words.changeRole} isBusy={change.isPending} disabled={role === user.role} />
        </Stack>
      </form>
    </Modal>
  );
}

export function ConfirmDialog({
  user: { name },
  act,
  onClose,
  onLink,
}: {
  user: User;
  act: 'reset' | 'disable';
  onClose: () => void;
  onLink: (link: PasswordLink) => void;
}) {
  const change = useMutation({
    mutationFn: async () => {
      const input = { params: { name }, confirmed: true };
      if (act === 'reset') return (await call(operations.reset, input)).data.data;
      await call(operations.disable, input);
      return null;
    },
    onSuccess: async (link) => {
      onClose();
      if (link === null) announce(words.disabled(name));
      else onLink(link);
      await refresh();
    },
  });
  const isReset = act === 'reset';
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={isReset ? words.resetTitle(name) : words.disableTitle(name)}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{isReset ? words.resetLead : words.disableLead}</Text>
          {change.isError && <Failure error={change.error} />}
          <Buttons onClose={onClose} label={isReset ? words.reset : words.disable} isBusy={change.isPending} />
        </Stack>
      </form>
    </Modal>
  );
}

interface ButtonParts {
  readonly onClose: () => void;
  readonly label: string;
  readonly isBusy: boolean;
  readonly disabled?: boolean;
}

function Buttons({ onClose, label, isBusy, disabled = false }: ButtonParts) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        {t.common.cancel}
      </Button>
      <Button type="submit" loading={isBusy} disabled={disabled}>
        {label}
      </Button>
    </Group>
  );
}

export function LinkDialog({ link: { name, link }, onClose }: { link: PasswordLink; onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title={words.link(name)} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        <Text size="sm">{words.linkLead}</Text>
        <TextInput
          readOnly
          aria-label={words.link(name)}
          value={`${location.origin}${link}`}
          onFocus={(event) => event.currentTarget.select()}
        />
      </Stack>
    </Modal>
  );
}
