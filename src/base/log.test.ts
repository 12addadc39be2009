/** Structured logs [platform §4.2]: one JSON line each on standard output, none lost at exit. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLog } from './log.ts';

type Line = Readonly<Record<string, unknown>>;

/** The output of a process that runs `source`. */
function logged(source: string): { readonly lines: readonly Line[]; readonly stderr: string } {
  const module = JSON.stringify(new URL('./log.ts', import.meta.url).href);
  const program = `import { createLog } from ${module};\n${source}`;
  // Not a pipe or socket, which do not take every line if the reader is slow for a moment (`log-output.test.ts`).
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-log-'));
  const file = openSync(join(folder, 'out'), 'w');
  const args = ['--input-type=module', '-e', program];
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', file, 'pipe'] });
  closeSync(file);
  const stdout = readFileSync(join(folder, 'out'), 'utf8');
  rmSync(folder, { recursive: true });
  expect(stdout === '' || stdout.endsWith('\n')).toBe(true);
  const lines = stdout.split('\n').slice(0, -1);
  return { lines: lines.map((line) => JSON.parse(line) as Line), stderr };
}

describe('[platform §4.2] structured logs', () => {
  test('a line has its level, time, message and fields, those of its log included', () => {
    const { lines, stderr } = logged(`
      const log = createLog('debug', { service: 'setpoint' }).with({ area: 'devices' });
      log.debug('one'); log.info('two', { correlation_id: 'c', n: null }); log.warn('three'); log.error('four');`);
    expect(stderr).toBe('');
    expect(lines).toMatchObject([
      { level: 20, msg: 'one', service: 'setpoint', area: 'devices' },
      { level: 30, msg: 'two', correlation_id: 'c', n: null },
      { level: 40, msg: 'three' },
      { level: 50, msg: 'four' },
    ]);
    for (const { time } of lines) expect(Math.abs(Number(time) - Date.now())).toBeLessThan(60_000);
  });

  test('a long or multi-line text stays one line; an error shows its stack and its cause', () => {
    const { lines } = logged(`
      const log = createLog('info');
      log.info('a\\nb\\u2028c', { text: 'x\\r\\ny'.repeat(1000) });
      log.error('failed', { err: new Error('outer\\nline', { cause: new TypeError('inner') }) });`);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({ msg: 'a\nb\u2028c', text: 'x\r\ny'.repeat(1000) });
    expect(lines[1]).toMatchObject({
      msg: 'failed',
      err: { type: 'Error', message: expect.stringContaining('outer') },
    });
    expect(Object(lines[1]?.['err'])).toHaveProperty('stack', expect.stringContaining('TypeError: inner'));
  });

  test.each([
    ['debug', ['d', 'i', 'w', 'e']],
    ['info', ['i', 'w', 'e']],
    ['warn', ['w', 'e']],
    ['error', ['e']],
    ['silent', []],
  ])('the level %s lets through %j', (level, messages) => {
    const { lines } = logged(`
      const log = createLog(${JSON.stringify(level)});
      for (const each of [log, log.with({ a: 1 })]) { each.debug('d'); each.info('i'); each.warn('w'); each.error('e'); }`);
    expect(lines.map(({ msg }) => msg)).toEqual([...messages, ...messages]);
  });

  test('credentials are redacted: members with their names, and quotes in messages', () => {
    const token = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(40)}`;
    const { lines } = logged(`
      const log = createLog('info');
      log.info('asked', { token: 'secret-1', req: { authorization: 'secret-2', url: '/x' }, correlation_id: 'kept-1' });
      log.warn('refused Bearer ${token}', { err: new Error('from mqtt://site:secret-3@host: ${token}') });
      log.with({ password: 'secret-4' }).info('kept-2');`);
    const text = JSON.stringify(lines);
    expect(text).not.toMatch(/secret-|eyJ/);
    expect(lines).toMatchObject([
      { msg: 'asked', token: '[redacted]', req: { authorization: '[redacted]', url: '/x' }, correlation_id: 'kept-1' },
      { msg: 'refused [redacted]', err: { message: 'from mqtt://site:[redacted]@host: [redacted]' } },
      { msg: 'kept-2', password: '[redacted]' },
    ]);
  });

  test('nothing that could be used to sign in is written: at any depth, in a query, quoted as text, as a key file', () => {
    const { lines } = logged(`
      const log = createLog('info');
      log.info('deep', { a: { b: { c: { client_secret: 'secret-1', kept: 'kept-1' } } } });
      log.info('from https://idp/cb?code=secret-2&state=kept-2&access_token=secret-3');
      log.info('body was ' + JSON.stringify({ refresh_token: 'secret-4', password: 'secret-5', name: 'kept-3' }));
      log.info('-----BEGIN PRIVATE KEY-----\\nsecret-6\\n-----END PRIVATE KEY----- kept-4');`);
    const text = JSON.stringify(lines);
    expect(text).not.toContain('secret-');
    for (const kept of ['kept-1', 'kept-2', 'kept-3', 'kept-4']) expect(text).toContain(kept);
    expect(lines).toHaveLength(4);
  });

  test('lines of several threads do not mix, and the last one is written even if the process ends at once', () => {
    const module = JSON.stringify(new URL('./log.ts', import.meta.url).href);
    const { lines } = logged(`
      import { Worker } from 'node:worker_threads';
      const source = \`import(${module.replaceAll('"', '\\"')}).then(({ createLog }) => {
        const log = createLog('info');
        for (let n = 0; n < 500; n++) log.info('there', { n, pad: 'p'.repeat(200) });
      });\`;
      const worker = new Worker(source, { eval: true });
      const log = createLog('info');
      for (let n = 0; n < 500; n++) log.info('here', { n, pad: 'p'.repeat(200) });
      worker.on('exit', () => { log.info('last'); process.exit(0); });`);
    expect(lines.filter(({ msg }) => msg === 'here').map(({ n }) => n)).toEqual(
      Array.from({ length: 500 }, (_, n) => n),
    );
    expect(lines.filter(({ msg }) => msg === 'there').map(({ n }) => n)).toEqual(
      Array.from({ length: 500 }, (_, n) => n),
    );
    expect(lines.at(-1)).toMatchObject({ msg: 'last' });
  });

  test('the silent log takes everything and its children too', () => {
    const log = silentLog.with({ a: 1 });
    expect([log.debug('d'), log.info('i'), log.warn('w'), log.error('e')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
