/** Local accounts: their roles, and links that set a password; issued tokens. */
import { Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { users as operations } from '../../../src/api/users.ts';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import table from '../parts/table.module.css';
import { Tag, type Tone } from '../parts/tag.tsx';
import classes from '../points/points.module.css';
import { call } from '../server/calls.ts';
import { othersPeriodMs } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { userWords } from '../strings/users.ts';
import { TokensSection } from './tokens-section.tsx';
import { AddDialog, ConfirmDialog, LinkDialog, type PasswordLink, RoleDialog, type User } from './user-dialogs.tsx';

const words = userWords;
type Act = 'role' | 'reset' | 'disable';

const tones: Readonly<Record<User['state'], Tone>> = { active: 'good', invited: 'info', disabled: 'calm' };

export function UsersPage() {
  const users = useQuery({
    queryKey: ['users'],
    queryFn: async () => (await call(operations.list)).data.data.list,
    refetchInterval: othersPeriodMs,
  });
  const [isAdding, setAdding] = useState(false);
  const [asked, setAsked] = useState<{ readonly user: User; readonly act: Act } | null>(null);
  const [link, setLink] = useState<PasswordLink | null>(null);
  const shown = users.data ?? [];
  return (
    <div className={page['page']}>
      <div className={classes['head']}>
        <PageHeading>{words.title}</PageHeading>
        <Button onClick={() => setAdding(true)}>{words.add}</Button>
      </div>
      <p className={page['lead']}>{words.lead}</p>
      {users.isError && <Failure error={users.error} onRetry={() => void users.refetch()} />}
      {users.isPending && <Skeleton height={160} radius="md" aria-label={t.common.loading} />}
      {users.data !== undefined && shown.length === 0 && <p>{words.none}</p>}
      {shown.length > 0 && <UserTable users={shown} onAsk={(user, act) => setAsked({ user, act })} />}
      <TokensSection />
      {isAdding && <AddDialog onClose={() => setAdding(false)} onLink={setLink} />}
      {asked?.act === 'role' && <RoleDialog user={asked.user} onClose={() => setAsked(null)} />}
      {asked !== null && asked.act !== 'role' && (
        <ConfirmDialog user={asked.user} act={asked.act} onClose={() => setAsked(null)} onLink={setLink} />
      )}
      {link !== null && <LinkDialog link={link} onClose={() => setLink(null)} />}
    </div>
  );
}

function UserTable({ users, onAsk }: { users: readonly User[]; onAsk: (user: User, act: Act) => void }) {
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
                  aria-label={words.roleOf(user.name)}
                  onClick={() => onAsk(user, 'role')}
                >
                  {words.changeRole}
                </Button>
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
