/**
 * The answers that clients of two machines get about rules are those of one change after another, even while the controlling machine
 * is killed (docs/guides/several-machines.md). `npm run test:soak` runs it with many seeds and more faults.
 */
import { expect, onTestFinished, test } from 'vitest';
import { startClients } from './rule-clients.ts';
import { checkHistory } from './rule-history-check.ts';
import { startCluster } from './several-machines.ts';

const seed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 1_000_000);
const callsBeforeKill = 150;
const callsAfterRestart = 100;
const deadlineMs = 60_000;

test(`two machines that change four rules at once, one of them killed (SVC_TEST_SEED=${seed})`, async () => {
  const cluster = await startCluster(['a', 'b']);
  onTestFinished(() => cluster.close());
  await Promise.all(cluster.machines.map((machine) => machine.start()));

  const load = await startClients(cluster.machines, { seed, rules: 4, clientsEach: 4 });
  onTestFinished(() => load.stop());
  await load.more(callsBeforeKill, deadlineMs);
  const leader = await cluster.leader(deadlineMs);
  leader.service?.process.kill('SIGKILL');
  await leader.service?.stop('SIGKILL');
  await leader.start();
  await load.more(callsAfterRestart, deadlineMs);
  const calls = await load.finish();

  await checkHistory(cluster, calls);
  // There was something to check: changes made, changes refused, and changes of rules that did not exist.
  const statuses = calls.map(({ output }) => output?.status);
  expect(statuses).toEqual(expect.arrayContaining([200, 404, 409]));
}, 180_000);
