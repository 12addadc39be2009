/**
 * The longest turns of the thread that serves HTTP and of the thread that ticks, while the service does what once made them
 * stall: the delay of a timer of 1 ms in each. Limit: 25 ms at p99.9. Beside them how late ticks of 10 ms came, and the round
 * trips of `/health` on a connection of its own, which include this process and its share of the machine's cores.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { WebSocket } from 'ws';
import { type RunningSite, type SiteFolders, siteFolders, startSite } from './fixture/running-site.ts';
import { sizes } from './fixture/sizes.ts';
import type { Turns } from './fixture/turn-watch.ts';

const limitMs = 25;
const {
  rules: ruleCount,
  seconds,
  nodes,
  clients: clientCount,
} = sizes({ rules: 20_000, seconds: 10, nodes: 150, clients: 200 }, { rules: 40, seconds: 1, nodes: 2, clients: 10 });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const site = `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: Europe/Amsterdam }
parameters:
  limit: { value: 10, unit: m }
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
/** Reads the level and a parameter, decides, writes: as most rules do. `length` makes it large. */
function flow(length = 0) {
  const calculations = Array.from({ length }, (_, index) => ({
    id: `c${index}`,
    type: 'calculation',
    position: at,
    data: {
      config: {
        assignments: Array.from({ length: 40 }, (__, k) => ({
          name: `v${index}_${k}`,
          expression: `x * ${k}${index} + (x - 3.25) / 2 + max(x, ${k}, 4) + if(x > 3, 1, x ^ 2) + clamp(x, 0, ${k + 1})`,
        })),
        wires: { default: [index === length - 1 ? 'decide' : `c${index + 1}`] },
      },
    },
  }));
  const read = {
    variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
    parameters: [{ name: 'limit', parameter: 'limit' }],
    wires: { default: [length === 0 ? 'decide' : 'c0'] },
  };
  const decide = { branches: [{ name: 'high', when: 'x > limit' }], wires: { high: ['act'], else: ['end'] } };
  const act = { writes: [{ instance: 1, point: 1, value: 5 }], wires: { default: ['end'] } };
  return {
    nodes: [
      { id: 'start', type: 'start', position: at, data: { config: { wires: { default: ['read'] } } } },
      { id: 'read', type: 'input', position: at, data: { config: read } },
      ...calculations,
      { id: 'decide', type: 'decision', position: at, data: { config: decide } },
      { id: 'act', type: 'action', position: at, data: { config: act } },
      { id: 'end', type: 'end', position: at },
    ],
    edges: [],
  };
}

/** Round trips of `/health`, one after the other, on a thread of their own. */
function watchHealth(base: string): { stop(): Promise<number[]> } {
  const worker = new Worker(new URL('./fixture/health-thread.ts', import.meta.url), { workerData: { base } });
  return {
    stop: () =>
      new Promise((resolve) => {
        worker.once('message', (trips: number[]) => resolve(trips));
        worker.postMessage('stop');
      }),
  };
}

interface Ticks {
  readonly counts: readonly { readonly le: number; readonly count: number }[];
  readonly maxMs: number;
}

async function ticksOf(running: RunningSite): Promise<Ticks> {
  const text = await (await fetch(`${running.base}/metrics`)).text();
  const counts = [...text.matchAll(/^setpoint_scheduler_tick_lateness_seconds_bucket\{le="([^"]+)"\} (\d+)/gm)].map(
    ([, le = '', count = '']) => ({
      le: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le) * 1000,
      count: Number(count),
    }),
  );
  const status = (await running.call('GET', '/scheduler/status')) as { max_lateness_ms: number };
  return { counts, maxMs: status.max_lateness_ms };
}

/** The bound of the histogram below which all but one in a thousand of the ticks since `before` lie. */
function tickQuantile(before: Ticks, after: Ticks): string {
  const since = after.counts.map(({ le, count }, index) => ({ le, count: count - (before.counts[index]?.count ?? 0) }));
  const total = since.at(-1)?.count ?? 0;
  const found = since.find(({ count }) => count >= total * 0.999);
  return `${found?.le ?? '?'} ms (${total} ticks, longest since the start ${after.maxMs.toFixed(1)} ms)`;
}

function shown({ p999, longest, count }: Turns): string {
  const share = (p999 / limitMs).toFixed(2);
  return `p99.9 ${p999.toFixed(1)} ms, longest ${longest.toFixed(1)} ms of ${count} turns, ${share} of the limit`;
}

async function measure(name: string, running: RunningSite, work: () => Promise<unknown>): Promise<void> {
  const before = await ticksOf(running);
  const health = watchHealth(running.base);
  await running.turns();
  await work();
  const turns = await running.turns();
  const trips = (await health.stop()).toSorted((a, b) => a - b);
  const after = await ticksOf(running);
  const p999 = trips[Math.floor((trips.length - 1) * 0.999)] ?? Number.NaN;
  console.log(`${name}:`);
  console.log(`  HTTP thread: ${shown(turns.main)}`);
  console.log(`  tick thread: ${turns.tick === null ? 'no answer' : shown(turns.tick)}`);
  console.log(`  round trips: p99.9 ${p999.toFixed(1)} ms, longest ${trips.at(-1)?.toFixed(1)} ms of ${trips.length}`);
  console.log(`  late ticks: p99.9 below ${tickQuantile(before, after)}`);
}

