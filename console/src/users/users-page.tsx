/** Local accounts: their roles, and links that set a password. */
import { Button, Group, Modal, SegmentedControl, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Static } from 'typebox';
import { users as operations } from '../../../src/api/users.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import page from '../parts/page.module.css';
import table from '../parts/table.module.css';
import { Tag, type Tone } from '../parts/tag.tsx';
import classes from '../points/points.module.css';
import { call } from '../server/calls.ts';
import { othersPeriodMs, queryClient } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { userWords } from '../strings/users.ts';

const words = userWords;
type User = Static<(typeof operations)['list']['answer']>['data']['list'][number];
type PasswordLink = Static<(typeof operations)['add']['answer']>['data'];
type Role = User['role'];

const roles: readonly Role[] = ['Viewer', 'Engineer', 'Admin'];
const tones: Readonly<Record<User['state'], Tone>> = { active: 'good', invited: 'info', disabled: 'calm' };
const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['users'] });

export function UsersPage() {
  const users = useQuery({
    queryKey: ['users'],
    queryFn: async () => (await call(operations.list)).data.data.list,
    refetchInterval: othersPeriodMs,
  });
  const [isAdding, setAdding] = useState(false);
  const [asked, setAsked] = useState<{ readonly user: User; readonly act: 'reset' | 'disable' } | null>(null);
  const [link, setLink] = useState<PasswordLink | null>(null);
  const shown = users.data ?? [];
  return (
    <div className={page['page']}>
      <div className={classes['head']}>
        <Title order={1} size="h2">
          {words.title}
        </Title>
        <Button onClick={() => setAdding(true)}>{words.add}</Button>
      </div>
      <p className={classes['soft']}>{words.lead}</p>
      {users.isError && <Failure error={users.error} onRetry={() => void users.refetch()} />}
      {users.isPending && <Skeleton height={160} radius="md" aria-label={t.common.loading} />}
      {users.data !== undefined && shown.length === 0 && <p>{words.none}</p>}
      {shown.length > 0 && <UserTable users={shown} onAsk={(user, act) => setAsked({ user, act })} />}
      {isAdding && <AddDialog onClose={() => setAdding(false)} onLink={setLink} />}
      {asked !== null && <ConfirmDialog {...asked} onClose={() => setAsked(null)} onLink={setLink} />}
      {link !== null && <LinkDialog link={link} onClose={() => setLink(null)} />}
    </div>
  );
}

function UserTable({
  users,
  onAsk,
}: {
  users: readonly User[];
  onAsk: (user: User, act: 'reset' | 'disable') => void;
}) {
  return (
    <table className={table['table']} aria-label={words.title}>
      <thead>
        <tr>
          <th scope="col">{words.columns.name}</th>
          <th scope="col">{words.columns.role}</th>
          <th scope="col">{words.columns.state}</th>
          <th scope="col">{words.columns.created}</th>
          <th scope="col">{words.columns.actions}</th>
        </tr>
      </thead>
      <tbody>
        {users.map((user) => (
          <tr key={user.name} data-user={user.name}>
            <td>{user.name}</td>
            <td>{user.role}</td>
            <td>
              <Tag tone={tones[user.state]}>{words.state[user.state]}</Tag>
            </td>
            <td>
              <Moment at={user.created_at} />
            </td>
            <td>
              <Group gap="xs">
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={words.resetOf(user.name)}
                  onClick={() => onAsk(user, 'reset')}
                >
                  {words.reset}
                </Button>
                {user.state !== 'disabled' && (
                  <Button
                    size="compact-sm"
                    variant="default"
                    aria-label={words.disableOf(user.name)}
                    onClick={() => onAsk(user, 'disable')}
                  >
                    {words.disable}
                  </Button>
                )}
              </Group>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function AddDialog({ onClose, onLink }: { onClose: () => void; onLink: (link: PasswordLink) => void }) {
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
          <div>
            <Text size="sm" fw={500} id="user-role">
              {words.role}
            </Text>
            <SegmentedControl
              aria-labelledby="user-role"
              value={role}
              onChange={(value) => setRole(roles.find((known) => known === value) ?? 'Viewer')}
              data={[...roles]}
              fullWidth
            />
          </div>
          <Text size="sm" c="dimmed">
            {t.common.account.roles[role]}
          </Text>
          {add.isError && <Failure error={add.error} />}
          <Buttons onClose={onClose} label={words.submit} isBusy={add.isPending} />
        </Stack>
      </form>
    </Modal>
  );
}

function ConfirmDialog({
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

function Buttons({ onClose, label, isBusy }: { onClose: () => void; label: string; isBusy: boolean }) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        {t.common.cancel}
      </Button>
      <Button type="submit" loading={isBusy}>
        {label}
      </Button>
    </Group>
  );
}

function LinkDialog({ link: { name, link }, onClose }: { link: PasswordLink; onClose: () => void }) {
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
