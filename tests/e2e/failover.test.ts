/** Another process controls within 5 s when the leader is killed, stopped or cut off, never two (docs/guides/several-machines.md). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { issueToken } from '../../src/gateway/identity.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import { makePostgres, type TestPostgres } from '../../src/testing/postgres-server.ts';
import { editorFlow, runCommand, serviceEnvironment, waitFor } from './running-service.ts';
import { type Cluster, controls, pairOf, startCluster, takeOvers, type Way } from './several-machines.ts';

/** `npm run test:soak` runs 100 of each. */
const rounds = 4;
const takeoverMs = 5000;
const ways: readonly Way[] = ['kill', 'stop', 'cut'];

describe('two machines, one site', () => {
  let postgres: TestPostgres;
  /** One for each kind of fault, so that their takeovers need not wait for each other. */
  const sites = new Map<Way, { readonly cluster: Cluster; readonly fast: number; readonly slow: number }>();
  const siteOf = (way: Way) => {
    const site = sites.get(way);
    if (site === undefined) throw new Error(`no machines were started for ${way}`);
    return site;
  };
  const leaderOf = async ({ cluster }: { cluster: Cluster }) => {
    const { service } = await cluster.leader(20_000);
    if (service === null) throw new Error('the leader does not run');
    return service;
  };
  const newRule = async (
    cluster: Cluster,
    name: string,
    fields: Readonly<Record<string, unknown>>,
  ): Promise<number> => {
    const service = await leaderOf({ cluster });
    const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
    expect((await service.command('PUT', `/rules/${id}`, fields)).status).toBe(200);
    expect((await service.command('POST', `/rules/${id}/enable`)).status).toBe(200);
    return id;
  };
  const start = async (way: Way): Promise<void> => {
    const cluster = await startCluster(['a', 'b'], {
      postgres,
      service: `storage: { postgres_schema: ${way} }\nalarms: { standby_missing_ms: 1000 }\n`,
    });
    await Promise.all(cluster.machines.map((machine) => machine.start()));
    const trigger_config = { type: 'interval', interval_ms: 100 };
    const flow_json = editorFlow('x > 10', 'x * 2');
    const fast = await newRule(cluster, 'fast', { flow_json, trigger_config });
    const cooldown = { cooldown_ms: 3_600_000, priority: 5 };
    const slow = await newRule(cluster, 'slow', { flow_json: editorFlow('x > 10', 7), trigger_config, ...cooldown });
    sites.set(way, { cluster, fast, slow });
  };

  beforeAll(async () => {
    postgres = await makePostgres();
    await postgres.start();
    for (const way of ways) await start(way);
  }, 120_000);
  afterAll(async () => {
    for (const { cluster } of sites.values()) await cluster.close();
    await postgres.stop();
  });

  test.concurrent.each(ways.map((way) => [way] as const))(
    '%s: the other one controls within 5 s, and nothing of the old one arrives',
    // One request may have been on its way when the process was stopped.
    (way) => takeOvers(siteOf(way).cluster, way, rounds, { takeoverMs, lateMost: way === 'stop' ? 1 : 0 }),
    300_000,
  );

  test.each(ways.map((way) => [way] as const))(
    '[platform §4.3] a cooldown that began on one machine holds on the other (%s)',
    async (way) => {
      const site = siteOf(way);
      const service = await leaderOf(site);
      const before = (await service.read(`/rules/${site.slow}/status`)).body['data'];
      expect(before).toMatchObject({ state: 'cooldown' });
      const runs = (await service.read(`/rules/${site.slow}/history?limit=100`)).body['data']?.[
        'list'
      ] as unknown as readonly object[];
      expect(runs.filter((run) => Reflect.get(run, 'outcome') === 'acted')).toHaveLength(1);
    },
  );

  test('[platform §4.3] so does one whose process was killed the moment it was stored; a change asked of the other one is answered', async () => {
    const { cluster } = siteOf('kill');
    const { old, next } = await pairOf(cluster);
    if (old.service === null || next.service === null) throw new Error('a machine does not run');
    const trigger_config = { type: 'interval', interval_ms: 100 };
    const fields = { flow_json: editorFlow('x > 10', 9), trigger_config, cooldown_ms: 3_600_000, priority: 9 };
    const id = Number((await next.service.command('POST', '/rules', { name: 'once' })).body['data']?.['id']);
    expect((await next.service.command('PUT', `/rules/${id}`, fields)).status).toBe(200);
    const enabling = next.service.command('POST', `/rules/${id}/enable`);
    while (old.device.holding.readFloatBE(200) !== 9) await sleep(systemClock, 1);
    // With the execution comes the cooldown that it began.
    const { service } = next;
    await waitFor(async () => (await service.read(`/rules/${id}/history`)).text.includes('"acted"') || undefined);
    old.service.process.kill('SIGKILL');
    const killedAt = new Date(systemClock.wallMs()).toISOString();
    await waitFor(() => controls(next) || undefined, 20_000);
    expect((await enabling).status).toBe(200);
    // Enough time to act again.
    await waitFor(
      async () => Number((await service.read('/scheduler/status')).body['data']?.['ticks']) > 5 || undefined,
    );
    const status = (await service.read(`/rules/${id}/status`)).body['data'];
    expect(status).toMatchObject({ state: 'cooldown', last_run: { outcome: 'acted' } });
    expect(String(Reflect.get(Object(status?.['last_run']), 'started_at')) < killedAt).toBe(true);
    expect((await service.command('DELETE', `/rules/${id}`)).status).toBe(200);
    await old.start();
  }, 60_000);

  test('[points §7.1] with three machines, an override holds its value through two takeovers, and ends on the third at its time', async () => {
    const cluster = await startCluster(['a', 'b', 'c'], { postgres, service: 'storage: { postgres_schema: three }\n' });
    try {
      await Promise.all(cluster.machines.map((machine) => machine.start()));
      const trigger_config = { type: 'interval', interval_ms: 100 };
      await newRule(cluster, 'fast', { flow_json: editorFlow('x > 10', 'x * 2'), trigger_config });
      const first = await cluster.leader(20_000);
      const written = (machine: typeof first): number => machine.device.holding.readFloatBE(200);
      const standby = cluster.machines.find((machine) => machine !== first)?.service;
      const body = { value: 123, for_seconds: 20, reason: 'held through two takeovers' };
      // Requested from a standby, executed by the leader.
      const held = await standby?.command('POST', '/points/1/action/1/override', body);
      expect(held?.status, held?.text).toBe(200);
      await waitFor(() => written(first) === 123 || undefined);
      let controlling = first;
      for (let kills = 0; kills < 2; kills++) {
        controlling.service?.process.kill('SIGKILL');
        controlling.service = null;
        const alive = cluster.machines.filter(({ service }) => service !== null);
        controlling = await waitFor(() => alive.find((machine) => written(machine) === 123), 20_000);
        // Its engine writes first, and its log reports it afterwards.
        const writer = controlling;
        await waitFor(() => controls(writer));
      }
      const last = controlling;
      const untilMs = Date.parse(String(held?.body['data']?.['until']));
      await waitFor(() => written(last) !== 123 || undefined, 30_000);
      const endedMs = Date.now();
      expect(endedMs).toBeGreaterThanOrEqual(untilMs);
      process.stderr.write(`the override ended ${endedMs - untilMs} ms after its time, on the third machine\n`);
      // The devices of the killed machines kept their value: nothing else has been written since.
      for (const machine of cluster.machines) if (machine !== last) expect(written(machine)).toBe(123);
    } finally {
      await cluster.close();
    }
  }, 90_000);

  test('[identity §7.1], [alarms §3] a session and an acknowledged alarm hold on both machines, and through a takeover; a revoked token on none', async () => {
    const { cluster } = siteOf('kill');
    const { old, next } = await pairOf(cluster);
    if (old.service === null || next.service === null) throw new Error('a machine does not run');
    const [leader, standby] = [old.service, next.service];
    const password = 'correct horse battery staple';
    const admin = { token: await standby.token('Admin'), headers: { 'x-svc-confirmed': 'true' } };
    const body = { name: 'ada', role: 'Engineer', confirmed: true };
    const added = await standby.request('POST', '/api/v1/identity/users', { ...admin, body });
    const code = String(added.body['data']?.['link']).split('=')[1];
    await leader.request('POST', '/session/password', { token: null, body: { code, password } });
    const opened = await standby.request('POST', '/session', { token: null, body: { name: 'ada', password } });
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    const withCookie = { token: null, headers: { cookie, 'sec-fetch-site': 'same-origin', 'x-svc-confirmed': 'true' } };
    const rules = '/api/v1/automation/api/rules';
    const issuedAtSeconds = Math.floor(Date.now() / 1000) - 5;
    const claims = { subject: 'lost', role: 'Viewer', issuedAtSeconds, lifetimeSeconds: 600 } as const;
    const bearer = { token: await issueToken(signingKey(old.folders.data), claims) };
    for (const service of [leader, standby]) expect((await service.request('GET', rules, bearer)).status).toBe(200);
    const all = { subject: 'lost', reason: 'revoked on the other machine', confirmed: true };
    expect((await standby.request('POST', '/api/v1/identity/tokens/revoke', { ...admin, body: all })).status).toBe(200);
    for (const service of [leader, standby])
      await waitFor(async () => (await service.request('GET', rules, bearer)).status === 401 || undefined, 5000);
    for (const service of [leader, standby]) expect((await service.request('GET', rules, withCookie)).status).toBe(200);

    const state = async (service: typeof leader, id: string) => {
      const { list } = (await service.read('/alarms')).body['data'] as unknown as {
        list: { id: string; state: string; count: number; acknowledged_by: unknown }[];
      };
      return list.find((alarm) => alarm.id === id);
    };
    const held = { value: 7, for_seconds: 600, reason: 'through a takeover' };
    const override = await standby.command('POST', '/points/1/action/1/override', held);
    const active = await waitFor(async () => {
      const alarm = await state(standby, 'override-active');
      return alarm?.state.startsWith('active') ? alarm : undefined;
    });
    const path = '/api/v1/automation/api/alarms/override-active/acknowledge';
    const acknowledged = await standby.request('POST', path, { ...withCookie, body: { confirmed: true } });
    expect(acknowledged.text).toContain('"id":"ada"');
    old.service.process.kill('SIGKILL');
    await waitFor(() => controls(next) || undefined, 20_000);
    await waitFor(async () => (await state(standby, 'engine-restarted'))?.state === 'active-unacknowledged', 20_000);
    expect(await state(standby, 'override-active')).toMatchObject({
      state: 'active-acknowledged',
      count: active.count,
    });
    // [alarms §2.2] The remaining machine raises the alarm until the other one is back.
    await waitFor(async () => (await state(standby, 'standby-missing'))?.state === 'active-unacknowledged', 20_000);

    const again = await old.start();
    await waitFor(async () => (await state(standby, 'standby-missing'))?.state === 'cleared-unacknowledged', 20_000);
    expect((await again.request('GET', rules, withCookie)).status).toBe(200);
    expect((await standby.request('DELETE', '/session', withCookie)).status).toBe(200);
    const endedMs = systemClock.monotonicMs();
    await waitFor(async () => (await again.request('GET', rules, withCookie)).status === 401);
    expect(systemClock.monotonicMs() - endedMs).toBeLessThan(5000);
    await standby.command('DELETE', `/overrides/${String(override.body['data']?.['override_id'])}`);
  }, 90_000);

  test('every replica answers for the engine, wherever it is: status, order, change', async () => {
    const { cluster, fast } = siteOf('kill');
    const leader = await cluster.leader();
    const standby = cluster.machines.find((machine) => machine !== leader);
    if (standby?.service === null || standby === undefined) throw new Error('no machine stands by');
    const { service } = standby;
    for (const machine of [leader, standby])
      expect((await machine.service?.request('GET', '/ready'))?.status, machine.name).toBe(200);
    expect((await service.read(`/rules/${fast}/status`)).body['data']).toMatchObject({ rule_id: fast, runnable: true });
    const ran = await service.command('POST', `/rules/${fast}/execute`);
    expect([ran.status, ran.body['data']?.['outcome']]).toEqual([200, 'acted']);
    expect((await service.read('/scheduler/status')).body['data']).toMatchObject({ running: true, enabled_rules: 2 });
    const changed = await service.command('PUT', `/rules/${fast}`, { flow_json: editorFlow('x > 10', 'x * 3') });
    expect(changed.status, changed.text).toBe(200);
    await waitFor(() => leader.device.holding.readFloatBE(200) === 150 || undefined);
  });

  test('[rules §2.3], [audit §3] two replicas that change one rule at once: every revision once, every other change a conflict', async () => {
    const { cluster } = siteOf('stop');
    await cluster.leader(30_000);
    const services = cluster.machines.flatMap(({ service }) => (service === null ? [] : [service]));
    const created = await services[0]?.command('POST', '/rules', { name: 'contended' });
    const id = Number(created?.body['data']?.['id']);
    const won: number[] = [];
    const writer = async (service: (typeof services)[number], name: string): Promise<void> => {
      for (let turn = 0; turn < 15; turn++) {
        const seen = Number((await service.read(`/rules/${id}`)).headers.get('etag')?.replaceAll('"', ''));
        const reply = await service.command('PUT', `/rules/${id}`, {
          name: `${name} ${turn}`,
          expected_revision: seen,
        });
        expect([200, 409]).toContain(reply.status);
        // Whoever saw a revision and won the race made the next one, and nobody else did.
        if (reply.status === 200) {
          expect(reply.headers.get('etag')).toBe(`"${seen + 1}"`);
          won.push(seen + 1);
        }
      }
    };
    await Promise.all(services.flatMap((service) => ['x', 'y'].map((name) => writer(service, name))));
    const last = Number((await services[0]?.read(`/rules/${id}`))?.headers.get('etag')?.replaceAll('"', ''));
    expect(won.toSorted((a, b) => a - b)).toEqual(Array.from({ length: last - 1 }, (_, index) => index + 2));
  }, 60_000);

  test.each(ways.map((way) => [way] as const))('[audit §6] the audit chain of all of them is unbroken (%s)', (way) => {
    const [machine] = siteOf(way).cluster.machines;
    if (machine === undefined) throw new Error('there is no machine');
    const verified = runCommand(
      'setpoint',
      ['audit', 'verify', '--json'],
      serviceEnvironment(machine.folders, { SVC_DATABASE_URL: postgres.url }),
    );
    expect(JSON.parse(verified.stdout), verified.stderr).toMatchObject({ chains: [{ first: 1, broken: null }] });
  });
});
