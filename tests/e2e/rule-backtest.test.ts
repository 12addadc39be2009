/** The backtest of a rule over HTTP [rules §10], on both engines. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { historyLimits } from '../../src/historian/limits.ts';
import { openHistorian } from '../../src/historian/open-historian.ts';
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

const fromMs = Date.parse('2026-03-01T00:00:00Z');
const at = (seconds: number): string => new Date(fromMs + seconds * 1000).toISOString();
/** Recorded values of the level. */
const recordedSite = `${virtualSite.replace('unit: m, channel: derived }', 'unit: m, channel: derived, record: true }')}
  - id: 2
    name: plant
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: derived, record: true }
      - { id: 2, name: load, kind: measurement, unit: kW, channel: derived, record: true }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -9, max: 9, sign_convention: positive_discharge, channel: derived }
`;
const trigger = { type: 'interval', interval_ms: 1000 };

describe.each(engines)('backtest on %s', (engine) => {
  let service: TestService;
  let storage: SiteStorage;
  beforeAll(async () => {
    const of = testFolders(recordedSite);
    storage = await storageOn(engine, of);
    appendFileSync(join(of.config, 'service.yaml'), 'backtest: { evaluations_max: 1000, window_days: 2 }\n');
    service = await startTestService(of, storage.env);
    // A ramp from 0 to 20 and back within 40 seconds, then nothing.
    const historian = openHistorian(storage.history, historyLimits);
    await historian.append(
      Array.from({ length: 41 }, (_, second) => ({
        series: { instance: 1, point: 1 },
        eventMs: fromMs + second * 1000,
        ingestedMs: fromMs + second * 1000,
        value: second <= 20 ? second : 40 - second,
        quality: 1,
      })),
    );
    await historian.close();
  });
  afterAll(async () => {
    await service.stop();
    await storage.remove();
    service.folders.remove();
  });

  const asked = (id: number, body: object) =>
    service.request('POST', `/api/v1/automation/api/rules/${id}/backtest`, { body });
  const made = async (): Promise<number> => {
    const id = Number((await service.command('POST', '/rules', { name: 'r' })).body['data']?.['id']);
    const put = await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow(), trigger_config: trigger });
    expect(put.status, put.text).toBe(200);
    return id;
  };
  const window = { from: at(0), to: at(60), mode: 'recorded' };

  test('[rules §10.2] runs over the recorded values, returns the writes and the end of the values', async () => {
    const id = await made();
    const reply = await asked(id, window);
    expect(reply.status, reply.text).toBe(200);
    const { data } = reply.body;
    // 11 … 29 s are above 10; a row is valid for a second of recording plus `max_age_ms`.
    expect(data).toMatchObject({
      rule_id: id,
      from: at(0),
      to: at(60),
      evaluations: 60,
      outcomes: { acted: 19, failed: 0 },
      writes: [{ instance: 1, point: 1, counted: 19, changes: [{ at: at(11), value: 5 }] }],
      decisions: [
        { from: at(0), to: at(10), node_id: 'decide', output: 'else' },
        { from: at(11), to: at(29), node_id: 'decide', output: 'high' },
        { from: at(30), node_id: 'decide', output: 'else' },
      ],
      agreement: null,
      first_divergence: null,
      feedback: [{ instance: 1, point_type: 'measurement', point: 1, written_by: [id] }],
      warm_up: { until: null, functions: [] },
      notes: ['no-recorded-runs', 'parameters-as-now'],
    });
    expect((await asked(id, window)).text).toBe(reply.text);
    // A query: nothing was stored.
    expect((await service.read(`/rules/${id}`)).body['data']?.['revision']).toBe(2);
  });

  test('[rules §10.1] a draft and a revision are tried against the stored rule, and the first divergence is named', async () => {
    const id = await made();
    const draft = await asked(id, { ...window, flow_json: editorFlow('x > 12') });
    expect(draft.body['data']).toMatchObject({
      outcomes: { acted: 15 },
      first_divergence: { at: at(11), baseline: { outcome: 'acted' }, candidate: { outcome: 'no_action' } },
    });
    await service.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 15') });
    const old = await asked(id, { ...window, revision: 2 });
    expect(old.body['data']).toMatchObject({ outcomes: { acted: 19 }, first_divergence: { at: at(11) } });
    const compared = await asked(id, { ...window, compare: { revision: 2 } });
    expect(compared.body['data']).toMatchObject({ outcomes: { acted: 9 }, first_divergence: { at: at(11) } });
    const thin = await asked(id, { ...window, max_points: 1 });
    expect(thin.body['data']).toMatchObject({ decisions: [{ from: at(0) }] });
    expect(thin.text).toContain('"thinned"');
  });

  test('[rules §10.3], [rules §10.4] the stored rule agrees with its recorded runs; replay evaluates the recorded inputs', async () => {
    const id = await made();
    const feeder = Number((await service.command('POST', '/rules', { name: 'feeder' })).body['data']?.['id']);
    const virtual = { instance: 1, point_type: 'measurement', point: 1, value: 20 };
    const place = { x: 0, y: 0 };
    const flow_json = {
      nodes: [
        { id: 's', type: 'start', position: place, data: { config: { wires: { default: ['a'] } } } },
        {
          id: 'a',
          type: 'action',
          position: place,
          data: { config: { writes: [virtual], wires: { default: ['e'] } } },
        },
        { id: 'e', type: 'end', position: place },
      ],
    };
    const interval = { type: 'interval', interval_ms: 100 };
    await service.command('PUT', `/rules/${feeder}`, { flow_json, trigger_config: interval, priority: 9 });
    await service.command('PUT', `/rules/${id}`, { trigger_config: interval });
    await service.command('POST', `/rules/${feeder}/enable`);
    await service.command('POST', `/rules/${id}/enable`);
    // From a moment at which the value is known to one before which everything is recorded.
    await waitFor(
      async () => (await service.read(`/rules/${id}/history?limit=1`)).text.includes('"acted"') || undefined,
    );
    const ranSince = (beganMs: number) =>
      waitFor(async () => {
        const toMs = Math.max(beganMs + 1, Date.now() - 1000);
        const now = { from: new Date(beganMs).toISOString(), to: new Date(toMs).toISOString(), mode: 'recorded' };
        const reply = await asked(id, now);
        expect(reply.status, reply.text).toBe(200);
        const agreement = reply.body['data']?.['agreement'] as unknown as Readonly<
          Record<'compared' | 'equal' | 'refused', number>
        > | null;
        return agreement !== null && agreement.compared > 15 ? { agreement, now } : undefined;
      });
    const seen = await ranSince(Date.now());
    expect(seen.agreement.refused).toBe(0);
    expect(seen.agreement.equal / seen.agreement.compared, JSON.stringify(seen.agreement)).toBeGreaterThan(0.9);
    const replayed = await asked(id, { ...seen.now, mode: 'replay', flow_json: editorFlow('x > 30') });
    expect(replayed.body['data']).toMatchObject({
      agreement: { differences: [] },
      outcomes: { acted: 0 },
      first_divergence: { candidate: { outcome: 'no_action' } },
    });
    // An override refuses the writes. The rule itself does not differ, and the answer counts the refused writes.
    const held = { value: 3, for_seconds: 60, reason: 'a test of ours' };
    expect((await service.command('POST', '/points/1/action/1/override', held)).status).toBe(200);
    const { agreement } = await ranSince(Date.now() + 200);
    expect(agreement.refused).toBeGreaterThan(10);
    expect(agreement.equal / agreement.compared, JSON.stringify(agreement)).toBeGreaterThan(0.9);
  });

  test('[rules §10.1] progress is sent in lines to a caller that accepts them, and the last line is the answer', async () => {
    const id = await made();
    const whole = await asked(id, window);
    const raw = await fetch(`${service.base}/api/v1/automation/api/rules/${id}/backtest`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await service.token('Admin')}`,
        'content-type': 'application/json',
        accept: 'application/x-ndjson',
      },
      body: JSON.stringify(window),
    });
    expect(raw.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await raw.text()).trimEnd().split('\n');
    expect(lines.at(-1)).toBe(whole.text);
    const shares = lines.slice(0, -1).map((line) => Number(JSON.parse(line).progress));
    expect(shares.length).toBeGreaterThan(0);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares.every((share) => share > 0 && share <= 1)).toBe(true);
  });

  test('[rules §10.6] a plant is declared with the mode that needs it, by points that can be meant', async () => {
    const id = await made();
    const refusal = async (body: object) => {
      const { status, body: answer } = await asked(id, { ...window, ...body });
      return [status, answer['error']?.['message']];
    };
    const point = { instance: 1, point: 1 };
    const battery = { capacity_kwh: 1, max_power_kw: 1, efficiency: 1, setpoint: point, soc: point };
    const assume = { battery, load: point, pv: point };
    expect(await refusal({ mode: 'plant' })).toEqual([400, expect.stringContaining('body /assume:')]);
    expect(await refusal({ assume })).toEqual([400, expect.stringContaining('body /assume:')]);
    const nowhere = { ...battery, setpoint: { instance: 1, point: 9 } };
    expect(await refusal({ mode: 'plant', assume: { ...assume, battery: nowhere } })).toEqual([
      400,
      'body /assume/battery/setpoint: the site has no action point 1:9',
    ]);
    expect(await refusal({ mode: 'plant', assume })).toEqual([
      400,
      'body /assume/battery/soc: its unit is m; choose a point in %',
    ]);
    expect((await refusal({ mode: 'plant', assume: { ...assume, battery: { ...battery, efficiency: 0 } } }))[0]).toBe(
      400,
    );
  });

  test('[rules §10.6] the commands of the last moments count, although they may not be stored yet', async () => {
    const id = Number((await service.command('POST', '/rules', { name: 'rest' })).body['data']?.['id']);
    const node = (name: string, type: string, config: object) => ({ id: name, type, position, data: { config } });
    const position = { x: 0, y: 0 };
    const nodes = [
      node('start', 'start', { wires: { default: ['rest'] } }),
      node('rest', 'action', { writes: [{ instance: 2, point: 1, value: 0 }], wires: { default: ['end'] } }),
      node('end', 'end', {}),
    ];
    await service.command('PUT', `/rules/${id}`, { flow_json: { nodes, edges: [] }, trigger_config: trigger });
    await service.command('POST', `/rules/${id}/enable`, {});
    const run = await waitFor(async () => {
      const { list } = (await service.read(`/rules/${id}/history`)).body['data'] as unknown as {
        list: { started_at: string; outcome: string }[];
      };
      return list.find(({ outcome }) => outcome === 'acted');
    }, 20_000);
    const commandedMs = Date.parse(run.started_at);
    await waitFor(() => (Date.now() > commandedMs + 2000 ? true : undefined), 10_000);
    const historian = openHistorian(storage.history, historyLimits);
    await historian.append(
      [500, 1000, 1500].map((afterMs) => ({
        series: { instance: 2, point: 1 },
        eventMs: commandedMs + afterMs,
        ingestedMs: commandedMs + afterMs,
        value: 50,
        quality: 1,
      })),
    );
    await historian.close();
    const load = { instance: 2, point: 2 };
    const own = { setpoint: { instance: 2, point: 1 }, soc: { instance: 2, point: 1 } };
    const battery = { capacity_kwh: 1, max_power_kw: 1, efficiency: 1, initial_soc: 50, ...own };
    const span = { from: new Date(commandedMs - 5000).toISOString(), to: new Date(commandedMs + 1900).toISOString() };
    const reply = await asked(id, { ...span, mode: 'plant', assume: { battery, load, pv: load } });
    expect(reply.body['data']?.['plant']?.['recorded_soc_error'], reply.text).toBe(0);
    await service.command('POST', `/rules/${id}/disable`, {});
  });

  test('[rules §10.5] windows and evaluations have their bounds', async () => {
    const id = await made();
    const code = async (body: object) => {
      const reply = await asked(id, body);
      return [reply.status, reply.body['error']?.['code']];
    };
    await service.command('PUT', `/rules/${id}`, { trigger_config: { type: 'interval', interval_ms: 3_600_000 } });
    expect((await asked(id, { ...window, to: at(2 * 86_400) })).status).toBe(200);
    expect(await code({ ...window, to: at(2 * 86_400 + 0.001) })).toEqual([400, 'invalid-input']);
    expect(await code({ ...window, to: at(0) })).toEqual([400, 'invalid-input']);
    await service.command('PUT', `/rules/${id}`, { trigger_config: trigger });
    expect((await asked(id, { ...window, to: at(1000) })).status).toBe(200);
    expect(await code({ ...window, to: at(1001) })).toEqual([422, 'too-many-evaluations']);
    expect(await code({ ...window, revision: 1, flow_json: editorFlow() })).toEqual([400, 'invalid-input']);
    expect(await code({ ...window, revision: 1 })).toEqual([422, 'no-runnable-flow']);
    expect(await code({ ...window, revision: 77 })).toEqual([404, 'not-found']);
    expect(await code({ ...window, max_points: 0 })).toEqual([400, 'invalid-input']);
    expect((await asked(id, { ...window, max_points: 100_000 })).status).toBe(200);
    expect(await code({ ...window, max_points: 100_001 })).toEqual([400, 'invalid-input']);
    expect(await code({ ...window, mode: 'replay', compare: { revision: 2 } })).toEqual([400, 'invalid-input']);
    const three = await Promise.all([asked(id, window), asked(id, window), asked(id, window)]);
    expect(three.map(({ status }) => status).toSorted()).toEqual([200, 200, 429]);
  });
});
