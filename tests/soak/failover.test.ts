/** A hundred takeovers of each kind: within 5 s each, and never two that control. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { editorFlow } from '../e2e/running-service.ts';
import { type Cluster, inWords, startCluster, type TimeLine, takeOver } from '../e2e/several-machines.ts';

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

  test.each([['kill'], ['stop'], ['cut']] as const)('%s', async (way) => {
    const lines: TimeLine[] = [];
    try {
      for (let count = 0; count < rounds; count++) {
        const { line, late } = await takeOver(cluster, way);
        lines.push(line);
        expect(late).toBeLessThanOrEqual(way === 'stop' ? 1 : 0);
        expect(line.command, `the ${count + 1}. takeover: ${JSON.stringify(line)}`).toBeLessThan(takeoverMs);
      }
    } finally {
      process.stderr.write(inWords(way, lines));
    }
  });
});
