/** A hundred takeovers of each kind: within 5 s each, and never two leaders. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { editorFlow } from '../e2e/running-service.ts';
import { type Cluster, startCluster, takeOvers } from '../e2e/several-machines.ts';

const rounds = 100;
const takeoverMs = 5000;

describe('two machines, one site', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(['a', 'b']);
    for (const machine of cluster.machines) await machine.start();
    const { service } = await cluster.leader(30_000);
    const created = await service?.command('POST', '/rules', { name: 'fast' });
    const id = Number(created?.body['data']?.['id']);
    const trigger_config = { type: 'interval', interval_ms: 100 };
    await service?.command('PUT', `/rules/${id}`, { flow_json: editorFlow('x > 10', 'x * 2'), trigger_config });
    await service?.command('POST', `/rules/${id}/enable`);
  }, 120_000);
  afterAll(() => cluster.close());

  test.each([['kill'], ['stop'], ['cut']] as const)('%s', (way) =>
    // One request may have been on its way when the process was stopped.
    takeOvers(cluster, way, rounds, { takeoverMs, lateMost: way === 'stop' ? 1 : 0 }),
  );
});
