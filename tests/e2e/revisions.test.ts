/** Revisions over HTTP [rules §1.4], [rules §1.5], [rules §2.8]: listed, compared, restored, on both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engines } from '../../src/testing/engines.ts';
import {
  editorFlow,
  startTestService,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';
import { type SiteStorage, storageOn } from './storage-on.ts';

describe.each(engines)('revisions on %s', (engine) => {
  let service: TestService;
  let storage: SiteStorage;
  beforeAll(async () => {
    const of = testFolders(virtualSite);
    storage = await storageOn(engine, of);
    service = await startTestService(of, storage.env);
  });
  afterAll(async () => {
    await service.stop();
    await storage.remove();
    service.folders.remove();
  });

  const made = async (body: Readonly<Record<string, unknown>>): Promise<number> => {
    const id = Number((await service.command('POST', '/rules', { name: 'r' })).body['data']?.['id']);
    const updated = await service.command('PUT', `/rules/${id}`, body);
    expect(updated.status, updated.text).toBe(200);
    return id;
  };
  const data = async (path: string) => (await service.read(path)).body['data'] as Record<string, never>;

  test('the difference of a flow names the field, the actuator, and the rule in words', async () => {
    const id = await made({ flow_json: editorFlow() });
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 12'), reason: 'too early' });
    expect(await data(`/rules/${id}/diff?from=2&to=3`)).toEqual({
      classes: ['expression'],
      settings: [],
      nodes: {
        added: [],
        removed: [],
        changed: [
          {
            id: 'decide',
            label: null,
            fields: [{ path: '/data/config/branches/0/when', before: 'x > 10', after: 'x > 12' }],
          },
        ],
      },
      wires: { added: [], removed: [] },
      actuators: [{ instance: 1, point: 1, change: 'condition' }],
      sentence: {
        before: 'Every second, with x (tank · level): if x > 10, set tank · pump to 5 kW.',
        after: 'Every second, with x (tank · level): if x > 12, set tank · pump to 5 kW.',
      },
    });
    const draft = { flow_json: editorFlow('x > 12', 6), priority: 4 };
    const reply = await service.request('POST', `/api/v1/automation/api/rules/${id}/diff`, { body: draft });
    expect(reply.body['data']).toMatchObject({
      classes: ['settings', 'expression'],
      settings: [{ field: 'priority', before: 0, after: 4 }],
      actuators: [{ instance: 1, point: 1, change: 'value' }],
    });
    const broken = await service.request('POST', `/api/v1/automation/api/rules/${id}/diff`, {
      body: { flow_json: editorFlow('x >') },
    });
    expect([broken.status, broken.body['error']?.['code']]).toEqual([422, 'invalid-flow']);
    expect((await data(`/rules/${id}`))['revision']).toBe(3);
  });

  test('a page of revisions, their limits, and the past content, also of a deleted rule', async () => {
    const id = await made({ flow_json: editorFlow() });
    const old = await data(`/rules/${id}`);
    for (let priority = 1; priority <= 3; priority++)
      await service.command('PUT', `/rules/${id}`, { priority, reason: `${priority}` });
    await service.command('DELETE', `/rules/${id}`, { reason: 'not needed' });
    const page = await data(`/rules/${id}/revisions?limit=2`);
    expect(page).toMatchObject({
      next_before: 5,
      list: [
        { revision: 6, action: 'automation.rule.delete', reason: 'not needed', author: { kind: 'user' } },
        { revision: 5, action: 'automation.rule.update', reason: '3' },
      ],
    });
    const rest = await data(`/rules/${id}/revisions?before=5&limit=100`);
    expect(rest).toMatchObject({ next_before: null, list: [{ revision: 4 }, { revision: 3 }, { revision: 2 }, {}] });
    const { document, correlation_id: correlation } = await data(`/rules/${id}/revisions/2`);
    expect(document).toEqual(old);
    const auditor = `Bearer ${await service.token('Admin')}`;
    const events = await service.request('GET', '/api/v1/audit/events?limit=100', {
      headers: { authorization: auditor },
    });
    expect(events.text).toContain(String(correlation));
    const asked = async (path: string): Promise<number> => (await service.read(path)).status;
    expect(await asked(`/rules/${id}/revisions?limit=101`)).toBe(400);
    expect(await asked(`/rules/${id}/revisions/7`)).toBe(404);
    expect(await asked('/rules/4711/revisions')).toBe(404);
    expect(await asked('/rules/9007199254740991/revisions?before=2')).toBe(404);
    expect(await asked(`/rules/${id}/revisions?before=1`)).toBe(200);
    // Above the safe integers an id would be rounded, and might become another rule's.
    expect(await asked('/rules/9007199254740992/revisions?before=2')).toBe(400);
    expect(await asked(`/rules/${id}/diff?from=1&to=7`)).toBe(404);
  });

  test('restoring gives the same bytes and leaves the rule enabled; a deleted rule returns disabled', async () => {
    const id = await made({ flow_json: editorFlow(), trigger_config: { type: 'interval', interval_ms: 50 } });
    const first = await service.read(`/rules/${id}`);
    await service.command('POST', `/rules/${id}/enable`, { reason: 'go' });
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 12'), trigger_config: null });
    const stale = await service.command('POST', `/rules/${id}/restore`, { revision: 2, expected_revision: 3 });
    expect([stale.status, stale.body['error']?.['code']]).toEqual([409, 'revision-conflict']);
    const restored = await service.command('POST', `/rules/${id}/restore`, { revision: 2, reason: 'back' });
    expect(restored.body['data']).toEqual({ id, status: 'restored', revision: 5, enabled: true, warnings: [] });
    const documents = (text: string): string =>
      text.slice(text.indexOf('"trigger_config"'), text.indexOf('"revision"'));
    expect(documents((await service.read(`/rules/${id}`)).text)).toBe(documents(first.text));
    expect((await data(`/rules/${id}/diff?from=2&to=5`))['classes']).toEqual([]);
    // The engine runs the restored revision.
    await waitFor(async () => (await service.read(`/rules/${id}/history?limit=1`)).text.includes('"rule_revision":5'));
    await service.command('DELETE', `/rules/${id}`);
    const back = await service.command('POST', `/rules/${id}/restore`, { revision: 5 });
    expect(back.body['data']).toMatchObject({ id, revision: 7, enabled: false });
    const missing = await service.command('POST', `/rules/${id}/restore`, { revision: 9 });
    expect(missing.status).toBe(404);
    const unsaid = await service.command('PUT', `/rules/${id}`, { reason: 'nothing else' });
    expect(unsaid.status).toBe(400);
  });

  test('a live revision of a rule in shadow: restoring it warns that the rule commands from now on', async () => {
    const id = await made({ flow_json: editorFlow() });
    await service.command('POST', `/rules/${id}/enable`);
    await service.command('POST', `/rules/${id}/enable`, { mode: 'shadow' });
    const { body } = await service.command('POST', `/rules/${id}/restore`, { revision: 3 });
    expect(body['data']).toMatchObject({ status: 'restored', enabled: true, warnings: [{ code: 'now-live' }] });
    expect(await data(`/rules/${id}`)).toMatchObject({ mode: 'live', enabled: true });
    // Of a live rule there is nothing to warn of.
    const again = await service.command('POST', `/rules/${id}/restore`, { revision: 3 });
    expect(again.body['data']).toMatchObject({ warnings: [] });
  });

  test('a reason has at most 500 characters', async () => {
    const id = await made({ priority: 1 });
    for (const [length, status] of [
      [500, 200],
      [501, 400],
    ] as const)
      expect((await service.command('PUT', `/rules/${id}`, { priority: 2, reason: 'x'.repeat(length) })).status).toBe(
        status,
      );
  });

  test('a copy is disabled and has a separate history', async () => {
    const id = await made({ flow_json: editorFlow(), priority: 9 });
    await service.command('POST', `/rules/${id}/enable`);
    const copied = await service.command('POST', `/rules/${id}/duplicate`, { name: ' copy ' });
    expect(copied.body['data']).toEqual({ id: expect.any(Number), name: 'copy', status: 'created' });
    const copy = await data(`/rules/${Number(copied.body['data']?.['id'])}`);
    expect(copy).toMatchObject({ name: 'copy', enabled: false, priority: 9, revision: 1 });
    expect(copy['flow_json']).toEqual((await data(`/rules/${id}`))['flow_json']);
    expect((await service.command('POST', '/rules/4711/duplicate', { name: 'x' })).status).toBe(404);
  });
});
