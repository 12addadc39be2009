/**
 * The cost of storing a revision beside the change itself [rules §1.4]: the processor time that a service spends on a PUT over HTTP, and
 * that of storing one revision of the same rule among many, in the same run. Limit: 5% of a PUT. On Linux only (/proc).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRevisionReader, keepRevision } from '../src/automation/store/revision-store.ts';
import { createRuleStore } from '../src/automation/store/rule-store.ts';
import { systemClock } from '../src/base/clock.ts';
import { openDatabase } from '../src/databases/site-database.ts';
import { siteFolders, startSite } from './fixture/running-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { kept, puts } = sizes({ kept: 100_000, puts: 1000 }, { kept: 50, puts: 5 });
const shareMax = 0.05;
/** The kernel counts processor time in hundredths of a second. */
const msPerTick = 10;
const site = `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: derived }
      - { id: 1, name: pump, kind: action, unit: kW, channel: derived }
`;
const at = { x: 0, y: 0 };
const node = (id: string, type: string, config: object) => ({ id, type, position: at, data: { label: id, config } });
const flow_json = {
  nodes: [
    node('start', 'start', { wires: { default: ['read'] } }),
    node('read', 'input', {
      variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
      wires: { default: ['decide'] },
    }),
    node('decide', 'decision', {
      branches: [{ name: 'high', when: 'x > 10' }],
      wires: { high: ['act'], else: ['end'] },
    }),
    node('act', 'action', { writes: [{ instance: 1, point: 1, value: 5 }], wires: { default: ['end'] } }),
    node('end', 'end', {}),
  ],
  edges: [],
};

const act = { action: 'automation.rule.update', author: { kind: 'user', id: 'bench' }, correlationId: 'bench-0000' };

function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * msPerTick;
}

const folders = siteFolders(site, 'http: { mutations_per_minute: 100000 }\n');
try {
  const running = await startSite(folders);
  const { id } = (await running.call('POST', '/rules', { name: 'bench', confirmed: true })) as { id: number };
  const put = (priority: number): Promise<unknown> =>
    running.call('PUT', `/rules/${id}`, { flow_json, priority, confirmed: true });
  for (let priority = 0; priority < puts / 5; priority++) await put(priority);
  const pid = running.process.pid ?? 0;
  const before = processorMs(pid);
  for (let priority = 0; priority < puts; priority++) await put(priority);
  const putMs = (processorMs(pid) - before) / puts;
  await running.stop();

  const database = openDatabase(join(folders.data, 'site.sqlite'));
  const row = await createRuleStore(database, systemClock, 10).get(id);
  if (row === null) throw new Error('the rule is there');
  let revision = row.revision + 1;
  const keep = (count: number): Promise<void> =>
    database.transaction(async (transaction) => {
      for (let index = 0; index < count; index++)
        await keepRevision(transaction, { ...row, revision: revision++ }, act);
    });
  await keep(kept);
  const started = process.cpuUsage();
  await keep(puts);
  const { user, system } = process.cpuUsage(started);
  const keepMs = (user + system) / 1000 / puts;
  const [newest] = await createRevisionReader(database).page(id, undefined, 1);
  await database.close();
  const share = keepMs / putMs;
  console.log(
    `a PUT takes ${putMs.toFixed(2)} ms of processor time; keeping its revision, the ${newest?.revision ?? 0}th, ${keepMs.toFixed(3)} ms: ${(100 * share).toFixed(1)}% (limit ${100 * shareMax}%)`,
  );
  if (share > shareMax) limitMissed();
} finally {
  folders.remove();
}
