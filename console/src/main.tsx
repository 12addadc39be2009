/** Entry of the console: nonce, theme, session, router. */
import '@mantine/core/styles.css';
import './global.css';
import { Center, Loader, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { type ReactNode, StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { later } from './parts/later.tsx';
import { usePrinting } from './parts/printing.ts';
import { router } from './routes.tsx';
import { queryClient } from './server/queries.ts';
import { openAgainForLinks, takeArrival } from './session/arrival.ts';
import { currentSession, onSession, useSession } from './session/session.ts';
import { askSession, exchangeCode, type SignInMethods } from './session/session-calls.ts';
import type { SignInFailure } from './session/sign-in.tsx';
import { t } from './strings/index.ts';
import { cssVariables, theme } from './theme.ts';

const nonce = document.querySelector('meta[name="style-nonce"]')?.getAttribute('content') ?? '';
// The library of the scroll lock reads the nonce for its style elements here.
setNonce(nonce);

// Not needed with a session.
const SignInPage = later(async () => (await import('./session/sign-in.tsx')).SignInPage);
const SetPasswordPage = later(async () => (await import('./session/sign-in.tsx')).SetPasswordPage);
const ExpiredDialog = later(async () => (await import('./session/sign-in.tsx')).ExpiredDialog);

const arrival = takeArrival();
openAgainForLinks();
/** Whether the link was valid; null without one. */
const exchanged =
  arrival.kind === 'code'
    ? exchangeCode(arrival.code).then(
        () => true,
        () => false,
      )
    : null;
/** The available sign-in methods. A pasted token of this tab, or a fresh link, takes precedence over the cookie. */
const asked = (exchanged ?? Promise.resolve()).then(askSession).catch(() => null);
onSession(() => {
  // Data of one subject must never be shown to the next.
  if (currentSession().status === 'out') queryClient.clear();
});

function Console() {
  const session = useSession();
  const [isAsking, setAsking] = useState(true);
  const [methods, setMethods] = useState<SignInMethods | null>(null);
  const [failure, setFailure] = useState<SignInFailure | null>(
    arrival.kind === 'failed' || arrival.kind === 'unavailable' ? arrival.kind : null,
  );
  const [code, setCode] = useState(arrival.kind === 'set-password' ? arrival.code : null);
  const [name, setName] = useState<string | null>(null);
  useEffect(() => {
    void exchanged?.then((isGood) => setFailure(isGood ? null : 'link'));
    void asked.then((found) => {
      setMethods(found);
      setAsking(false);
    });
  }, []);
  const passwordSet = async (account: string): Promise<void> => {
    setMethods(await askSession().catch(() => null));
    setName(account);
    setCode(null);
  };
  if (code !== null) return <SetPasswordPage code={code} onDone={(account) => void passwordSet(account)} />;
  if (session.status !== 'out')
    return (
      <>
        <RouterProvider router={router} />
        {session.status === 'expired' && <ExpiredDialog methods={methods} />}
      </>
    );
  if (!isAsking) return <SignInPage methods={methods} failure={failure} name={name} />;
  return (
    <Center mih="100vh" role="status" aria-label={t.common.signingIn}>
      <Loader />
    </Center>
  );
}

const place = document.getElementById('root');
if (place === null) throw new Error('the page has no root');
createRoot(place).render(
  <StrictMode>
    <Themed>
      <QueryClientProvider client={queryClient}>
        <Console />
      </QueryClientProvider>
    </Themed>
  </StrictMode>,
);

/** Paper is light. */
function Themed({ children }: { children: ReactNode }) {
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      {...(usePrinting() && { forceColorScheme: 'light' })}
      cssVariablesResolver={cssVariables}
      getStyleNonce={() => nonce}
    >
      {children}
    </MantineProvider>
  );
}
