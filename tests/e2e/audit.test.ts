/** The audit trail of a running service, and its two commands [audit §6], [platform §7]. */
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { tamperAt } from '../../src/testing/audit-trail.ts';
import { engines } from '../../src/testing/engines.ts';
import { folders, start, storedOn } from './per-test.ts';
import { runCommand, serviceEnvironment, type TestFolders, type TestService } from './running-service.ts';
import type { SiteStorage } from './storage-on.ts';

const addRules = async (service: TestService, count: number): Promise<void> => {
  for (let index = 0; index < count; index++) await service.command('POST', '/rules', { name: `rule ${index}` });
};

const auditIn = (of: TestFolders, env: SiteStorage['env'], ...args: string[]) =>
  runCommand('setpoint', ['audit', ...args], serviceEnvironment(of, env));

describe.each(engines)('setpoint audit on %s', (engine) => {
  let of: TestFolders;
  let storage: SiteStorage;
  beforeEach(async () => {
    ({ of, storage } = await storedOn(engine));
  });
  const audit = (...args: string[]) => auditIn(of, storage.env, ...args);

  test('verify beside a running service: unbroken, with the uncovered events', async () => {
    const service = await start(of, storage.env);
    await addRules(service, 5);
    const answer = audit('verify');
    expect([answer.status, answer.stderr]).toEqual([0, '']);
    expect(answer.stdout).toContain('1 to 10: 10 events');
    expect(answer.stdout).toContain('checkpoints of the data dir reach 0; not covered yet: 10 events, 1 to 10');
    expect(answer.stdout).toContain('no anchor given');
    const brief = audit('verify', '--no-details');
    expect([brief.status, brief.stdout]).toEqual([
      0,
      expect.stringContaining('1 to 10: 10 events, details not checked'),
    ]);
  });

  test('a clean stop leaves a checkpoint in the file and in the log, signed with its own key, owner only', async () => {
    const service = await start(of, storage.env);
    await addRules(service, 3);
    await service.request('GET', '/api/v1/audit/events', { token: await service.token('Admin') });
    expect(await service.stop()).toBe(0);
    const lines = readFileSync(join(of.data, 'audit-checkpoints.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { schema: 'svc.audit-checkpoint.v2', log: 'events', sequence: '6' },
      { schema: 'svc.audit-checkpoint.v2', log: 'access', sequence: '1' },
    ]);
    for (const line of lines) expect(service.logs()).toContain(line);
    for (const name of ['audit-key.pem', 'audit-checkpoints.jsonl'])
      expect(statSync(join(of.data, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(of.data, 'audit-key.pem'), 'utf8')).not.toBe(
      readFileSync(join(of.data, 'signing-key.pem'), 'utf8'),
    );
    expect(JSON.parse(audit('verify', '--json').stdout)).toMatchObject({
      good: true,
      problems: [],
      chains: [
        { owner: { log: 'access' }, last: 1, coveredLocally: 1 },
        { owner: { log: 'events' }, last: 6, coveredLocally: 6, details: 6 },
      ],
    });
  });

  test('an edited byte is named, beside the running service', async () => {
    const service = await start(of, storage.env);
    await addRules(service, 4);
    await tamperAt(storage.site, `UPDATE audit_event SET subject_id = 'eve' WHERE sequence = 6`);
    const answer = audit('verify');
    expect([answer.status, answer.stdout]).toEqual([1, expect.stringContaining('BROKEN at sequence 6 (edited)')]);
  });

  test('an export verifies without the database; an edited one does not', async () => {
    const service = await start(of, storage.env);
    await addRules(service, 3);
    // Readers that split lines as Unicode does would end one here.
    await service.command('POST', '/rules', { name: 'rule\u2028four' });
    await service.stop();
    const exported = audit('export');
    expect([exported.status, exported.stderr]).toEqual([0, '']);
    const file = join(of.config, 'export.jsonl');
    writeFileSync(file, exported.stdout);
    const elsewhere = { ...folders(), data: join(of.config, 'nowhere') };
    const verified = auditIn(elsewhere, {}, 'verify', '--file', file, '--json');
    expect([verified.status, verified.stderr]).toEqual([0, '']);
    expect(JSON.parse(verified.stdout)).toMatchObject({
      good: true,
      chains: [{ last: 8, coveredLocally: 8, details: 8 }],
    });
    const told = auditIn(elsewhere, {}, 'verify', '--file', file).stdout;
    expect(told).toContain('checkpoints of the export reach 8; not covered yet: nothing');
    expect(told).toContain('anyone who can write to the export could have rewritten all of it');
    writeFileSync(file, exported.stdout.replace('rule 2', 'rule X'));
    const edited = auditIn(elsewhere, {}, 'verify', '--file', file);
    expect([edited.status, edited.stdout]).toEqual([1, expect.stringContaining('BROKEN at sequence 5 (details)')]);
    expect(auditIn(elsewhere, {}, 'verify').stderr).toMatch(/no site database/);
  });
});

test('setpoint audit with an anchor kept elsewhere: the tail that it does not cover, a cut, an older copy put back', async () => {
  const of = folders();
  const audit = (...args: string[]) => auditIn(of, {}, ...args);
  const database = join(of.data, 'site.sqlite');
  const older = join(of.config, 'older.sqlite');
  let service = await start(of);
  await addRules(service, 3);
  await service.stop();
  copyFileSync(database, older);
  service = await start(of);
  await addRules(service, 2);
  await service.stop();
  const anchor = join(of.config, 'anchor.jsonl');
  copyFileSync(join(of.data, 'audit-checkpoints.jsonl'), anchor);
  service = await start(of);
  await addRules(service, 1);
  await service.stop();
  const good = audit('verify', '--anchor', anchor);
  expect(good.status, good.stdout).toBe(0);
  expect(good.stdout).toContain('the anchor reaches 10; not covered by it: 2 events, 11 to 12');
  const { key } = JSON.parse(readFileSync(anchor, 'utf8').split('\n')[0] ?? '') as { key: string };
  for (const believed of [key, ...audit('key').stdout.trim().split('\n')])
    expect(audit('verify', '--anchor', anchor, '--key', believed).status, believed).toBe(0);
  const foreign = audit('verify', '--key', Buffer.alloc(32, 7).toString('base64url'));
  expect([foreign.status, foreign.stdout]).toEqual([1, expect.stringContaining('signed with another key')]);
  for (const noKey of ['', key.slice(1), `${key}=`, 'audit-key.pem'])
    expect(audit('verify', '--key', noKey)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--key must be the key of a log'),
    });

  await tamperAt(
    database,
    `DELETE FROM audit_details WHERE sequence > 9; DELETE FROM audit_event WHERE sequence > 9;
      UPDATE audit_chain SET sequence = 9, hash = (SELECT hash FROM audit_event WHERE sequence = 9)`,
  );
  const cut = audit('verify', '--anchor', anchor);
  expect([cut.status, cut.stdout]).toEqual([1, expect.stringContaining('BROKEN at sequence 10 (cut)')]);
  copyFileSync(older, database);
  const replaced = audit('verify', '--anchor', anchor);
  expect([replaced.status, replaced.stdout]).toEqual([1, expect.stringContaining('BROKEN at sequence 7 (cut)')]);
  expect(audit('verify', '--anchor', join(of.config, 'none')).status).toBe(1);
});

