/** Signing in [identity §2]: by the one-time link, whose code stands in the address's fragment, or by a pasted token. */
import { Button, Modal, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { auditOperations } from '../../../src/api/audit.ts';
import { automation } from '../../../src/api/automation.ts';
import { ApiError } from '../../../src/api/client.ts';
import { sessionDescriptor } from '../../../src/api/session.ts';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/tag.tsx';
import { call, callWith } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { signIn, signOut, useSession } from './session.ts';
import classes from './sign-in.module.css';

const words = t.signIn;

/** The code of a sign-in link; it is taken out of the address at once, so that no history keeps it. */
export function takeLinkCode(): string | null {
  const code = /^#code=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, '', '/#/');
  return code;
}

export async function exchangeCode(code: string): Promise<string> {
  return (await call(sessionDescriptor, { body: { code } })).data.data.token;
}

/** Asks the service whether the token is good: for the rules, else for the audit log alone. */
async function tryToken(token: string): Promise<string> {
  const ask = callWith(token);
  try {
    await ask(automation.list, { query: { page_size: '1' } });
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
    await ask(auditOperations.search, { query: { limit: '1' } });
  }
  return token;
}

function TokenForm({ onToken }: { onToken: (token: string) => void }) {
  const [token, setToken] = useState('');
  const check = useMutation({ mutationFn: tryToken, onSuccess: onToken });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token.trim() !== '') check.mutate(token.trim());
  };
  const refused = check.error instanceof ApiError && [401, 403, 404].includes(check.error.status ?? 0);
  return (
    <form onSubmit={submit}>
      <Stack>
        <PasswordInput
          label={words.token}
          description={words.tokenHint}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
          visibilityToggleButtonProps={{ 'aria-label': words.show, tabIndex: 0 }}
          error={refused ? words.refused : undefined}
        />
        {check.isError && !refused && <Failure error={check.error} />}
        <Button type="submit" loading={check.isPending}>
          {words.submit}
        </Button>
      </Stack>
    </form>
  );
}

export function SignInPage({ linkFailed }: { linkFailed: boolean }) {
  return (
    <main className={classes['page']}>
      <div className={classes['card']}>
        <img src="/assets/icon.svg" alt="" width={40} height={40} />
        <Title order={1} size="h3">
          {words.title}
        </Title>
        <Text size="sm" c="dimmed">
          {words.lead}
        </Text>
        {linkFailed && (
          <Notice tone="warn" role="alert">
            {words.linkUsed}
          </Notice>
        )}
        <TokenForm onToken={signIn} />
        <Text size="xs" c="dimmed">
          {t.common.notSafety}
        </Text>
      </div>
    </main>
  );
}

/** Stands over the page when the token has ended; the page stays behind it, with everything in it. */
export function ExpiredDialog() {
  const session = useSession();
  if (session.status !== 'expired') return null;
  const again = (token: string): void => {
    signIn(token);
    void queryClient.invalidateQueries();
  };
  return (
    <Modal opened onClose={() => undefined} withCloseButton={false} title={words.expiredTitle} closeOnEscape={false}>
      <Stack>
        <Text size="sm">{words.expiredLead}</Text>
        <TokenForm onToken={again} />
        <Button variant="subtle" onClick={signOut}>
          {words.forget}
        </Button>
      </Stack>
    </Modal>
  );
}
