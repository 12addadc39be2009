/** Operations of a running service [platform §4.2]: metrics, the names that dashboards use, traces, backup and restore. */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { ownPort } from '../../src/testing/own-port.ts';
import { afterThisTest, folders, start } from './per-test.ts';
import { editorFlow, root, runCommand, serviceEnvironment, type TestService, waitFor } from './running-service.ts';

/** Metrics by their line without the value. */
async function scrape(service: TestService, headers: Record<string, string> = {}) {
  const answer = await fetch(`${service.base}/metrics`, { headers });
  const text = await answer.text();
  const values = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
  const names = new Set([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name ?? ''));
  return { status: answer.status, text, values, names };
}

describe('[platform §4.2] metrics', () => {
  test('count rules, audit and requests', async () => {
    const service = await start(folders());
    const { body } = await service.command('POST', '/rules', { name: 'Fill' });
    const id = String(body['data']?.['id']);
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow() });
    await service.command('POST', `/rules/${id}/execute`);
    await service.request('GET', '/api/v1/automation/api/rules', { token: 'wrong' });
    const { values } = await scrape(service);
    expect(values.get('setpoint_executions_total{outcome="skipped"}')).toBe(1);
    expect(values.get('setpoint_audit_appends_total{result="written"}')).toBe(6);
    expect(values.get('setpoint_audit_append_seconds_count')).toBe(6);
    expect(values.get('setpoint_authentication_failures_total')).toBe(1);
    expect(values.get('setpoint_rules{state="total"}')).toBe(1);
    expect(values.get('setpoint_device_channel_online{channel="derived",driver="virtual"}')).toBe(1);
    expect(
      values.get(
        'setpoint_http_requests_total{method="POST",route="/api/v1/automation/api/rules/:id/execute",status="200"}',
      ),
    ).toBe(1);
    expect(values.get('setpoint_scheduler_tick_lateness_seconds_bucket{le="+Inf"}')).toBeGreaterThan(0);
    await waitFor(
      async () => ((await scrape(service)).values.get('setpoint_scheduler_ticks_total') ?? 0) > 5 || undefined,
    );
  });

  test('answer loopback, or a token with a read role; a proxy is not loopback', async () => {
    const service = await start(folders());
    expect((await scrape(service)).status).toBe(200);
    const proxied = { 'x-forwarded-for': '192.0.2.7' };
    expect((await scrape(service, proxied)).status).toBe(401);
    const bearer = async (role: 'Viewer' | 'Admin') => ({ authorization: `Bearer ${await service.token(role)}` });
    expect((await scrape(service, { ...proxied, ...(await bearer('Viewer')) })).status).toBe(200);
    expect((await scrape(service, { ...proxied, authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await scrape(service, { authorization: 'Bearer wrong' })).status).toBe(401);
  });

  test('every metric that the dashboard and the alert rules name exists, with the labels that they use', async () => {
    const { names, text } = await scrape(await start(folders()));
    const dashboard = readFileSync(join(root, 'ops', 'grafana-dashboard.json'), 'utf8');
    const alerts = readFileSync(join(root, 'ops', 'prometheus-alerts.yaml'), 'utf8');
    const panels = (JSON.parse(dashboard) as { panels: { title: string; targets: { expr: string }[] }[] }).panels;
    const groups = (parse(alerts) as { groups: { rules: { alert: string; expr: string }[] }[] }).groups;
    const expressions = [
      ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
      ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)),
    ];
    expect(expressions.length).toBeGreaterThan(40);
    const missing = expressions.flatMap(([where, expr]) =>
      [...expr.matchAll(/\b((?:setpoint|process|nodejs)_[a-z0-9_]+)/g)]
        .map(([, name = '']) => name)
        .filter((name) => !names.has(name) && !names.has(name.replace(/_(bucket|sum|count)$/, '')))
        .map((name) => `${where}: ${name}`),
    );
    expect(missing).toEqual([]);
    for (const [, label = '', value = ''] of alerts.matchAll(/(outcome|result|state)="([a-z_-]+)"/g))
      expect(text).toContain(`${label}="${value}"`);
  });
});

