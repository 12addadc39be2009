/** Single ordinary faults leave the site under control (decisions §6): each was once enough to end it. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { feedFlow, startTestService, type TestService, testFolders, virtualSite, waitFor } from './running-service.ts';

const cooldownMsMax = 31_622_400_000;

async function newRule(
  service: TestService,
  name: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<number> {
  const id = Number((await service.command('POST', '/rules', { name })).body['data']?.['id']);
  const stored = await service.command('PUT', `/rules/${id}`, changes);
  expect(stored.status, stored.text).toBe(200);
  await service.command('POST', `/rules/${id}/enable`);
  return id;
}

test('§6 a cooldown is bounded, and a stored one of 2^53-1 ms answers every question while the engine goes on', async () => {
  const folders = testFolders(virtualSite);
  let service = await startTestService(folders);
  const id = await newRule(service, 'pump', { flow_json: feedFlow(), cooldown_ms: cooldownMsMax });
  const refused = await service.command('PUT', `/rules/${id}`, { cooldown_ms: cooldownMsMax + 1 });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('cooldown_ms');
  await waitFor(async () => (await service.read(`/rules/${id}/status`)).body['data']?.['last_run'] ?? undefined);
  expect(await service.stop()).toBe(0);

  const database = new DatabaseSync(join(folders.data, 'site.sqlite'));
  database.prepare('UPDATE rules SET cooldown_ms = ?, revision = revision + 1').run(BigInt(Number.MAX_SAFE_INTEGER));
  database.close();
  service = await startTestService(folders);
  try {
    for (let asked = 0; asked < 10; asked++) {
      const status = await service.read(`/rules/${id}/status`);
      expect(status.status, status.text).toBe(200);
      expect(status.body['data']).toMatchObject({ state: 'cooldown', cooldown_until: '9999-12-31T23:59:59.999Z' });
      expect((await service.read('/rules?include=status')).status).toBe(200);
    }
    expect((await service.read(`/rules/${id}`)).body['data']?.['cooldown_ms']).toBe(Number.MAX_SAFE_INTEGER);
    expect((await service.command('PUT', `/rules/${id}`, { description: 'still editable' })).status).toBe(200);
    expect((await service.read('/scheduler/status')).body['data']).toMatchObject({ running: true, restarts: 0 });
  } finally {
    await service.stop();
    folders.remove();
  }
});