test('[identity §3], [audit §4] an opaque token opens the audit of its tenant and project, in a real process', async () => {
  const token = 'an-opaque-token-of-32-characters-or-more';
  const service = await start(folders(), {
    SVC_CLOUD_API_BEARER_TOKEN: token,
    SVC_CLOUD_API_TENANT_ID: 'tenant-1',
    SVC_CLOUD_API_PROJECT_ID: 'project-1',
    SVC_CLOUD_API_SUBJECT_ID: 'auditor',
    SVC_CLOUD_API_PERMISSIONS: 'audit.event.read',
  });
  await addRules(service, 2);
  const viewer = await service.request('POST', '/api/v1/automation/api/rules', {
    token: await service.token('Viewer'),
    body: { name: 'refused' },
  });
  expect(viewer.status).toBe(403);
  const page = await service.request('GET', '/api/v1/audit/events?limit=3', { token });
  expect(page.status).toBe(200);
  expect(page.body['items']).toMatchObject([
    { sequence: '5', outcome: 'denied', subject: { kind: 'user', subjectId: 'tester' } },
    { sequence: '4', outcome: 'succeeded' },
    { sequence: '3', outcome: 'accepted', action: 'automation.rule.create', confirmation: 'explicit' },
  ]);
  expect(page.body['nextCursor']).toBe('3');
});
