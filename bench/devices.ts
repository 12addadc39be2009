/**
 * The cost of reading a large site [points §3.1]: many Modbus channels of 40 points each, polled every second on one core; how
 * late the polls reach the devices, and the processor time beside a bare client that asks for the same registers and drops them.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import Modbus from 'jsmodbus';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { idleDeviceCore } from '../src/devices/device-core.ts';
import { deviceLimits } from '../src/devices/limits.ts';
import { createPointMemory } from '../src/points/shared-memory.ts';
import { readSite } from '../src/site/site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { channels, seconds } = sizes({ channels: 100, seconds: 20 }, { channels: 4, seconds: 2 });
const pointsEach = 40;
const intervalMs = 1000;
const lateLimitMs = 100;

const devices = new Worker(new URL('./fixture/modbus-devices.ts', import.meta.url));
const [{ port }] = (await once(devices, 'message')) as [AddressInfo];

const wait = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve));
const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MB`;

async function arrivals(): Promise<number[][]> {
  const answer = once(devices, 'message');
  devices.postMessage('arrivals');
  const [found] = (await answer) as [number[][]];
  return found;
}

/** How much later each request came than the first one's rhythm demands, in milliseconds; sorted. */
function lateness(found: readonly (readonly number[])[]): number[] {
  return found
    .flatMap((times) => times.map((atMs, at) => Math.max(0, atMs - (times[0] ?? 0) - at * intervalMs)).slice(1))
    .toSorted((a, b) => a - b);
}

/** Processor time of this thread during `seconds`, in milliseconds per second. */
async function processorTime(): Promise<number> {
  const before = process.threadCpuUsage();
  await wait(seconds * 1000);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000 / seconds;
}

function site() {
  const each = Array.from({ length: channels }, (_, at) => at);
  const points = each.map((at) => ({
    id: at + 1,
    name: `device ${at}`,
    points: Array.from({ length: pointsEach }, (_, point) => ({
      id: point + 1,
      name: `p${point}`,
      kind: 'measurement',
      unit: 'kW',
      channel: `c${at}`,
      address: { table: 'holding', register: point, type: 'int16' },
    })),
  }));
  const settings = {
    driver: 'modbus-tcp',
    host: '127.0.0.1',
    port,
    unit_id: 1,
    poll_interval_ms: intervalMs,
    timeout_ms: 1000,
    word_order: 'big',
  };
  return readSite(
    JSON.stringify({
      schema: 'svc.site.v1',
      site: { id: 'bench', name: 'Bench', timezone: 'UTC' },
      channels: each.map((at) => ({ id: `c${at}`, ...settings })),
      instances: points,
    }),
    'bench.yaml',
  );
}

async function ours() {
  const read = site();
  const memory = createPointMemory(read.points, read.channels.length);
  globalThis.gc?.();
  const heapBefore = process.memoryUsage().heapUsed;
  const setup = {
    site: read,
    memory,
    generation: 1,
    limits: deviceLimits,
    materials: { simulated: new Map(), mqtt: new Map() },
  };
  const core = idleDeviceCore(setup, systemClock, silentLog);
  core.connect();
  await wait(intervalMs);
  const cpu = await processorTime();
  const late = lateness(await arrivals());
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed - heapBefore;
  await core.stop();
  return { cpu, late, heap };
}

async function bare(): Promise<number> {
  const sockets = Array.from({ length: channels }, () => {
    const socket = new Socket();
    const client = new Modbus.client.TCP(socket, 1, 1000);
    socket.connect({ host: '127.0.0.1', port });
    return { socket, client };
  });
  await Promise.all(sockets.map(({ socket }) => once(socket, 'connect')));
  let stopped = false;
  const poll = (): void => {
    if (stopped) return;
    for (const { client } of sockets) client.readHoldingRegisters(0, pointsEach).catch(() => undefined);
    systemClock.after(intervalMs, poll);
  };
  poll();
  await wait(intervalMs);
  const cpu = await processorTime();
  stopped = true;
  for (const { socket } of sockets) socket.destroy();
  await arrivals();
  return cpu;
}

const own = await ours();
const peer = await bare();
const share = (part: number): number =>
  own.late[Math.min(own.late.length - 1, Math.floor(own.late.length * part))] ?? Number.NaN;
console.log(`${channels} channels of ${pointsEach} points every ${intervalMs} ms, ${own.late.length} polls:`);
console.log(
  `  late p50 ${share(0.5).toFixed(1)} ms, p99 ${share(0.99).toFixed(1)} ms: ${(share(0.99) / lateLimitMs).toFixed(2)} of the limit of ${lateLimitMs} ms`,
);
console.log(
  `  ${own.cpu.toFixed(1)} ms of processor time a second, ${(own.cpu / peer).toFixed(2)} of jsmodbus that drops what it reads (${peer.toFixed(1)} ms)`,
);
console.log(`  ${megabytes(own.heap)} of heap, ${megabytes(process.memoryUsage().rss)} resident with the devices`);
if (share(0.99) > lateLimitMs) limitMissed();
await devices.terminate();