/** Rules as a PUT stores them, straight into the table. */
function storeRules(data: string, count: number, stored: { flow_json: string; nodes_json: string }): void {
  const database = new DatabaseSync(join(data, 'site.sqlite'));
  const insert = database.prepare(
    `INSERT INTO rules (name, enabled, priority, cooldown_ms, trigger_config, flow_json, nodes_json, revision, created_at, updated_at)
     VALUES (?, 1, 0, 0, '{"type":"interval","interval_ms":60000}', ?, ?, 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
  );
  database.exec('BEGIN');
  for (let index = 0; index < count; index++) insert.run(`rule ${index}`, stored.flow_json, stored.nodes_json);
  database.exec('COMMIT');
  database.close();
}

async function newRule(running: RunningSite, document: unknown): Promise<number> {
  const { id } = (await running.call('POST', '/rules', { name: 'bench', confirmed: true })) as { id: number };
  await running.call('PUT', `/rules/${id}`, { flow_json: document, confirmed: true });
  return id;
}

async function loaded(running: RunningSite, count: number): Promise<void> {
  for (;;) {
    const status = (await running.call('GET', '/scheduler/status')) as { runnable_rules?: number };
    if ((status.runnable_rules ?? 0) >= count) return;
    await pause(100);
  }
}

/** Stream clients that follow a rule which runs at every tick; every fifth stops reading. */
function follow(running: RunningSite, count: number, ruleId: number): WebSocket[] {
  return Array.from({ length: count }, (_, index) => {
    const socket = new WebSocket(`${running.base.replace('http', 'ws')}/ws`);
    socket.on('error', () => undefined);
    socket.on('open', () => {
      socket.send(JSON.stringify({ type: 'authenticate', token: running.token }));
      socket.send(JSON.stringify({ type: 'subscribe', data: { source: 'rule', channels: [ruleId] } }));
      if (index % 5 === 0) socket.pause();
    });
    return socket;
  });
}

/** Some wait for the disk and succeed, some are refused. */
async function editUntil(running: RunningSite, ruleId: number, untilMs: number): Promise<void> {
  for (let count = 0; performance.now() < untilMs; count++)
    await running
      .call('PUT', `/rules/${ruleId}`, { description: `edit ${count}`, confirmed: true })
      .catch(() => undefined);
}

/** A started site with this many rules; what `onStart` measures begins when it answers. */
async function startWith(
  rules: number,
  onStart: (running: RunningSite, begunMs: number) => Promise<void>,
): Promise<{ readonly folders: SiteFolders; readonly running: RunningSite }> {
  const folders = siteFolders(site, 'automation: { tick_interval_ms: 10, stream_clients: 400 }\n');
  const first = await startSite(folders);
  const small = await newRule(first, flow());
  const stored = (await first.call('GET', `/rules/${small}`)) as { flow_json: unknown; nodes_json: unknown };
  await first.stop();
  const [flowJson, nodesJson] = [JSON.stringify(stored.flow_json), JSON.stringify(stored.nodes_json)];
  storeRules(folders.data, rules - 1, { flow_json: flowJson, nodes_json: nodesJson });
  const begunMs = performance.now();
  const running = await startSite(folders);
  await onStart(running, begunMs);
  return { folders, running };
}

async function loading(): Promise<void> {
  const { folders, running } = await startWith(ruleCount, async (started, begunMs) => {
    const elapsed = (): string => ((performance.now() - begunMs) / 1000).toFixed(2);
    console.log(`${ruleCount} rules: answers after ${elapsed()} s`);
    await measure(`loading ${ruleCount} rules`, started, () => loaded(started, ruleCount - 1));
    console.log(`  all run after ${elapsed()} s`);
  });
  await running.stop();
  folders.remove();
}

async function busy(): Promise<void> {
  const rules = Math.ceil(ruleCount / 4);
  const { folders, running } = await startWith(rules, (started) => loaded(started, rules - 1));
  const large = await newRule(running, flow());
  const document = flow(nodes);
  const megabytes = (JSON.stringify(document).length / 1_048_576).toFixed(2);
  await measure(`PUTs of ${megabytes} MiB, one after the other`, running, async () => {
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until)
      await running.call('PUT', `/rules/${large}`, { flow_json: document, confirmed: true });
  });
  await measure(`reload of ${rules} rules with other parameters`, running, async () => {
    writeFileSync(join(folders.config, 'site.yaml'), site.replace('value: 10', 'value: 11'));
    await running.call('POST', '/scheduler/reload', { confirmed: true });
  });
  const ticking = await newRule(running, flow());
  await running.call('PUT', `/rules/${ticking}`, {
    trigger_config: { type: 'interval', interval_ms: 10 },
    confirmed: true,
  });
  await running.call('POST', `/rules/${ticking}/enable`, { confirmed: true });
  const clients = follow(running, clientCount, ticking);
  await pause(1000);
  await measure(`${clientCount} stream clients, one in five of which reads nothing`, running, () =>
    pause(seconds * 1000),
  );
  for (const client of clients) client.terminate();
  await measure('a disk that takes nothing for 2 s at a time, and edits', running, async () => {
    const until = performance.now() + seconds * 1000;
    const edits = editUntil(running, ticking, until);
    while (performance.now() < until) {
      const disks = ['runtime', 'site'].map((name) => new DatabaseSync(join(folders.data, `${name}.sqlite`)));
      for (const disk of disks) disk.exec('PRAGMA busy_timeout = 1000; BEGIN IMMEDIATE');
      await pause(2000);
      for (const disk of disks) disk.close();
      await pause(200);
    }
    await edits;
  });
  await running.stop();
  folders.remove();
}

await loading();
await busy();
