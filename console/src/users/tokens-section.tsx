/** Access tokens of programs and the command line, and their revocation. */
import { Button, Group, Modal, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Static } from 'typebox';
import { tokens as operations } from '../../../src/api/users.ts';
import { reasonLengthMax, reasonLengthMin } from '../../../src/api/wire.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import page from '../parts/page.module.css';
import table from '../parts/table.module.css';
import { Tag } from '../parts/tag.tsx';
import { call } from '../server/calls.ts';
import { othersPeriodMs, queryClient } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { userWords } from '../strings/users.ts';

const words = userWords.tokens;
type Token = Static<(typeof operations)['list']['answer']>['data']['list'][number];

export function TokensSection() {
  const tokens = useQuery({
    queryKey: ['tokens'],
    queryFn: async () => (await call(operations.list)).data.data.list,
    refetchInterval: othersPeriodMs,
  });
  const [asked, setAsked] = useState<Token | null>(null);
  const shown = tokens.data ?? [];
  return (
    <section aria-label={words.title}>
      <Title order={2} size="h3" mt="xl">
        {words.title}
      </Title>
      <p className={page['lead']}>{words.lead}</p>
      {tokens.isError && <Failure error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.data !== undefined && shown.length === 0 && <p>{words.none}</p>}
      {shown.length > 0 && <TokenTable tokens={shown} onRevoke={setAsked} />}
      {asked !== null && <RevokeDialog token={asked} onClose={() => setAsked(null)} />}
    </section>
  );
}

function TokenTable({ tokens, onRevoke }: { tokens: readonly Token[]; onRevoke: (token: Token) => void }) {
  return (
    <table className={table['table']} aria-label={words.title}>
      <thead>
        <tr>
          <th scope="col">{words.columns.subject}</th>
          <th scope="col">{words.columns.role}</th>
          <th scope="col">{words.columns.state}</th>
          <th scope="col">{words.columns.issued}</th>
          <th scope="col">{words.columns.expires}</th>
          <th scope="col">{words.columns.actions}</th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr key={token.token_id} data-token={token.token_id}>
            <td title={token.token_id}>{token.subject}</td>
            <td>{token.role}</td>
            <td>
              <Tag tone={token.state === 'valid' ? 'good' : 'calm'}>{words.state[token.state]}</Tag>
            </td>
            <td>
              <Moment at={token.issued_at} />
            </td>
            <td>
              <Moment at={token.expires_at} />
            </td>
            <td>
              {token.state === 'valid' && (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={words.revokeOf(token.subject)}
                  onClick={() => onRevoke(token)}
                >
                  {words.revoke}
                </Button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RevokeDialog({ token: { token_id, subject }, onClose }: { token: Token; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const isComplete = reason.trim().length >= reasonLengthMin;
  const revoke = useMutation({
    mutationFn: () => call(operations.revoke, { body: { token_id, reason: reason.trim() }, confirmed: true }),
    onSuccess: async () => {
      onClose();
      announce(words.revoked(subject));
      await queryClient.invalidateQueries({ queryKey: ['tokens'] });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isComplete) revoke.mutate();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={words.revokeTitle(subject)}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{words.revokeLead}</Text>
          <TextInput
            data-autofocus
            label={words.reason}
            description={words.reasonHint}
            maxLength={reasonLengthMax}
            required
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          {revoke.isError && <Failure error={revoke.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" disabled={!isComplete} loading={revoke.isPending}>
              {words.revoke}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
