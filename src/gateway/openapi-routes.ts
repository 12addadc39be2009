/**
 * `GET /openapi.json`, the page `/docs` and the contract that it links to [platform §2.5]: public, without data of the
 * site, and without requests to other hosts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Capability } from '../api/capability.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import { leftOut, optionalLibrary } from '../base/optional-library.ts';
import { contractPath, describeApi } from './openapi.ts';
import type { Server } from './server.ts';

const pagePath = '/docs';
const scriptPath = `${pagePath}/js/scalar.js`;
/** Folder of the contract's pages, relative to this file. */
const contractFolder = join(import.meta.dirname, '..', '..', 'docs', 'contract');

export function addApiDescription({ fastify }: Server, capabilities: readonly Capability[], version: string): void {
  let text: string | undefined;
  fastify.get('/openapi.json', (_request, reply) => {
    text ??= JSON.stringify(describeApi(capabilities, version));
    return reply.type('application/json; charset=utf-8').send(text);
  });
  for (const [name, page] of contractPages())
    fastify.get(`${contractPath}/${name}`, (_request, reply) => reply.type('text/plain; charset=utf-8').send(page));
  let reference: Promise<FastifyInstance> | undefined;
  for (const path of [pagePath, `${pagePath}/`, scriptPath])
    fastify.get(path, async ({ url }, reply) => {
      reference ??= referencePage();
      const answer = await (await reference).inject({ method: 'GET', url });
      return reply.code(answer.statusCode).headers(answer.headers).send(answer.rawPayload);
    });
}

/** The reference page in a server of its own, created on first use: its script is several megabytes, and few sites read it. */
async function referencePage(): Promise<FastifyInstance> {
  const library = await optionalLibrary(() => import('@scalar/fastify-api-reference'));
  if (library === null) {
    const message = leftOut('the reference page', '@scalar/fastify-api-reference');
    throw new Fault('not-found', `${message}; /openapi.json describes the same operations`);
  }
  // The page has one inline script; no other may run.
  const nonce = newId();
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    // The page's components set inline styles.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  const server = Fastify();
  await server.register(library.default, {
    routePrefix: pagePath,
    configuration: {
      url: '/openapi.json',
      pageTitle: 'Setpoint API',
      nonce,
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      mcp: { disabled: true },
      agent: { disabled: true },
      showDeveloperTools: 'never',
      persistAuth: false,
      authentication: { preferredSecurityScheme: 'bearer' },
    },
    hooks: {
      onRequest(request, reply, done) {
        void reply.header('content-security-policy', policy).header('referrer-policy', 'no-referrer');
        // Megabytes that change only with the program.
        if (request.url.startsWith(scriptPath)) void reply.header('cache-control', 'public, max-age=3600');
        done();
      },
    },
  });
  return server;
}

/** Empty if the installation has no documents, which must not prevent a start. */
function contractPages(): (readonly [name: string, text: string])[] {
  if (!existsSync(contractFolder)) return [];
  return readdirSync(contractFolder).map((name) => [name, readFileSync(join(contractFolder, name), 'utf8')] as const);
}
