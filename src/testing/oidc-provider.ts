/**
 * A real OpenID Connect provider on loopback for tests: discovery, PKCE, refresh tokens that rotate, sign-out. The configured person signs in
 * without a form. Refreshing can be refused, and the provider can be stopped and started.
 */
import { createServer, type Server } from 'node:http';
import { default as OidcProvider } from 'oidc-provider';
import { ownPort } from './own-port.ts';

export interface TestProvider {
  readonly issuer: string;
  /** Who the next sign-in is, with which groups. */
  person: { name: string; groups: readonly string[] };
  /** Ends every grant: the next refresh is refused. */
  revoke(): Promise<void>;
  /** Follows the pages of the provider as a browser would; returns the address of the final redirect. */
  authorize(location: string): Promise<string>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export const testClient = { id: 'setpoint', secret: 'a secret of the tests that is long enough' };

export async function startTestProvider(redirectUris: readonly string[], accessSeconds = 3600): Promise<TestProvider> {
  const person: { current: TestProvider['person'] } = { current: { name: 'ada', groups: ['site-engineers'] } };
  let server: Server = createServer();
  const port = await ownPort();
  const listen = (): Promise<void> => new Promise((done) => server.listen(port, '127.0.0.1', done));
  await listen();
  const issuer = `http://127.0.0.1:${port}`;
  const grants = new Set<string>();
  const provider = new OidcProvider(issuer, {
    clients: [
      {
        client_id: testClient.id,
        client_secret: testClient.secret,
        redirect_uris: [...redirectUris],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    // As a rule, those of `profile` are in the user information only.
    claims: { openid: ['sub', 'groups'], profile: ['preferred_username'] },
    scopes: ['openid', 'profile', 'offline_access'],
    ttl: {
      AccessToken: accessSeconds,
      IdToken: accessSeconds,
      Session: 3600,
      Grant: 3600,
      Interaction: 600,
      RefreshToken: 3600,
    },
    issueRefreshToken: async () => true,
    findAccount: async (_context: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({ sub: id, groups: [...person.current.groups], preferred_username: `${id} (by name)` }),
    }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    cookies: { keys: ['a key of the tests'] },
    renderError: async (context: { body: unknown }, out: unknown) => {
      context.body = JSON.stringify(out);
    },
  });
  const answer = provider.callback();
  const interact = async (request: Parameters<typeof answer>[0], response: Parameters<typeof answer>[1]) => {
    const { prompt, params, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login') {
      await provider.interactionFinished(request, response, { login: { accountId: person.current.name } });
      return;
    }
    const grant =
      grantId === undefined
        ? new provider.Grant({ accountId: person.current.name, clientId: String(params['client_id']) })
        : await provider.Grant.find(grantId);
    grant?.addOIDCScope('openid profile offline_access');
    grant?.addOIDCClaims(['groups']);
    const id = (await grant?.save()) ?? '';
    grants.add(id);
    await provider.interactionFinished(
      request,
      response,
      { consent: { grantId: id } },
      { mergeWithLastSubmission: true },
    );
  };
  const serve = (): void => {
    server.on('request', (request, response) => {
      if (request.url?.startsWith('/interaction/') === true) void interact(request, response);
      else void answer(request, response);
    });
  };
  serve();
  return {
    issuer,
    get person() {
      return person.current;
    },
    set person(next) {
      person.current = next;
    },
    async revoke() {
      for (const id of grants) await (await provider.Grant.find(id))?.destroy();
    },
    async authorize(location) {
      const jar = new Map<string, string>();
      let next = location;
      for (let step = 0; step < 12 && next.startsWith(issuer); step++) {
        const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
        const page = await fetch(next, { redirect: 'manual', headers: { cookie } });
        for (const text of page.headers.getSetCookie()) {
          const [pair = ''] = text.split(';');
          jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
        }
        const to = page.headers.get('location');
        if (to === null) throw new Error(`the provider answered ${page.status}: ${await page.text()}`);
        next = new URL(to, next).href;
      }
      return next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
    async start() {
      server = createServer();
      serve();
      await listen();
    },
  };
}
