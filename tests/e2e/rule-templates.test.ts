/** Templates of rules over HTTP [rules §13], on both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engines } from '../../src/testing/engines.ts';
import { editorFlow, startTestService, type TestService, testFolders } from './running-service.ts';
import { type SiteStorage, storageOn } from './storage-on.ts';

const batterySite = `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: Europe/Amsterdam }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 4
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: derived }
      - { id: 2, name: level, kind: measurement, unit: m, channel: derived }
      - { id: 3, name: power, kind: measurement, unit: kW, channel: derived }
      - { id: 4, name: pv, kind: measurement, unit: kW, channel: derived }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -100, max: 100, channel: derived }
      - { id: 2, name: other, kind: action, unit: kW, min: -100, max: 100, channel: derived }
`;
const soc = { instance: 4, point_type: 'measurement', point: 1 };
const power = { instance: 4, point_type: 'measurement', point: 3 };
const pv = { instance: 4, point_type: 'measurement', point: 4 };
const setpoint = { instance: 4, point_type: 'action', point: 1 };
const other = { instance: 4, point_type: 'action', point: 2 };

describe.each(engines)('templates on %s', (engine) => {
  let service: TestService;
  let storage: SiteStorage;
  beforeAll(async () => {
    const of = testFolders(batterySite);
    storage = await storageOn(engine, of);
    service = await startTestService(of, storage.env);
  });
  afterAll(async () => {
    await service.stop();
    await storage.remove();
    service.folders.remove();
  });

  const charge = (more: Readonly<Record<string, unknown>> = {}) =>
    service.command('POST', '/rules/from-template', {
      template: 'battery-night-charge',
      name: 'Charge',
      points: { soc, setpoint },
      ...more,
    });
  const asked = async (path: string, body: object) =>
    service.request('POST', `/api/v1/automation/api${path}`, { body });

  test('[rules §13.1] a rule is created from a template: disabled, with its tests and its origin', async () => {
    const listed = await service.read('/templates');
    expect(listed.text.match(/"template":/g)).toHaveLength(8);
    const made = await charge({ numbers: { soc_target: 70 } });
    expect(made.body).toMatchObject({ success: true, data: { name: 'Charge', status: 'created', warnings: [] } });
    const id = Number(made.body['data']?.['id']);
    const rule = (await service.read(`/rules/${id}`)).body['data'];
    expect(rule).toMatchObject({
      enabled: false,
      priority: 5,
      flow_json: { from_template: { numbers: { soc_target: 70, power: 50 } } },
    });
    expect(rule?.['tests']).toHaveLength(2);
    expect((await asked('/rules/test', { rule_id: id })).body['data']).toMatchObject({ failed: 0 });
    expect((await service.command('POST', `/rules/${id}/enable`)).status).toBe(200);
  });

  test('[rules §13.1] an argument that does not fit is refused by its name, and nothing is made', async () => {
    const before = (await service.read('/rules')).body['data']?.['total'];
    const refusal = async (more: Readonly<Record<string, unknown>>) => {
      const { status, body } = await charge(more);
      return [status, body['error']?.['message']];
    };
    const level = { instance: 4, point_type: 'measurement', point: 2 };
    expect(await refusal({ points: { soc } })).toEqual([
      400,
      expect.stringMatching(/^body \/points\/setpoint: choose a point/),
    ]);
    expect(await refusal({ points: { soc: level, setpoint } })).toEqual([
      400,
      'body /points/soc: its unit is m; the template takes %',
    ]);
    expect(await refusal({ points: { soc: setpoint, setpoint } })).toEqual([
      400,
      'body /points/soc: must be a measurement point',
    ]);
    expect(await refusal({ points: { soc: { ...soc, point: 9 }, setpoint } })).toEqual([
      400,
      'body /points/soc: the site has no measurement point 4:9',
    ]);
    expect(await refusal({ points: { soc, setpoint, more: soc } })).toEqual([
      400,
      'body /points/more: is not a parameter of the template',
    ]);
    expect((await refusal({ numbers: { soc_target: 100 } }))[0]).toBe(200);
    expect(await refusal({ numbers: { soc_target: 100.5 } })).toEqual([
      400,
      'body /numbers/soc_target: must be at most 100',
    ]);
    expect(await refusal({ numbers: { from_hour: -1 } })).toEqual([400, 'body /numbers/from_hour: must be at least 0']);
    expect(await refusal({ numbers: { nothing: 1 } })).toEqual([
      400,
      'body /numbers/nothing: is not a parameter of the template',
    ]);
    const both = { load: power, pv: power, soc, setpoint };
    expect(await refusal({ template: 'battery-self-consumption', points: both })).toEqual([
      400,
      'body /points/pv: power is already used for load; choose another point',
    ]);
    const selfConsumption = (numbers: object) =>
      refusal({ template: 'battery-self-consumption', points: { load: power, pv, soc, setpoint }, numbers });
    const crossed = [400, 'body /numbers/soc_min: must be at most soc_max, which is 50'];
    expect(await selfConsumption({ soc_min: 50.5, soc_max: 50 })).toEqual(crossed);
    // The default of the other number counts too, here 95.
    expect((await selfConsumption({ soc_min: 95.5 }))[1]).toContain('which is 95');
    expect(await selfConsumption({ soc_min: 50, soc_max: 50 })).toEqual([200, undefined]);
    expect((await refusal({ template: 'nothing-like-it' }))[0]).toBe(404);
    expect((await service.read('/rules')).body['data']?.['total']).toBe(Number(before) + 2);
  });

  test('[rules §13.2], [rules §13.4] a rule is a template, and rules created from it follow it after the difference is shown', async () => {
    const description = 'Two lines,\n\nas they are.';
    const id = Number(
      (await service.command('POST', '/rules', { name: 'original', description })).body['data']?.['id'],
    );
    const flow = editorFlow('x > 10');
    const text = JSON.stringify(flow).replaceAll('"instance":1', '"instance":4');
    await service.command('PUT', `/rules/${id}`, {
      flow_json: JSON.parse(text),
      trigger_config: { type: 'interval', interval_ms: 1000 },
    });
    const described = await service.read(`/templates?rule=${id}`);
    const [read = '', written = ''] = [
      ...described.text.matchAll(/"name":"([^"]+)","about":"[^"]*","point_type"/g),
    ].map(([, name]) => name);
    const made = await service.command('POST', '/rules/from-template', {
      template: `rule:${id}`,
      name: 'copy',
      points: { [read]: soc, [written]: other },
    });
    const copy = Number(made.body['data']?.['id']);
    expect(made.status, made.text).toBe(200);
    expect((await service.read(`/rules/${copy}`)).body['data']).toMatchObject({ description });
    expect((await asked(`/rules/${copy}/template-diff`, {})).body['data']).toMatchObject({
      difference: { classes: [] },
    });

    await service.command('PUT', `/rules/${id}`, {
      flow_json: JSON.parse(text.replace('x > 10', 'x > 30')),
      priority: 7,
    });
    const { body } = await asked(`/rules/${copy}/template-diff`, {});
    expect(body['data']).toMatchObject({
      template: `rule:${id}`,
      points: { [written]: other },
      difference: {
        classes: expect.arrayContaining(['settings', 'expression']),
        settings: [{ field: 'priority', after: 7 }],
      },
    });
    const { revision } = (await service.read(`/rules/${copy}`)).body['data'] ?? {};
    const stale = await service.command('POST', `/rules/${copy}/template-update`, { expected_revision: 99 });
    expect(stale.status).toBe(409);
    const updated = await service.command('POST', `/rules/${copy}/template-update`, { expected_revision: revision });
    expect(updated.body['data'], updated.text).toMatchObject({ id: copy, status: 'updated' });
    const after = await service.read(`/rules/${copy}`);
    expect(after.body['data']).toMatchObject({ name: 'copy', priority: 7 });
    expect(after.text).toContain('x > 30');
    expect((await asked(`/rules/${copy}/template-diff`, {})).body['data']).toMatchObject({
      difference: { settings: [], classes: [] },
    });
    // Arguments other than those it was made with.
    await service.command('POST', `/rules/${copy}/template-update`, { points: { [written]: setpoint } });
    expect((await service.read(`/rules/${copy}`)).text).toContain('"point":1,"value":5');

    expect((await asked(`/rules/${id}/template-diff`, {})).status).toBe(400);
    await service.command('DELETE', `/rules/${id}`);
    expect((await asked(`/rules/${copy}/template-diff`, {})).status).toBe(404);
  });

  test('[rules §13.2] a drawn rule with the tag #template is listed after the included ones; rules created from it do not have the tag', async () => {
    const listed = async (): Promise<unknown[]> => {
      const { templates } = (await service.read('/templates')).body['data'] ?? {};
      return (templates as unknown as { template: string; about: string }[]).slice(8);
    };
    const create = async (description: string): Promise<number> =>
      Number((await service.command('POST', '/rules', { name: description, description })).body['data']?.['id']);
    const [marked] = [await create('Ours. #Template #level'), await create('Never drawn. #template')];
    const similar = await create('Not one. #templates');
    const flow_json = JSON.parse(
      JSON.stringify(editorFlow('x > 10')).replaceAll('"instance":1', '"instance":4'),
    ) as object;
    for (const id of [marked, similar]) await service.command('PUT', `/rules/${id}`, { flow_json });
    expect(await listed()).toMatchObject([{ template: `rule:${marked}`, about: 'Ours. #level' }]);

    const [{ points = [] } = {}] = (await listed()) as { points?: { name: string; point_type: string }[] }[];
    const chosen = points.map(({ name, point_type: kind }) => [name, kind === 'action' ? other : soc]);
    const body = { template: `rule:${marked}`, name: 'ours', points: Object.fromEntries(chosen) };
    const made = await service.command('POST', '/rules/from-template', body);
    const id = Number(made.body['data']?.['id']);
    expect((await service.read(`/rules/${id}`)).body['data']).toMatchObject({ description: 'Ours. #level' });
    expect((await asked(`/rules/${id}/template-diff`, {})).body['data']).toMatchObject({ difference: { classes: [] } });
    expect(await listed()).toHaveLength(1);
  });
});
