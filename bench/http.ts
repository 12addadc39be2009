/**
 * Processor time of requests beside the same answers from a bare server of the same library, in processes of their own. Limits: `/health`
 * 1.2 times, a rule 2 times, 1 ms for a list of 100 rules with status. A rule's PUT beside its two audited commits alone: 3 times.
 * Linux only: /proc counts the time of a process in hundredths of a second.
 */
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { createAuditLog } from '../src/audit/log.ts';
import { systemClock } from '../src/base/clock.ts';
import { benchEntry, benchScope, emptyLog } from './fixture/audit-site.ts';
import { siteFolders, startSite } from './fixture/running-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { warm, requests, puts, rounds, rules } = sizes(
  { warm: 12_000, requests: 1500, puts: 400, rounds: 15, rules: 100 },
  { warm: 0, requests: 20, puts: 2, rounds: 1, rules: 3 },
);
const site = `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels: [{ id: derived, driver: virtual }]
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: derived }
      - { id: 1, name: pump, kind: action, unit: kW, channel: derived }
`;
const connections = 4;
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const api = '/api/v1/automation/api';

function ask(base: string, path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${base}${path}`, { agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(`${path}: ${text}`))));
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Milliseconds of processor time that a process has used, all its threads together. */
function processorMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Processor microseconds of one request, without the idle usage of the process in the same time. */
async function costOf(
  pid: number | undefined,
  count: number,
  work: () => Promise<unknown>,
  idlePerMs: number,
): Promise<number> {
  const [beforeMs, startMs] = [processorMs(pid), performance.now()];
  let left = count;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left-- > 0) await work();
    }),
  );
  const usedMs = processorMs(pid) - beforeMs - idlePerMs * (performance.now() - startMs);
  return (usedMs * 1000) / count;
}

async function idleOf(pid: number | undefined, ms: number): Promise<number> {
  const before = processorMs(pid);
  await new Promise((resolve) => setTimeout(resolve, ms));
  return (processorMs(pid) - before) / ms;
}

/** Processor microseconds of what a change stores: the accepted record, then the rule with the record of its end. */
async function costOfCommits(): Promise<number> {
  const log = emptyLog();
  const audit = createAuditLog({ ...log, clock: systemClock, scope: benchScope });
  const now = new Date(systemClock.wallMs()).toISOString();
  const rule = { name: 'rule', enabled: 0, cooldown_ms: 0, nodes_json: '{}', created_at: now, updated_at: now };
  await log.database.query
    .insertInto('rules')
    .values({ ...rule, priority: 0, revision: 1 })
    .execute();
  const change = async (index: number): Promise<void> => {
    await audit.append(benchEntry(index));
    await log.database.transaction(async (transaction) => {
      await transaction.updateTable('rules').set({ priority: index, revision: index }).execute();
      await audit.appendIn(transaction, benchEntry(index));
    });
  };
  for (let index = 2; index < puts; index++) await change(index);
  const before = process.cpuUsage();
  for (let index = puts; index < 2 * puts; index++) await change(index);
  const { user, system } = process.cpuUsage(before);
  await log.close();
  return (user + system) / puts;
}

function missed(what: string): void {
  console.log(`limit missed: ${what}`);
  limitMissed();
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const folders = siteFolders(site, 'http: { mutations_per_minute: 1000000 }\n');
const running = await startSite(folders);
try {
  const at = { x: 0, y: 0 };
  const node = (id: string, type: string, config: object) => ({ id, type, position: at, data: { config } });
  const flow_json = {
    nodes: [
      node('start', 'start', { wires: { default: ['read'] } }),
      node('read', 'input', {
        variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
        wires: { default: ['decide'] },
      }),
      node('decide', 'decision', {
        branches: [{ name: 'high', when: 'x > 5' }],
        wires: { high: ['act'], else: ['end'] },
      }),
      node('act', 'action', { writes: [{ instance: 1, point: 1, value: 5 }], wires: { default: ['end'] } }),
      node('end', 'end', {}),
    ],
    edges: [],
  };
  for (let each = 0; each < rules; each++) {
    const { id } = (await running.call('POST', '/rules', { name: `rule ${each}`, confirmed: true })) as { id: number };
    await running.call('PUT', `/rules/${id}`, {
      flow_json,
      trigger_config: { type: 'interval', interval_ms: 60_000 },
      confirmed: true,
    });
  }
  const headers = { authorization: `Bearer ${running.token}` };
  const paths = { health: '/health', rule: `${api}/rules/1`, list: `${api}/rules?page_size=100&include=status` };
  const answers: Record<string, string> = {};
  for (const path of Object.values(paths)) answers[path.split('?')[0] ?? path] = await ask(running.base, path, headers);
  const bare = fork(join(import.meta.dirname, 'fixture', 'bare-server.ts'), {
    env: { ...process.env, BARE_ANSWERS: JSON.stringify(answers) },
  });
  const port = await new Promise((resolve) => bare.once('message', resolve));
  const bareBase = `http://127.0.0.1:${String(port)}`;
  const peers = [
    { base: running.base, pid: running.process.pid, idle: await idleOf(running.process.pid, 2000) },
    { base: bareBase, pid: bare.pid, idle: await idleOf(bare.pid, 500) },
  ];
  const shown: Record<string, { readonly own: number; readonly ratio: number }> = {};
  for (const [name, path] of Object.entries(paths)) {
    const share = name === 'list' ? 0.5 : 1;
    // Both compilers have finished by then.
    for (const { base, pid } of peers) await costOf(pid, warm * share, () => ask(base, path, headers), 0);
    const own: number[] = [];
    const ratios: number[] = [];
    // In short turns, because the speed of the machine changes.
    for (let round = 0; round < rounds; round++) {
      const costs: number[] = [];
      for (const { base, pid, idle } of peers)
        costs.push(await costOf(pid, Math.ceil(requests * share), () => ask(base, path, headers), idle));
      const [ownUs = Number.NaN, bareUs = Number.NaN] = costs;
      own.push(ownUs);
      ratios.push(ownUs / bareUs);
    }
    const figure = { own: median(own), ratio: median(ratios) };
    shown[name] = figure;
    console.log(
      `${name}: ${figure.own.toFixed(0)} us of processor time, ${figure.ratio.toFixed(2)} times a bare server (from ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
    );
  }
  bare.kill();
  let priority = 0;
  // Requests at the same time change different rules.
  const put = async () =>
    running.call('PUT', `/rules/${1 + (++priority % rules)}`, { priority: priority % 101, confirmed: true });
  const idle = await idleOf(running.process.pid, 500);
  await costOf(running.process.pid, puts, put, idle);
  const putUs = await costOf(running.process.pid, puts, put, idle);
  const commitsUs = await costOfCommits();
  console.log(
    `PUT of a rule: ${putUs.toFixed(0)} us of processor time, its two audited commits alone ${commitsUs.toFixed(0)} us: ${(putUs / commitsUs).toFixed(2)} times`,
  );
  if (putUs > 3 * commitsUs) missed(`a PUT costs ${(putUs / commitsUs).toFixed(2)} times its commits; the limit is 3`);
  const ratio = (name: string): number => shown[name]?.ratio ?? Number.NaN;
  if (ratio('health') > 1.2) missed(`health costs ${ratio('health').toFixed(2)} times a bare answer; the limit is 1.2`);
  if (ratio('rule') > 2) missed(`a rule costs ${ratio('rule').toFixed(2)} times a bare answer; the limit is 2`);
  if ((shown['list']?.own ?? 0) > 1000) missed('a list of 100 rules costs more than 1 ms');
} finally {
  await running.stop();
  folders.remove();
  agent.destroy();
}