describe('[platform §4.2] traces', () => {
  test('one span a request under the caller’s trace, and the audit event names the trace; nothing without OTEL_*', async () => {
    const received: string[] = [];
    const collector = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (chunk: string) => received.push(chunk));
      request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
    });
    await new Promise<void>((resolve) => void collector.listen(0, '127.0.0.1', resolve));
    afterThisTest(() => collector.close());
    const of = folders();
    const { port } = collector.address() as AddressInfo;
    const service = await start(of, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    });
    const traceId = 'a1b2c3d4e5f60718293a4b5c6d7e8f90';
    await service.request('POST', '/api/v1/automation/api/rules', {
      body: { name: 'traced', confirmed: true },
      headers: { 'x-svc-confirmed': 'true', traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    });
    const text = await waitFor(() => {
      const all = received.join('');
      return all.includes('POST /api/v1/automation/api/rules') && all.includes(traceId) ? all : undefined;
    }, 20_000);
    expect(text).toContain('"00f067aa0ba902b7"');
    expect(text).not.toContain(await service.token('Engineer'));
    const events = await service.request('GET', '/api/v1/audit/events', { token: await service.token('Admin') });
    expect(events.body['items']).toMatchObject([{ traceId }, { traceId }]);
  });

  test('an unreachable collector delays neither the service nor its shutdown', async () => {
    const nobody = await ownPort();
    const service = await start(folders(), { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${nobody}` });
    expect((await service.read('/rules')).status).toBe(200);
    const began = Date.now();
    expect(await service.stop()).toBe(0);
    expect(Date.now() - began).toBeLessThan(10_000);
  });
});

describe('[platform §4.4] backup and restore', () => {
  test('taken under load, it restores to a site that continues, with an audit trail that verifies', async () => {
    const of = folders();
    const service = await start(of);
    const made: unknown[] = [];
    const enough = new AbortController();
    const load = (async () => {
      for (let n = 0; !enough.signal.aborted; n++)
        made.push((await service.command('POST', '/rules', { name: `rule ${n}` })).status);
    })();
    await waitFor(() => made.length > 20 || undefined);
    const place = join(of.config, 'backup');
    const env = serviceEnvironment(of);
    const saved = runCommand('setpoint', ['backup', place, '--json'], env);
    const later = made.length;
    await waitFor(() => made.length > later + 5 || undefined);
    enough.abort();
    await load;
    expect([saved.status, saved.stderr]).toEqual([0, '']);
    expect(new Set(made)).toEqual(new Set([200]));
    const names = (JSON.parse(saved.stdout) as { files: { name: string }[] }).files.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'site.sqlite',
        'runtime.sqlite',
        'history.sqlite',
        'signing-key.pem',
        'audit-key.pem',
        'scope.json',
      ]),
    );
    const token = await service.token('Engineer');
    await service.stop();

    const elsewhere = { ...folders(), remove: () => undefined };
    const restoreEnv = serviceEnvironment(elsewhere);
    mkdirSync(elsewhere.data, { recursive: true });
    writeFileSync(join(elsewhere.data, 'something'), '');
    const refused = runCommand('setpoint', ['restore', place], restoreEnv);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringMatching(/^setpoint: .* is not empty.*\n$/)]);
    expect(readdirSync(elsewhere.data)).toEqual(['something']);
    const empty = { ...elsewhere, data: join(elsewhere.config, 'restored') };
    mkdirSync(join(empty.data, '.restoring'), { recursive: true });
    const unfinished = runCommand('serve', [], serviceEnvironment(empty));
    expect([unfinished.status, unfinished.stderr]).toEqual([
      1,
      expect.stringMatching(/^setpoint: .* is incomplete.*\n$/),
    ]);
    const restored = runCommand('setpoint', ['restore', place], serviceEnvironment(empty));
    expect([restored.status, restored.stderr]).toEqual([0, '']);
    const verified = runCommand('setpoint', ['audit', 'verify', '--json'], serviceEnvironment(empty));
    expect(JSON.parse(verified.stdout)).toMatchObject({ good: true });
    const last = runCommand('setpoint', ['audit', 'export'], serviceEnvironment(empty))
      .stdout.trim()
      .split('\n')
      .at(-2);
    expect(JSON.parse(last ?? '')).toMatchObject({
      action: 'platform.storage.restore',
      details: expect.stringMatching(/"backup":.*"os_user":".* \(uid \d+\)"/),
    });

    const again = await start(empty);
    const { total } = (await again.request('GET', '/api/v1/automation/api/rules', { token })).body['data'] ?? {};
    expect(Number(total)).toBeGreaterThan(20);
    const next = await again.command('POST', '/rules', { name: 'continues' });
    expect(next.status).toBe(200);
    await again.stop();
    expect(runCommand('setpoint', ['audit', 'verify'], serviceEnvironment(empty)).status).toBe(0);
  }, 120_000);

  test('a damaged one is refused with one line, and nothing is restored', async () => {
    const of = folders();
    await (await start(of)).stop();
    const env = serviceEnvironment(of);
    const place = join(of.config, 'backup');
    expect(runCommand('setpoint', ['backup', place], env).status).toBe(0);
    expect(runCommand('setpoint', ['backup', place], env)).toMatchObject({ status: 1, stdout: '' });
    expect(runCommand('setpoint', ['backup', join(of.data, 'inside')], env).status).toBe(1);
    expect(statSync(join(place, 'signing-key.pem')).mode & 0o777).toBe(0o600);
    writeFileSync(join(place, 'scope.json'), '{}');
    const empty = { ...of, data: join(of.config, 'restored') };
    const result = runCommand('setpoint', ['restore', place], serviceEnvironment(empty));
    expect([result.status, result.stderr]).toEqual([
      1,
      'setpoint: the backup is damaged: scope.json does not match its digest\n',
    ]);
    expect(existsSync(empty.data)).toBe(false);
    expect(runCommand('setpoint', ['restore', '--check', place], env).status).toBe(1);
  }, 60_000);

  test('those of one folder are named by their time, the newest stay; the alarm `backup-overdue` ends with the first', async () => {
    const of = folders();
    const limits = 'alarms: { interval_ms: 100, probe_interval_ms: 1000, backup_overdue_ms: 3600000 }';
    writeFileSync(join(of.config, 'service.yaml'), limits);
    const service = await start(of);
    const overdue = (state: string) =>
      waitFor(async () => {
        const { list } = (await service.read('/alarms')).body['data'] as unknown as {
          list: { id: string; state: string; message: string }[];
        };
        return list.find((alarm) => alarm.id === 'backup-overdue' && alarm.state === state);
      });
    expect((await overdue('active-unacknowledged')).message).toContain('No backup of the data directory is known.');
    const place = join(of.config, 'backups');
    mkdirSync(join(place, '20200101T000000Z'), { recursive: true });
    const backUp = (keep: string) => runCommand('setpoint', ['backup', place, '--keep', keep], serviceEnvironment(of));
    expect(backUp('0')).toMatchObject({ status: 2, stderr: expect.stringContaining('Give 1 or more;') });
    const saved: string[] = [];
    for (const removed of [0, 0, 1]) {
      const { stdout } = backUp('2');
      expect(stdout).toMatch(new RegExp(`; audit verification passed; ${removed} older backups? removed\\n$`));
      saved.push(/backups\/(\d{8}T\d{6}Z): /.exec(stdout)?.[1] ?? stdout);
      // Two of one second would have the same name.
      await sleep(systemClock, 1000);
    }
    expect(readdirSync(place).toSorted()).toEqual(saved.slice(1));
    await overdue('cleared-unacknowledged');
    // One that fails leaves nothing and removes nothing.
    writeFileSync(join(of.data, 'of-another-program.sqlite'), 'not a database');
    expect(backUp('1')).toMatchObject({ status: 1, stderr: expect.stringContaining('of-another-program.sqlite') });
    expect(readdirSync(place).toSorted()).toEqual(saved.slice(1));
    await service.stop();
  }, 60_000);
});
