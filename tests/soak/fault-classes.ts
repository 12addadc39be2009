/**
 * Single ordinary faults of each kind, for the fault matrix: each begins, lasts for some time, and ends. Faults of the second device
 * and of clients must not affect control at all; others may interrupt it for as long as their limits say.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../src/base/clock.ts';
import { editorFlow, type TestService } from '../e2e/running-service.ts';
import { again, anyService, type FaultSite, pointFlow, type SiteMachine } from './fault-site.ts';

export interface FaultClass {
  readonly name: string;
  readonly where: 'one machine' | 'three machines' | 'both';
  /** How long commands may be absent, in milliseconds, from the beginning of the fault until it is over. */
  readonly pauseMs: number;
  /** Which runs may be lost before they are committed: those right before the fault, or also those during it. */
  readonly unstored?: 'before' | 'during';
  /** Takeovers that it may cause. */
  readonly takeovers: number;
  /** Returns the function that ends the fault; null when it has ended by itself. */
  begin(site: FaultSite, seed: number): Promise<(() => Promise<void>) | null>;
}

/** Ten commands in a row, on a machine with other work. */
const hardly = 1500;
const takeover = 8000;
/** `timeout_ms` of the site's channels is 300. */
const slowAnswerMs = 150;
const exceptions = [1, 2, 4, 5, 6, 7, 9, 10, 12, 16, 99, 128, 255];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function ofOtherDevice(
  name: string,
  begin: (device: SiteMachine['other'], seed: number) => void | Promise<void>,
  end: (device: SiteMachine['other']) => void | Promise<void>,
): FaultClass {
  return {
    name: `the second device ${name}`,
    where: 'both',
    pauseMs: hardly,
    takeovers: 0,
    async begin({ machines }, seed) {
      for (const { other } of machines) await begin(other, seed);
      return async () => {
        for (const { other } of machines) await end(other);
      };
    },
  };
}

function ofCommandedDevice(
  name: string,
  begin: (device: SiteMachine['device'], seed: number) => void | Promise<void>,
  end: (device: SiteMachine['device']) => void | Promise<void>,
): FaultClass {
  return {
    name: `the commanded device ${name}`,
    where: 'both',
    // The fault itself, and until the channel is connected again.
    pauseMs: 20_000,
    takeovers: 0,
    async begin({ machines }, seed) {
      for (const { device } of machines) await begin(device, seed);
      return async () => {
        for (const { device } of machines) await end(device);
      };
    },
  };
}

/** Repeated against a service that answers, until it ends. */
function ofClients(name: string, act: (service: TestService, count: number) => Promise<unknown>): FaultClass {
  return {
    name,
    where: 'both',
    pauseMs: hardly,
    takeovers: 0,
    async begin(site) {
      const service = await anyService(site);
      return again((count) => act(service, count));
    },
  };
}

const questions = ['/rules?include=status', '/rules/1/status', '/rules/1/history', '/rules/1/variables', '/instances'];
const chainOf = (length: number): unknown => {
  const flow = editorFlow('x > 1000') as { nodes: { id: string; data?: { config: Record<string, unknown> } }[] };
  const read = flow.nodes.find(({ id }) => id === 'read');
  if (read?.data !== undefined) read.data.config['wires'] = { default: ['c0'] };
  const nodes = Array.from({ length }, (_, index) => ({
    id: `c${index}`,
    type: 'calculation',
    position: { x: 0, y: 0 },
    data: {
      config: {
        assignments: Array.from({ length: 40 }, (__, k) => ({
          name: `v${index}_${k}`,
          expression: `x * ${k} + max(x, ${index}, 4) + if(x > 3, 1, x ^ 2) + clamp(x, 0, ${k + 1})`,
        })),
        wires: { default: [index === length - 1 ? 'decide' : `c${index + 1}`] },
      },
    },
  }));
  return { ...flow, nodes: [...flow.nodes, ...nodes] };
};

async function newRule(service: TestService, changes: Readonly<Record<string, unknown>>): Promise<number> {
  const id = Number((await service.command('POST', '/rules', { name: 'of a fault' })).body['data']?.['id']);
  const stored = await service.command('PUT', `/rules/${id}`, changes);
  if (stored.status !== 200) throw new Error(stored.text);
  return id;
}

/** The write lock of a database file, taken for two seconds at a time. */
function lockedFile(file: 'site' | 'runtime'): FaultClass {
  return {
    name: `${file}.sqlite takes nothing for 2 s at a time`,
    where: 'one machine',
    pauseMs: hardly,
    takeovers: 0,
    begin: async ({ machines }) =>
      again(async () => {
        const database = new DatabaseSync(join(machines[0]?.folders.data ?? '', `${file}.sqlite`));
        database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
        await pause(2000);
        database.exec('ROLLBACK');
        database.close();
        await pause(100);
      }),
  };
}

function silentConnections(service: TestService, count: number): Socket[] {
  const { hostname, port } = new URL(service.base);
  return Array.from({ length: count }, (_, index) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    if (index % 2 === 0) socket.write('CONNECT somewhere:1 HTTP/1.1\r\n');
    return socket;
  });
}

/** Sends this signal to the leader, and restarts it. */
function ofProcess(
  name: string,
  where: FaultClass['where'],
  begin: (machine: SiteMachine, site: FaultSite) => Promise<() => Promise<void>>,
): FaultClass {
  return {
    name,
    where,
    pauseMs: takeover,
    takeovers: 2,
    unstored: 'before',
    begin: (site) => begin(site.leader(), site),
  };
}

async function killAndStart(machine: SiteMachine): Promise<() => Promise<void>> {
  await machine.service?.stop('SIGKILL');
  const restarted = machine.start();
  return async () => void (await restarted);
}

