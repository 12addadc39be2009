/**
 * The console's files at `/` [platform §2.3]: the output of `npm ci`, sent unchanged. The page contains a fresh
 * nonce for the style elements of its component library; scripts are allowed from this origin only. Files are read
 * on request, so that a console rebuilt under a running service appears on the next load.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import { Fault } from '../base/fault.ts';
import { newSecret } from '../base/id.ts';
import type { Server } from './server.ts';

const assetAgeSeconds = 31_536_000;
const noncePlace = '%STYLE_NONCE%';

/** The build's output folder, relative to this file. */
const consoleFolder = join(import.meta.dirname, '..', '..', 'console', 'dist');

function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    // Covers the live stream too: its address differs only in the scheme.
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** False if the console was not built: the service runs without it. */
export async function addConsole(server: Server, folder: string = consoleFolder): Promise<boolean> {
  const file = join(folder, 'index.html');
  if (!existsSync(file)) return false;
  const { fastify } = server;
  await fastify.register(fastifyStatic, {
    root: join(folder, 'assets'),
    prefix: '/assets/',
    preCompressed: true,
    index: false,
    decorateReply: false,
    cacheControl: false,
    setHeaders: (reply, path) => {
      // Names contain a digest of the content, except the icon's.
      const fixed = path.endsWith('icon.svg');
      void reply.header('cache-control', fixed ? 'no-cache' : `public, max-age=${assetAgeSeconds}, immutable`);
      void reply.header('cross-origin-resource-policy', 'same-origin');
    },
  });
  fastify.route({
    method: 'GET',
    url: '/',
    async handler(_request, reply) {
      const page = await pageOf(file);
      const nonce = newSecret();
      return reply
        .headers({
          'content-security-policy': policyOf(nonce),
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          'x-frame-options': 'DENY',
        })
        .type('text/html; charset=utf-8')
        .send(page.replaceAll(noncePlace, nonce));
    },
  });
  return true;
}

/** During a build there is no page for a moment. */
async function pageOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Fault('not-found', 'the console is not available right now; reload the page in a moment', {
      cause: error,
    });
  }
}
