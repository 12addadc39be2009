/** The sign-in page [identity §2]: name and password, a provider, or a pasted token; and the page that sets a password. */
import { Button, Divider, Group, Modal, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { auditOperations } from '../../../src/api/audit.ts';
import { automation } from '../../../src/api/automation.ts';
import { ApiError } from '../../../src/api/client.ts';
import { passwordLengthMin } from '../../../src/api/session.ts';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/tag.tsx';
import { callWith } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { chooseLanguage, language, languageNames, languages } from '../strings/language.ts';
import { signInWords } from '../strings/sign-in.ts';
import { NewPassword } from './new-password.tsx';
import { signedOut, signIn, useSession } from './session.ts';
import { type SignInMethods, setPassword, signInAs } from './session-calls.ts';
import classes from './sign-in.module.css';

const words = signInWords;

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

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404].includes(error.status ?? 0);
}

function TokenForm({ onToken }: { onToken: (token: string) => void }) {
  const [token, setToken] = useState('');
  const check = useMutation({ mutationFn: tryToken, onSuccess: onToken });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token.trim() !== '') check.mutate(token.trim());
  };
  const refused = isRefusal(check.error);
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

function PasswordForm({ name: known, onDone }: { name: string; onDone: () => void }) {
  const [name, setName] = useState(known);
  const [password, setWord] = useState('');
  const check = useMutation({ mutationFn: () => signInAs(name.trim(), password), onSuccess: onDone });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() !== '' && password !== '') check.mutate();
  };
  const refused = isRefusal(check.error);
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={words.name}
          autoComplete="username"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <PasswordInput
          label={words.password}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setWord(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': words.showPassword, tabIndex: 0 }}
          error={refused ? words.wrong : undefined}
        />
        {check.isError && !refused && <Failure error={check.error} />}
        <Button type="submit" loading={check.isPending}>
          {words.submit}
        </Button>
      </Stack>
    </form>
  );
}

/** The ways that this site offers, the token last. */
function Ways({ methods, name, onDone }: { methods: SignInMethods | null; name: string; onDone: () => void }) {
  const again = (token: string): void => {
    signIn(token);
    onDone();
  };
  return (
    <Stack>
      {methods?.provider === true && (
        <Button component="a" href="/session/oidc">
          {words.provider}
        </Button>
      )}
      {methods?.password === true && <PasswordForm name={name} onDone={onDone} />}
      {(methods?.provider === true || methods?.password === true) && <Divider label={words.or} />}
      <TokenForm onToken={again} />
    </Stack>
  );
}

/** A link that is used up, or a provider that refused or could not be reached. */
export type SignInFailure = 'link' | 'failed' | 'unavailable';

interface SignInFacts {
  /** Null while the service has not said. */
  readonly methods: SignInMethods | null;
  readonly failure: SignInFailure | null;
  /** The account whose password was just set. */
  readonly name: string | null;
}

export function SignInPage({ methods, failure, name }: SignInFacts) {
  return (
    <Card title={words.title} lead={words.lead}>
      {failure !== null && (
        <Notice tone="warn" role="alert">
          {words.failures[failure]}
        </Notice>
      )}
      {name !== null && <Notice tone="good">{words.passwordSet(name)}</Notice>}
      <Ways methods={methods} name={name ?? ''} onDone={() => undefined} />
    </Card>
  );
}

/** For the owner of an account with its link: sets the first or a new password. */
export function SetPasswordPage({ code, onDone }: { code: string; onDone: (name: string) => void }) {
  const [password, setWord] = useState<string | null>(null);
  const set = useMutation({ mutationFn: (chosen: string) => setPassword(code, chosen), onSuccess: onDone });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (password !== null) set.mutate(password);
  };
  const refused = isRefusal(set.error);
  return (
    <Card title={words.setTitle} lead={words.setLead(passwordLengthMin)}>
      <form onSubmit={submit}>
        <Stack>
          <NewPassword onPassword={setWord} />
          {set.isError &&
            (refused ? <Notice tone="warn">{words.passwordLinkUsed}</Notice> : <Failure error={set.error} />)}
          <Button type="submit" disabled={password === null} loading={set.isPending}>
            {words.set}
          </Button>
        </Stack>
      </form>
    </Card>
  );
}

function Card({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <main className={classes['page']}>
      <div className={classes['card']}>
        <img src="/assets/icon.svg" alt="" width={40} height={40} />
        <Title order={1} size="h3">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {lead}
        </Text>
        {children}
        <Group gap="xs">
          {languageNames.map((name) => (
            <Button
              key={name}
              size="compact-xs"
              variant="subtle"
              lang={name}
              disabled={name === language}
              onClick={() => chooseLanguage(name)}
            >
              {languages[name]}
            </Button>
          ))}
        </Group>
        <Text size="xs" c="dimmed">
          {t.common.notSafety}
        </Text>
      </div>
    </main>
  );
}

/** Covers the page when the session has ended. The page behind it keeps its state. */
export function ExpiredDialog({ methods }: { methods: SignInMethods | null }) {
  const session = useSession();
  if (session.status !== 'expired') return null;
  return (
    <Modal opened onClose={() => undefined} withCloseButton={false} title={words.expiredTitle} closeOnEscape={false}>
      <Stack>
        <Text size="sm">{words.expiredLead}</Text>
        <Ways methods={methods} name={session.facts.subject} onDone={() => void queryClient.invalidateQueries()} />
        <Button variant="subtle" onClick={signedOut}>
          {words.forget}
        </Button>
      </Stack>
    </Modal>
  );
}
