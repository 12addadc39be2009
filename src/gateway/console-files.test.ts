import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import { addConsole } from './console-files.ts';
import { gatewayLimits } from './limits.ts';
import { createRateLimits } from './rate-limit.ts';
import type { Server } from './server.ts';
import { createServer } from './server.ts';

let folder: string;
let server: Server;
let failures: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<meta name="style-nonce" content="%STYLE_NONCE%">');
  writeFileSync(join(folder, 'assets', 'index-a1.js'), 'let a = 1;');
  writeFileSync(join(folder, 'assets', 'index-a1.js.gz'), gzipSync('let a = 1;'));
  failures = [];
  const log: Log = { ...silentLog, error: (message) => void failures.push(message) };
  server = createServer({
    capabilities: [],
    identity: {
      authenticate: async () => null,
      authenticateSession: async () => null,
      authenticateToken: async () => null,
    },
    audit: {
      append: () => Promise.reject(new Error('not used')),
      appendIn: () => Promise.reject(new Error('not used')),
    },
    site: { tenantId: 'tenant', projectId: 'project' },
    rateLimits: createRateLimits(gatewayLimits),
    log,
    limits: gatewayLimits,
    clock: systemClock,
  });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function listening(): Promise<string> {
  expect(await addConsole(server, folder)).toBe(true);
  const { port } = await server.listen('127.0.0.1', 0);
  return `http://127.0.0.1:${port}`;
}

describe('[platform §2.3] security headers of the console', () => {
  test('the page has a strict policy, and a new nonce each time', async () => {
    const base = await listening();
    const [first, second] = [await fetch(`${base}/`), await fetch(`${base}/`)];
    const policy = first.headers.get('content-security-policy') ?? '';
    expect(policy).not.toMatch(/unsafe/);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
    expect(await first.text()).toBe(`<meta name="style-nonce" content="${nonce}">`);
    expect(second.headers.get('content-security-policy')).not.toBe(policy);
    expect(first.headers.get('cache-control')).toBe('no-store');
    expect(first.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('assets are sent compressed as they lie there, and kept for good', async () => {
    const base = await listening();
    const answer = await fetch(`${base}/assets/index-a1.js`, { headers: { 'accept-encoding': 'gzip' } });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(await answer.text()).toBe('let a = 1;');
  });

  test.each(['/assets/no.js', '/assets/../index.html', '/assets/%2e%2e/index.html', '/console', '/assets/'])(
    '%s is not found, in the envelope',
    async (path) => {
      const base = await listening();
      const answer = await fetch(`${base}${path}`);
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { code: 'not-found' } });
    },
  );

  test('HEAD / answers as GET does, without the body', async () => {
    const base = await listening();
    const [head, get] = [await fetch(`${base}/`, { method: 'HEAD' }), await fetch(`${base}/`)];
    expect([head.status, await head.text()]).toEqual([200, '']);
    const shown = ({ headers }: Response) =>
      ['content-type', 'content-length', 'cache-control'].map((name) => headers.get(name));
    expect(shown(head)).toEqual(shown(get));
  });

  test('after a rebuild the next load shows the new console; removed files are 404', async () => {
    const base = await listening();
    rmSync(join(folder, 'assets', 'index-a1.js'));
    rmSync(join(folder, 'assets', 'index-a1.js.gz'));
    rmSync(join(folder, 'index.html'));
    const between = await fetch(`${base}/`);
    expect(between.status).toBe(404);
    expect(await between.json()).toMatchObject({
      error: { code: 'not-found', message: expect.stringMatching(/not available right now/) },
    });
    writeFileSync(join(folder, 'index.html'), '<script src="/assets/index-b2.js"></script>');
    writeFileSync(join(folder, 'assets', 'index-b2.js'), 'let b = 2;');
    expect(await (await fetch(`${base}/`)).text()).toContain('index-b2.js');
    expect(await (await fetch(`${base}/assets/index-b2.js`)).text()).toBe('let b = 2;');
    const gone = await fetch(`${base}/assets/index-a1.js`);
    expect([gone.status, gone.headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  test.for([
    '',
    'sub/',
    '%00',
    '../index.html',
    '..%2findex.html',
    '/etc/passwd',
    '%5Cx',
    'x'.repeat(300),
    'x/'.repeat(2000),
  ])('what is no file of the console is a 404: /assets/%s', async (path) => {
    mkdirSync(join(folder, 'assets', 'sub'));
    expect(await addConsole(server, folder)).toBe(true);
    const { port } = await server.listen('127.0.0.1', 0);
    // fetch would resolve the dots itself.
    const status = await new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path: `/assets/${path}` }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).on('error', reject);
    });
    expect(status).toBe(404);
    expect(failures).toEqual([]);
  });

  test('without a build there is no console, and the service runs', async () => {
    expect(await addConsole(server, join(folder, 'nowhere'))).toBe(false);
  });
});
