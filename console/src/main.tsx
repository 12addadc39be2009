/** The console starts: nonce, theme, session, router. */
import '@mantine/core/styles.css';
import './global.css';
import { Center, Loader, MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { router } from './routes.tsx';
import { queryClient } from './server/queries.ts';
import { currentSession, onSession, signIn, useSession } from './session/session.ts';
import { exchangeCode, SignInPage, takeLinkCode } from './session/sign-in.tsx';
import { t } from './strings/index.ts';
import { cssVariables, theme } from './theme.ts';

const nonce = document.querySelector('meta[name="style-nonce"]')?.getAttribute('content') ?? '';
// Style elements of the scroll lock come from a library that asks here.
setNonce(nonce);

const linkCode = takeLinkCode();
const linkToken = linkCode === null ? null : exchangeCode(linkCode);
onSession(() => {
  // What one subject read is not shown to the next.
  if (currentSession().status === 'out') queryClient.clear();
});

function Console() {
  const session = useSession();
  const [link, setLink] = useState<'none' | 'asking' | 'failed'>(linkToken === null ? 'none' : 'asking');
  useEffect(() => {
    linkToken?.then(
      (token) => {
        signIn(token);
        setLink('none');
      },
      () => setLink('failed'),
    );
  }, []);
  if (link === 'asking')
    return (
      <Center mih="100vh" role="status" aria-label={t.signIn.exchanging}>
        <Loader />
      </Center>
    );
  if (session.status === 'out') return <SignInPage linkFailed={link === 'failed'} />;
  return <RouterProvider router={router} />;
}

const place = document.getElementById('root');
if (place === null) throw new Error('the page has no root');
createRoot(place).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={cssVariables}
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Console />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
