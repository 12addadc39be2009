/** Three machines that change rules at once, round after round, with a machine and the database killed midway through each. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startClients } from '../e2e/rule-clients.ts';
import { checkHistory } from '../e2e/rule-history-check.ts';
import { type Cluster, controls, startCluster } from '../e2e/several-machines.ts';

const rounds = Number(process.env['SVC_TEST_ROUNDS'] ?? 25);
const firstSeed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 1_000_000);
const seeds = Array.from({ length: rounds }, (_, round) => firstSeed + round);
const deadlineMs = 120_000;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster(['a', 'b', 'c']);
  for (const { folders } of cluster.machines) folders.write('service.yaml', 'http: { mutations_per_minute: 1000000 }');
  await Promise.all(cluster.machines.map((machine) => machine.start()));
}, deadlineMs);
afterAll(() => cluster.close());

test.each(seeds)('SVC_TEST_SEED=%i', async (seed) => {
  const load = await startClients(cluster.machines, { seed, rules: 5, clientsEach: 4 });
  onTestFinished(() => load.stop());
  await load.more(150, deadlineMs);
  const leader = await cluster.leader(deadlineMs);
  // Alternately the leader and a standby.
  const victim = seed % 2 === 0 ? leader : cluster.machines.find((machine) => !controls(machine));
  await victim?.service?.stop('SIGKILL');
  await load.more(50, deadlineMs);
  await Promise.all([victim?.start(), load.more(100, deadlineMs)]);
  await cluster.postgres.kill();
  await load.more(50, deadlineMs);
  await cluster.postgres.start();
  await load.more(50, deadlineMs);
  await cluster.leader(deadlineMs);
  await load.more(150, deadlineMs);
  const calls = await load.finish();
  await checkHistory(cluster, calls);
  expect(calls.map(({ output }) => output?.status)).toEqual(expect.arrayContaining([200, 409]));
});
