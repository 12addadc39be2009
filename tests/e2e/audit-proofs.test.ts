/** Proofs of the audit as outsiders check them [audit §9]: receipts, a witness in another process, offline verification, breaks. */
import { spawn } from 'node:child_process';
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tamperAt } from '../../src/testing/audit-trail.ts';
import { engines } from '../../src/testing/engines.ts';
import { afterThisTest, folders, start, storedOn } from './per-test.ts';
import {
  programFile,
  type Reply,
  runCommand,
  serviceEnvironment,
  type TestFolders,
  type TestService,
  waitFor,
} from './running-service.ts';

const run = (of: TestFolders, env: Readonly<Record<string, string>>, ...args: string[]) =>
  runCommand('setpoint', args, serviceEnvironment(of, env));

const addRule = (service: TestService, name: string): Promise<Reply> => service.command('POST', '/rules', { name });

const receiptOf = ({ headers }: Reply): { sequence: string; hash: string } => ({
  sequence: headers.get('x-svc-audit-sequence') ?? '',
  hash: headers.get('x-svc-audit-hash') ?? '',
});

/** A witness in its own process; resolves with its key and its address. */
async function startWitness(of: TestFolders, logs: readonly string[]): Promise<{ vkey: string; url: string }> {
  const args = [
    'witness',
    '--listen',
    '127.0.0.1:0',
    '--state',
    join(of.config, 'witness.json'),
    '--name',
    'auditor.example',
  ];
  const child = spawn(process.execPath, [programFile('setpoint'), ...args, '--log', ...logs], {
    env: serviceEnvironment(of),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  afterThisTest(() => child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const port = await waitFor(() => /listening on 127\.0\.0\.1:(\d+)/.exec(output)?.[1]);
  return { vkey: /^witness (\S+)$/m.exec(output)?.[1] ?? '', url: `http://127.0.0.1:${port}` };
}

const askReady = async (service: TestService) => {
  const { status, text } = await service.request('GET', '/ready', { token: null });
  return { status, audit: /"audit":"(\w+)"/.exec(text)?.[1] };
};

describe.each(engines)('audit proofs of a running service on %s', (engine) => {
  test('[audit §9.5] a receipt leads to a proof that others check with the key alone', async () => {
    const { of, storage } = await storedOn(engine);
    const service = await start(of, storage.env);
    const created = receiptOf(await addRule(service, 'one'));
    expect(created).toMatchObject({ sequence: '1', hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    // Refused after it was accepted: there is a record, so there is a receipt.
    const missing = receiptOf(await service.command('PUT', '/rules/999', { name: 'x' }));
    expect(missing.hash).toMatch(/^[0-9a-f]{64}$/);
    const token = await service.token('Admin');
    const proof = await service.request('GET', `/api/v1/audit/events/${created.sequence}/proof`, { token });
    expect([proof.status, proof.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const keys = run(of, storage.env, 'audit', 'key').stdout.trim().split('\n');
    expect(keys[0]).toMatch(/^setpoint\/[^+]+\/events\+[0-9a-f]{8}\+/);
    const file = join(of.config, 'proof.txt');
    writeFileSync(file, proof.text);
    // Nothing of the site is available here.
    const elsewhere = { ...of, data: join(of.config, 'nowhere') };
    const check = (...more: string[]) =>
      run(elsewhere, {}, 'audit', 'verify-proof', file, '--key', keys[0] ?? '', ...more);
    const good = check('--hash', created.hash);
    expect([good.status, good.stderr]).toEqual([0, '']);
    expect(good.stdout).toContain('"action": "automation.rule.create"');
    const other = check('--hash', missing.hash);
    expect([other.status, other.stderr]).toEqual([1, expect.stringContaining('not the one asked for')]);
    writeFileSync(file, proof.text.replace('index 0', 'index 1'));
    expect(check().status).toBe(1);
    const unread = await service.request('GET', '/api/v1/audit/events?action=audit.event.proof', { token });
    expect(unread.body['items']).toEqual([]);
    for (const [path, role, status] of [
      ['/api/v1/audit/events/99999/proof', 'Admin', 404],
      ['/api/v1/audit/events/1/proof', 'Viewer', 403],
      ['/api/v1/audit/events/1/proof?x=1', 'Admin', 400],
      ['/api/v1/audit/events/01/proof', 'Admin', 400],
      ['/api/v1/audit/consistency?from=1&from=2', 'Admin', 400],
      ['/api/v1/audit/consistency', 'Admin', 400],
      ['/api/v1/audit/checkpoint?log=other', 'Admin', 400],
      ['/api/v1/audit/checkpoint?log=access', 'Admin', 404],
    ] as const)
      expect([path, (await service.request('GET', path, { token: await service.token(role) })).status]).toEqual([
        path,
        status,
      ]);
  });
});

test('[audit §9.6] a witness elsewhere: cosigned heads, an older copy put back, a break that is acknowledged', {
  timeout: 120_000,
}, async () => {
  const of = folders();
  let service = await start(of);
  await addRule(service, 'one');
  await service.stop();
  const keys = run(of, {}, 'audit', 'key').stdout.trim().split('\n');
  const witness = await startWitness(of, keys);
  of.write(
    'service.yaml',
    `audit:\n  checkpoint_interval_ms: 1000\n  checkpoint_max_age_ms: 1000\n  witnesses:\n    - url: ${witness.url}\n      vkey: ${witness.vkey}\n  witness_policy:\n    required: 1\n`,
  );
  service = await start(of);
  const receipt = receiptOf(await addRule(service, 'two'));
  const environment = { SVC_BASE_URL: service.base, SVC_ACCESS_TOKEN: await service.token('Admin') };
  const proof = run(of, environment, 'audit', 'proof', receipt.sequence);
  expect([proof.status, proof.stderr]).toEqual([0, '']);
  const file = join(of.config, 'proof.txt');
  writeFileSync(file, proof.stdout);
  const verified = run(
    of,
    {},
    'audit',
    'verify-proof',
    file,
    '--key',
    keys[0] ?? '',
    '--witness',
    witness.vkey,
    '--hash',
    receipt.hash,
  );
  expect([verified.status, verified.stderr]).toEqual([0, '']);
  expect(verified.stdout).toContain('cosigned by auditor.example at 20');
  const older = join(of.config, 'older');
  await service.stop();
  cpSync(of.data, older, { recursive: true });
  service = await start(of);
  await addRule(service, 'three');
  await addRule(service, 'four');
  await service.stop();
  // The auditor's file: a proof, whose checkpoint also serves as an anchor.
  const whole = run(of, {}, 'audit', 'verify', '--anchor', file, '--witness', witness.vkey);
  expect([whole.status, whole.stderr, whole.stdout]).toEqual([0, '', expect.stringContaining('unbroken')]);
  // The same with an export; both miss a witness that cosigned nothing.
  const taken = join(of.config, 'export.jsonl');
  writeFileSync(taken, run(of, {}, 'audit', 'export').stdout);
  const another = (await startWitness(folders(), keys)).vkey;
  for (const from of [[], ['--file', taken]]) {
    const held = run(of, {}, 'audit', 'verify', ...from, '--witness', witness.vkey);
    expect([held.status, held.stderr, held.stdout]).toEqual([0, '', expect.stringContaining('unbroken')]);
    const missed = run(of, {}, 'audit', 'verify', ...from, '--witness', another);
    expect([missed.status, missed.stdout]).toEqual([1, expect.stringMatching(/PROBLEM: no head of .* is cosigned by/)]);
  }

  rmSync(of.data, { recursive: true });
  cpSync(older, of.data, { recursive: true });
  service = await start(of);
  await waitFor(async () => (await askReady(service)).audit === 'broken', 15_000);
  expect(await askReady(service)).toMatchObject({ status: 503, audit: 'broken' });
  expect(service.logs()).toContain('an older copy was put back');
  const metrics = await (await fetch(`${service.base}/metrics`)).text();
  expect(metrics).toMatch(/^setpoint_audit_broken 1$/m);
  const unsaid = run(of, {}, 'audit', 'acknowledge-break', '--reason', 'restored from a backup', '--log', 'events');
  expect([unsaid.status, unsaid.stderr]).toEqual([2, expect.stringContaining('This would begin events of')]);
  const said = run(
    of,
    {},
    'audit',
    'acknowledge-break',
    '--reason',
    'restored from a backup',
    '--log',
    'events',
    '--confirmed',
  );
  expect([said.status, said.stdout]).toEqual([
    0,
    expect.stringMatching(/events of .* goes on as .*\/events\/2 from sequence \d+/),
  ]);
  // The log has another name now, and is otherwise in order.
  await waitFor(async () => (await askReady(service)).status === 200, 20_000);
  await service.stop();
  expect(run(of, {}, 'audit', 'verify').status).toBe(0);
  expect(run(of, {}, 'audit', 'key').stdout).toContain('/events/2+');
});

test('[audit §7] /ready shows a broken chain, and the verification a rule that was edited in the database', async () => {
  const of = folders();
  let service = await start(of);
  await addRule(service, 'one');
  await service.command('POST', '/rules/1/enable');
  await addRule(service, 'two');
  await service.stop();
  expect(run(of, {}, 'audit', 'verify').status).toBe(0);
  const database = join(of.data, 'site.sqlite');
  await tamperAt(database, 'UPDATE rules SET priority = 9 WHERE id = 2');
  const edited = run(of, {}, 'audit', 'verify');
  expect([edited.status, edited.stdout]).toEqual([
    1,
    expect.stringContaining('rule 2 was edited in the database: priority'),
  ]);
  await tamperAt(database, 'UPDATE rules SET priority = 0 WHERE id = 2');
  service = await start(of);
  const { sequence } = receiptOf(await addRule(service, 'three'));
  await tamperAt(
    database,
    `UPDATE audit_event SET subject_id = 'eve' WHERE sequence = (SELECT max(sequence) FROM audit_event)`,
  );
  // No checkpoint covers the event yet; the request for its proof makes one, which finds the edit.
  const token = await service.token('Admin');
  const proof = await service.request('GET', `/api/v1/audit/events/${sequence}/proof`, { token });
  expect(proof.status).toBe(503);
  expect(await askReady(service)).toMatchObject({ status: 503, audit: 'broken' });
  // Control and everything else continue; once a person confirms, so do checkpoints.
  expect((await addRule(service, 'four')).status).toBe(200);
  const said = run(of, {}, 'audit', 'acknowledge-break', '--reason', 'an experiment', '--confirmed', '--json');
  expect([said.status, said.stderr]).toEqual([0, '']);
  const named = { log: expect.stringContaining('events of'), origin: expect.stringMatching(/\/events\/2$/) };
  expect(JSON.parse(said.stdout)).toEqual([{ ...named, sequence: expect.stringMatching(/^\d+$/) }]);
  await waitFor(async () => (await askReady(service)).status === 200, 20_000);
  await addRule(service, 'five');
  await service.stop();
  const verified = run(of, {}, 'audit', 'verify');
  expect([verified.status, verified.stdout]).toEqual([
    0,
    expect.stringMatching(/broken at sequence \d+ \(edited\).*\n.*acknowledged by event/),
  ]);
});

test('[audit §7] a torn last line is repaired at the start, wherever it was torn; a missing key stops it', {
  timeout: 180_000,
}, async () => {
  const of = folders();
  const service = await start(of);
  await addRule(service, 'one');
  await service.stop();
  const file = join(of.data, 'audit-checkpoints.jsonl');
  const bytes = readFileSync(file).length;
  truncateSync(file, bytes - 40);
  const again = await start(of);
  await waitFor(() => again.logs().includes('removed an incomplete last line'));
  await again.stop();
  const verified = run(of, {}, 'audit', 'verify');
  expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining('unbroken')]);
  rmSync(join(of.data, 'audit-key.pem'));
  await expect(start(of)).rejects.toThrow(/audit-key\.pem is missing beside audit-checkpoints\.jsonl/);
});
