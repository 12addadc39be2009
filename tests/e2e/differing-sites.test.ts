/** Two machines whose site files differ, as during an edit of one after the other (docs/guides/several-machines.md). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { editorFlow, type Json, startTestService, testFolders, virtualSite, waitFor } from './running-service.ts';
import { type Cluster, type Machine, startCluster } from './several-machines.ts';

const battery = (
  port: number,
  before: { readonly channel: string; readonly instance: string },
): string => `schema: svc.site.v1
site: { id: plant-1, name: Plant 1, timezone: UTC }
channels:
${before.channel}  - { id: inverter, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 100, timeout_ms: 300, word_order: big }
instances:
${before.instance}  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", channel: inverter, address: { table: holding, register: 0, type: float32 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, min: -500, max: 500, channel: inverter, address: { table: holding, register: 100, type: float32 } }
`;
const more = {
  channel: '  - { id: derived, driver: virtual }\n',
  instance: `  - id: 2
    name: tariff
    points:
      - { id: 1, name: price, kind: measurement, unit: "1", channel: derived }
`,
};

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster(['a', 'b'], {
    site: (port, position) => battery(port, position === 0 ? { channel: '', instance: '' } : more),
  });
  for (const machine of cluster.machines) await machine.start();
}, 120_000);
afterAll(() => cluster.close());

const serviceOf = ({ service }: Machine) => {
  if (service === null) throw new Error('not started');
  return service;
};
const both = async () => {
  const leader = await cluster.leader(20_000);
  const other = cluster.machines.find((machine) => machine !== leader);
  if (other === undefined) throw new Error('no other machine');
  return { leader: serviceOf(leader), other: serviceOf(other), controlling: leader };
};
const pointsOf = async (service: ReturnType<typeof serviceOf>): Promise<Readonly<Record<string, Json>>> => {
  const { list } = (await service.read('/points')).body['data'] as unknown as { readonly list: readonly Json[] };
  return Object.fromEntries(
    list.map((point) => [
      [point['instance'], point['point_type'], point['point']].join(':'),
      [point['value'], point['quality'], point['owner']?.['kind'] ?? null] as unknown as Json,
    ]),
  );
};
const common = ['1:measurement:1', '1:action:1'];

/** The other machine shows the values of the leader, each at its own point. */
async function expectSame(): Promise<void> {
  const { leader, other } = await both();
  const shown = await waitFor(async () => {
    const points = await pointsOf(leader);
    return points['1:measurement:1']?.[1] === ('good' as unknown as Json) ? points : undefined;
  }, 20_000);
  expect(shown['1:measurement:1']).toEqual([50, 'good', null]);
  const there = await waitFor(async () => {
    const points = await pointsOf(other);
    return points['1:measurement:1']?.[1] === ('good' as unknown as Json) ? points : undefined;
  }, 20_000);
  for (const point of common) expect(there[point], point).toEqual(shown[point]);
  expect((shown['2:measurement:1'] ?? there['2:measurement:1'])?.[0]).toBeNull();
}

test('[points §8.1] each machine shows a value, its owner and its writers at the same point, whatever the order of its own file', async () => {
  await expectSame();
  const { leader, other } = await both();
  expect(other.logs().match(/"only_there":[01],"only_here":[01],"such_as":\["2:measurement:1"\]/g)).toHaveLength(1);
  const override = { value: 7, for_seconds: 3600, reason: 'a test' };
  expect((await other.command('POST', '/points/1/action/1/override', override)).status).toBe(200);
  for (const service of [leader, other])
    await expect.poll(async () => (await pointsOf(service))['1:action:1']).toEqual([7, 'good', 'override']);
  for (const name of ['one', 'two']) {
    await other.command('POST', '/rules', { name });
    const id = name === 'one' ? 1 : 2;
    await other.command('PUT', `/rules/${id}`, {
      flow_json: editorFlow(),
      trigger_config: { type: 'interval', interval_ms: 60_000 },
    });
    const enabled = await other.command('POST', `/rules/${id}/enable`);
    expect(enabled.status).toBe(200);
    if (name === 'two')
      expect(enabled.body['data']?.['warnings']).toMatchObject([
        {
          code: 'shared-point',
          message: expect.stringContaining('"one" is enabled and writes setpoint of instance 1'),
        },
      ]);
  }
}, 60_000);

test('[rules §4.5] enabling a rule that only this machine could run answers with a warning', async () => {
  const { other } = await both();
  const { id } = (await other.command('POST', '/rules', { name: 'price' })).body['data'] as { readonly id: unknown };
  const writes = JSON.stringify(editorFlow()).replace(
    '"writes":[{"instance":1,"point":1',
    '"writes":[{"instance":2,"point_type":"measurement","point":1',
  );
  const change = { flow_json: JSON.parse(writes) as Json, trigger_config: { type: 'interval', interval_ms: 60_000 } };
  expect((await other.command('PUT', `/rules/${String(id)}`, change)).status).toBe(200);
  const enabled = await other.command('POST', `/rules/${String(id)}/enable`);
  const warning = { code: 'invalid-flow', path: '/flow_json', message: expect.stringContaining('does not run') };
  expect(enabled.body['data']?.['warnings']).toMatchObject([warning]);
  const changed = await other.command('PUT', `/rules/${String(id)}`, { priority: 1 });
  expect(changed.body['data']?.['warnings']).toMatchObject([warning]);
  await other.command('POST', `/rules/${String(id)}/disable`);
}, 60_000);

test('[points §8.6] a standby refuses to scan a channel and says why', async () => {
  const { other } = await both();
  const scan = await other.read('/channels/inverter/scan');
  const message = expect.stringMatching(/^this process is a standby .* ask the one that controls the site$/);
  expect([scan.status, scan.body['error']]).toMatchObject([503, { code: 'engine-unavailable', message }]);
});

test('the same after the machine with more points controls', async () => {
  const { controlling } = await both();
  await serviceOf(controlling).stop();
  controlling.service = null;
  await cluster.leader(20_000);
  await controlling.start();
  await expectSame();
}, 60_000);

test('a machine that was not given the keys of the others is not started, and the line names them', async () => {
  const folders = testFolders(virtualSite);
  try {
    const start = startTestService(folders, { SVC_DATABASE_URL: cluster.postgres.url });
    await expect(start).rejects.toThrow(
      /the process of the site at 127\.0\.0\.1 has another tenant and project \(.+\), signing-key\.pem, audit-key\.pem: all/,
    );
  } finally {
    folders.remove();
  }
});
