/** Receivers of notifications [alarms §5]: each change once and in order, despite outages and restarts. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { decoder } from '../../base/decode.ts';
import { silentLog } from '../../base/log.ts';
import { readSite } from '../../site/site.ts';
import { noCredentials, startMqttBroker } from '../../testing/mqtt-broker.ts';
import { simulatedClock } from '../../testing/simulated-clock.ts';
import { alarmLimits } from '../limits.ts';
import type { AlarmEntry } from '../store/alarm-store.ts';
import { Notifier, type NotifierParts } from './notifier.ts';
import { type Notification, sendNotification } from './send.ts';
import { type NotifyTarget, notifySchema, notifyTargets, notifyUrlsMax } from './targets.ts';

const entry = (sequence: number): AlarmEntry => ({
  sequence,
  id: `alarm-${sequence}`,
  state: 'active-unacknowledged',
  atMs: 1_700_000_000_000 + sequence,
  by: null,
  reason: null,
});
const urlTarget = (url: URL, name = url.href, bearerToken: string | null = null): NotifyTarget => ({
  kind: 'url',
  name,
  shown: name,
  url,
  bearerToken,
});
const target = urlTarget(new URL('https://a.example/'), 'a');

function bench(more: Partial<NotifierParts> = {}) {
  const clock = simulatedClock();
  const state = { last: 0, taken: new Map<string, number>(), refuses: false, controls: true };
  const sent: string[] = [];
  const store = {
    after: async (sequence: number, limit: number) =>
      Array.from({ length: Math.min(limit, Math.max(0, state.last - sequence)) }, (_, at) => entry(sequence + at + 1)),
    lastSequence: async () => state.last,
    taken: async (receiver: string) => state.taken.get(receiver) ?? null,
    take: async (receiver: string, sequence: number) => void state.taken.set(receiver, sequence),
  };
  const notifier = new Notifier({
    targets: [target],
    store,
    alarm: () => undefined,
    async send(_target, notification) {
      if (state.refuses) throw new Error('status 503');
      sent.push(notification.alarm);
    },
    site: 's',
    controls: () => state.controls,
    clock,
    log: silentLog,
    limits: alarmLimits,
    ...more,
  });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let turn = 0; turn < 2000; turn++) await Promise.resolve();
  };
  return { clock, state, sent, notifier, pass, store };
}

describe('[alarms §5] notification', () => {
  test('a new receiver starts with future changes; then each change, in order', async () => {
    const { state, sent, notifier, pass } = bench();
    state.last = 5;
    notifier.open();
    await pass(1000);
    expect(sent).toEqual([]);
    state.last = 8;
    notifier.wake();
    await pass(0);
    expect(sent).toEqual(['alarm-6', 'alarm-7', 'alarm-8']);
    expect(state.taken.get('a')).toBe(8);
    notifier.stop();
  });

  test('a receiver that refuses is tried again after pauses that double up to the longest, and misses nothing', async () => {
    const tries: number[] = [];
    const limits = { ...alarmLimits, interval_ms: 100, notify_retry_ms: 1000, notify_retry_max_ms: 3000 };
    const bad = bench({ limits });
    const failing = bench({
      limits,
      clock: bad.clock,
      async send() {
        tries.push(bad.clock.monotonicMs());
        throw new Error('status 503');
      },
    });
    failing.state.taken.set('a', 0);
    failing.state.last = 1;
    failing.notifier.open();
    for (let step = 0; step < 120; step++) await bad.pass(100);
    const pauses = tries.slice(1).map((at, before) => at - (tries[before] ?? 0));
    expect(pauses).toEqual([1000, 2000, 3000, 3000]);
    failing.notifier.stop();
  });

  test('`notify_waiting_max`, at its edge: one more than that passes the oldest over', async () => {
    const limits = { ...alarmLimits, notify_waiting_max: 3 };
    for (const [waiting, expected] of [
      [3, ['alarm-1', 'alarm-2', 'alarm-3']],
      [4, ['alarm-2', 'alarm-3', 'alarm-4']],
    ] as const) {
      const { state, sent, notifier, pass } = bench({ limits });
      state.taken.set('a', 0);
      state.last = waiting;
      notifier.open();
      await pass(1000);
      expect(sent).toEqual(expected);
      notifier.stop();
    }
  });

  test('which receivers accept nothing, and why: unknown until what waits was sent, and without control', async () => {
    const { state, notifier, pass } = bench();
    state.taken.set('a', 0);
    state.last = 2;
    state.refuses = true;
    expect(notifier.failing()).toBeNull();
    notifier.open();
    await pass(1000);
    expect(notifier.failing()).toEqual([{ receiver: 'a', reason: 'status 503' }]);
    state.refuses = false;
    await pass(alarmLimits.notify_retry_max_ms);
    expect(notifier.failing()).toEqual([]);
    state.controls = false;
    await pass(1000);
    expect(notifier.failing()).toBeNull();
    notifier.stop();
    expect(bench({ targets: [] }).notifier.failing()).toEqual([]);
  });

  test('a process that does not control sends nothing', async () => {
    const { state, sent, notifier, pass } = bench();
    state.taken.set('a', 0);
    state.last = 2;
    state.controls = false;
    notifier.open();
    await pass(1000);
    expect(sent).toEqual([]);
    state.controls = true;
    await pass(1000);
    expect(sent).toEqual(['alarm-1', 'alarm-2']);
    notifier.stop();
  });
});

describe('[alarms §5] receivers', () => {
  const notification: Notification = {
    alarm: 'a',
    state: 'normal',
    site: 's',
    at: '2026-01-01T00:00:00.000Z',
    name: 'A',
    priority: 'low',
    message: null,
  };
  const parts = { clock: systemClock, timeoutMs: 500, credentials: () => noCredentials };
  const open: { close: () => unknown }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });
  const listen = async (answer: Parameters<typeof createServer>[1]): Promise<NotifyTarget> => {
    const server: Server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push({
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return urlTarget(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
  };

  test('a 2xx answer takes it; another status, a redirect and silence for `notify_timeout_ms` do not', async () => {
    const bodies: string[] = [];
    const good = await listen((request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()));
      request.on('end', () => response.writeHead(204).end());
    });
    await sendNotification(good, notification, parts);
    expect(JSON.parse(bodies.join(''))).toEqual(notification);
    const moved = await listen((_request, response) => response.writeHead(302, { location: '/x' }).end());
    await expect(sendNotification(moved, notification, parts)).rejects.toThrow('status 302');
    const silent = await listen(() => undefined);
    await expect(sendNotification(silent, notification, { ...parts, timeoutMs: 50 })).rejects.toThrow(
      'no answer in time',
    );
  });

  test('a failed connection has its reason, such as an untrusted certificate', async () => {
    const fixture = join(import.meta.dirname, '..', '..', 'devices', 'driver', 'fixture');
    const [key, cert] = ['broker-key.pem', 'broker-cert.pem'].map((name) => readFileSync(join(fixture, name)));
    const server = createSecureServer({ key, cert });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const secure = urlTarget(url);
    await expect(sendNotification(secure, notification, parts)).rejects.toThrow(
      /^no connection: self-signed certificate/,
    );
    await new Promise((resolve) => server.close(resolve));
    await expect(sendNotification(secure, notification, parts)).rejects.toThrow(
      `no connection: connect ECONNREFUSED 127.0.0.1:${url.port}`,
    );
  });

  test('a broker takes it with QoS 1; one that is silent does not', async () => {
    const broker = await startMqttBroker();
    open.push({ close: () => broker.stop() });
    const { channels } = readSite(
      `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels: [{ id: bus, driver: mqtt, url: "mqtt://127.0.0.1:${broker.port}", client_id: bakery }]
instances: []
`,
      'site.yaml',
    );
    const publish = async (timeoutMs: number): Promise<void> => {
      for (const each of notifyTargets({ mqtt: { channel: 'bus', topic: 'site/alarms' } }, { channels }, {}))
        await sendNotification(each, notification, { ...parts, timeoutMs });
    };
    await publish(5000);
    expect(broker.clientIds).toEqual(['bakery-notify']);
    expect(broker.messages.map(({ topic, qos, payload }) => [topic, qos, JSON.parse(payload)])).toEqual([
      ['site/alarms', 1, notification],
    ]);
    await broker.stop();
    await expect(publish(500)).rejects.toThrow(/./);
  });

  test('only https or a loopback address, without credentials; a channel that the site has', () => {
    const faults = (settings: Parameters<typeof notifyTargets>[0]): string => {
      try {
        return notifyTargets(settings, { channels: [] }, {})
          .map(({ name }) => name)
          .join(' ');
      } catch (error) {
        return String(error);
      }
    };
    expect(
      faults({ urls: ['https://a.example/x', 'http://127.0.0.1:9/', 'http://localhost/', 'http://[::1]:9/'] }),
    ).toBe('https://a.example/x http://127.0.0.1:9/ http://localhost/ http://[::1]:9/');
    expect(faults({ urls: ['http://a.example/'] })).toContain('must use https');
    expect(faults({ urls: ['https://user:secret@a.example/'] })).toContain('must not hold');
    expect(faults({ urls: ['file:///etc/passwd'] })).toContain('is not an http or https URL');
    expect(faults({ mqtt: { channel: 'bus', topic: 't' } })).toContain('no channel bus');
  });

  test('an address or a token from the environment; neither is in the log', async () => {
    const headers: (string | undefined)[] = [];
    const lines: unknown[] = [];
    const listening = await listen((request, response) => {
      headers.push(request.headers.authorization);
      response.writeHead(headers.length < 3 ? 503 : 204).end();
    });
    if (listening.kind !== 'url') throw new Error('not a URL');
    const { href, host } = listening.url;
    const environment = { HOOK: `${href}services/T0/secret-in-the-path`, TOKEN: 'secret-token' };
    const targets = notifyTargets(
      { urls: [{ url_env: 'HOOK' }, { url: href, bearer_token_env: 'TOKEN' }, `${href}?key=secret-in-the-query`] },
      { channels: [] },
      environment,
    );
    expect(targets.map(({ name, shown }) => [name, shown])).toEqual([
      ['env:HOOK', `notify.urls[0] (${host})`],
      [href, `notify.urls[1] (${host})`],
      [`${href}?key=secret-in-the-query`, `notify.urls[2] (${host})`],
    ]);
    const note = (...line: unknown[]): void => void lines.push(line);
    const { state, notifier, pass } = bench({
      targets,
      send: (to, what) => sendNotification(to, what, parts),
      log: { ...silentLog, warn: note, info: note, error: note },
    });
    for (const { name } of targets) state.taken.set(name, 0);
    state.last = 1;
    notifier.open();
    await pass(1000);
    await expect.poll(() => headers.toSorted()).toEqual(['Bearer secret-token', undefined, undefined]);
    await expect.poll(() => lines).toHaveLength(2);
    expect(JSON.stringify(lines)).toContain(host);
    expect(JSON.stringify(lines)).not.toContain('secret');
    notifier.stop();
  });

  test('a receiver with a secret that is not there, or with two addresses, or none, is refused', () => {
    const decode = decoder(notifySchema);
    const fault = (entry: NonNullable<Parameters<typeof notifyTargets>[0]['urls']>[number]): string => {
      expect(decode({ urls: [entry] }).ok).toBe(true);
      const environment = { EMPTY: '', LAN: 'http://a.example/', BAD: 'two words', HOOK: 'https://a.example/' };
      try {
        return String(notifyTargets({ urls: [entry] }, { channels: [] }, environment)[0]?.name);
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
    };
    const refused = 'service.yaml: notify.urls[0]:';
    expect(fault({ url_env: 'HOOK' })).toBe('env:HOOK');
    expect(fault({ url_env: 'ABSENT' })).toBe(`${refused} the environment has no variable ABSENT`);
    expect(fault({ url_env: 'EMPTY' })).toBe(`${refused} the environment has no variable EMPTY`);
    expect(fault({ url_env: 'LAN' })).toBe(`${refused} must use https, or be a loopback address`);
    expect(fault({ url_env: 'HOOK', bearer_token_env: 'ABSENT' })).toContain('no variable ABSENT');
    expect(fault({ url_env: 'HOOK', bearer_token_env: 'BAD' })).toContain('BAD holds no token');
    for (const entry of [{}, { bearer_token_env: 'BAD' }, { url: 'https://a.example/', url_env: 'HOOK' }])
      expect(fault(entry)).toBe(`${refused} needs either url or url_env`);
    expect(decode({ urls: [{ url_env: 'hook' }] })).toMatchObject({ ok: false });
    expect(decode({ urls: [{ urlenv: 'HOOK' }] })).toMatchObject({
      ok: false,
      issues: [{ path: '/urls/0/urlenv', message: expect.stringContaining('did you mean url_env?') }],
    });
  });

  test('`notifyUrlsMax`, at its edge', () => {
    const decode = decoder(notifySchema);
    const urls = (count: number) => ({ urls: Array.from({ length: count }, (_, at) => `https://${at}.example/`) });
    expect(decode(urls(notifyUrlsMax)).ok).toBe(true);
    expect(decode(urls(notifyUrlsMax + 1)).ok).toBe(false);
  });
});