export const faultClasses: readonly FaultClass[] = [
  ofOtherDevice(
    'refuses with any exception code',
    (device, seed) => device.refuse(exceptions[seed % exceptions.length] ?? 1),
    (device) => device.refuse(null),
  ),
  ofOtherDevice(
    'is silent',
    (device) => device.silence(true),
    (device) => device.silence(false),
  ),
  ofOtherDevice(
    'answers nonsense',
    (device) => device.babble(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')),
    (device) => device.babble(null),
  ),
  ofOtherDevice(
    'answers twice',
    (device) => device.repeat(2),
    (device) => device.repeat(1),
  ),
  ofOtherDevice(
    'is slow',
    (device) => device.delay(slowAnswerMs),
    (device) => device.delay(0),
  ),
  ofOtherDevice(
    'is away',
    (device) => device.stop(),
    (device) => device.start(),
  ),
  ofCommandedDevice(
    'refuses with any exception code',
    (device, seed) => device.refuse(exceptions[seed % exceptions.length] ?? 1),
    (device) => device.refuse(null),
  ),
  ofCommandedDevice(
    'is away',
    (device) => device.stop(),
    (device) => device.start(),
  ),
  ofCommandedDevice(
    'is silent',
    (device) => device.silence(true),
    (device) => device.silence(false),
  ),
  ofClients('every question is asked again and again', (service, count) =>
    service.read(questions[count % questions.length] ?? ''),
  ),
  ofClients('tokens that are not valid', async (service) => {
    const bad = Array.from({ length: 20 }, () =>
      fetch(`${service.base}/api/v1/automation/api/rules`, { headers: { authorization: 'Bearer x' } }),
    );
    for (const answer of await Promise.all(bad)) await answer.arrayBuffer();
  }),
  ofClients('a large rule is stored again and again', async (service, count) => {
    const id = await newRule(service, { flow_json: chainOf(60), description: String(count) });
    await service.command('DELETE', `/rules/${id}`);
  }),
  ofClients('orders to a rule that is made and deleted', async (service) => {
    const id = await newRule(service, { flow_json: pointFlow(2, 'measurement', 1), cooldown_ms: 31_622_400_000 });
    await service.command('POST', `/rules/${id}/execute`);
    await service.read(`/rules/${id}/status`);
    await service.command('DELETE', `/rules/${id}`);
  }),
  {
    name: 'reloads, each other one of a file that is refused',
    where: 'both',
    pauseMs: hardly,
    takeovers: 0,
    async begin(site) {
      const service = await anyService(site);
      const text = readFileSync(join(service.folders.config, 'site.yaml'), 'utf8');
      const stop = again(async (count) => {
        service.folders.write('site.yaml', count % 2 === 0 ? 'schema: nonsense' : text);
        await service.command('POST', '/scheduler/reload');
      });
      return async () => {
        await stop();
        service.folders.write('site.yaml', text);
      };
    },
  },
  {
    name: '600 connections that say nothing, and CONNECT',
    where: 'both',
    pauseMs: hardly,
    takeovers: 0,
    async begin({ machines }) {
      const sockets = machines.flatMap(({ service }) => (service === null ? [] : silentConnections(service, 600)));
      return async () => {
        for (const socket of sockets) socket.destroy();
      };
    },
  },
  {
    name: 'two rules that start each other',
    where: 'both',
    pauseMs: hardly,
    takeovers: 0,
    async begin(site) {
      const service = await anyService(site);
      const chain = async (from: number, to: number): Promise<number> => {
        const trigger_config = {
          type: 'on_change',
          point_refs: [{ instance: 2, point_type: 'measurement', point: from }],
          time_deadband_ms: 0,
          value_deadband: null,
        };
        const flow = editorFlow('x > -1000000') as {
          nodes: { id: string; data?: { config: Record<string, unknown> } }[];
        };
        for (const { id, data } of flow.nodes) {
          if (data === undefined) continue;
          if (id === 'read')
            data.config['variables'] = [{ name: 'x', instance: 2, point_type: 'measurement', point: from }];
          if (id === 'act')
            data.config['writes'] = [{ instance: 2, point_type: 'measurement', point: to, value: 'x + 1' }];
        }
        const id = await newRule(service, { flow_json: flow, trigger_config });
        await service.command('POST', `/rules/${id}/enable`);
        return id;
      };
      const ids = [await chain(1, 2), await chain(2, 1)];
      const begin = await newRule(service, { flow_json: pointFlow(2, 'measurement', 1) });
      await service.command('POST', `/rules/${begin}/execute`);
      return async () => {
        for (const id of [...ids, begin]) await service.command('DELETE', `/rules/${id}`);
      };
    },
  },
  lockedFile('runtime'),
  lockedFile('site'),
  { ...ofProcess('kill -9', 'one machine', killAndStart), takeovers: 0 },
  ofProcess('kill -9 of the leader', 'three machines', killAndStart),
  ofProcess('the leader is frozen', 'three machines', async ({ service }) => {
    service?.process.kill('SIGSTOP');
    return async () => void service?.process.kill('SIGCONT');
  }),
  {
    ...ofProcess('the leader is cut off from the database', 'three machines', async (machine, site) => {
      site.gateOf(machine)?.shut();
      return async () => site.gateOf(machine)?.reopen();
    }),
    unstored: 'during',
  },
  {
    ...ofProcess('the database is killed', 'three machines', async (_, { postgres }) => {
      await postgres?.kill();
      return async () => postgres?.start();
    }),
    // Without a database nobody may control after the end of the lease.
    pauseMs: 20_000,
    unstored: 'during',
  },
];

/** How long a fault lasts. */
export const faultMs = 4000;

export function nowMs(): number {
  return systemClock.monotonicMs();
}
