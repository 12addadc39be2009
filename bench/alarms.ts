/**
 * The cost of a flood of alarms [alarms §3]. First the keeper alone: 10,000 changes a minute, each stored before it is shown, and read by
 * one stream. Then a running service whose device flips the values of many points every second: the turns of the thread that answers
 * requests and of the one that ticks, in calm and in the flood.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAlarmFeed } from '../src/alarms/alarm-feed.ts';
import { AlarmKeeper } from '../src/alarms/keeper.ts';
import { alarmLimits } from '../src/alarms/limits.ts';
import { unseen } from '../src/alarms/site-now.ts';
import type { AlarmSource } from '../src/alarms/source/source.ts';
import { createAlarmStore } from '../src/alarms/store/alarm-store.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { openDatabaseApart } from '../src/databases/site-database.ts';
import { startModbusDevice } from '../src/testing/modbus-server.ts';
import { siteFolders, startSite } from './fixture/running-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { looks, changes, seconds } = sizes(
  { looks: 60, changes: 10_000, seconds: 30 },
  { looks: 3, changes: 500, seconds: 2 },
);
const turnLimitMs = 25;
/** Alarms that change at once. */
const pointCount = Math.ceil(changes / looks);

let look = 0;
const source: AlarmSource = {
  owns: () => true,
  look: () =>
    Array.from({ length: pointCount }, (_, at) => ({
      facts: {
        id: `alarm-${at}`,
        name: `Alarm ${at}`,
        priority: 'high' as const,
        message: null,
        point: null,
        threshold: null,
      },
      raw: look % 2 === 1,
      delayMs: 0,
    })),
};

const sources = [source];
const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-'));
const database = await openDatabaseApart(join(folder, 'site.sqlite'), systemClock, silentLog);
const store = createAlarmStore(database);
const keeper = new AlarmKeeper({
  sources: () => sources,
  store,
  view: async () => ({ ...unseen, nowMs: systemClock.monotonicMs() }),
  controls: () => true,
  shared: false,
  clock: systemClock,
  retention: { nowMs: systemClock.wallMs },
  log: silentLog,
  // Checked by hand below.
  limits: { ...alarmLimits, interval_ms: 60_000 },
});
await keeper.open();
let bytes = 0;
createAlarmFeed(keeper, systemClock).follow(undefined, (changed) => {
  bytes += JSON.stringify(changed).length;
  return true;
});
let longestMs = 0;
const over = new AbortController();
const watching = (async () => {
  for (let lastMs = systemClock.monotonicMs(); !over.signal.aborted; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const nowMs = systemClock.monotonicMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
})();
// The first pass warms up.
await keeper.look();
longestMs = 0;
const beganMs = systemClock.monotonicMs();
for (look = 1; look <= looks; look++) await keeper.look();
const tookMs = systemClock.monotonicMs() - beganMs;
over.abort();
await watching;
const stored = await store.lastSequence();
await keeper.stop();
await database.close();
rmSync(folder, { recursive: true });
console.log(
  `${stored} changes of alarms in ${looks} looks: ${(tookMs / looks).toFixed(1)} ms a look, ${bytes} bytes to one stream`,
);
console.log(
  `  longest turn ${longestMs.toFixed(1)} ms, ${(longestMs / turnLimitMs).toFixed(2)} of the limit of ${turnLimitMs} ms`,
);
if (longestMs > turnLimitMs) limitMissed();

/** Registers of one read request. */
const pointsPerInstance = 100;

function floodSite(port: number): string {
  const instances = Array.from({ length: Math.ceil(pointCount / pointsPerInstance) }, (_, instance) => {
    const count = Math.min(pointsPerInstance, pointCount - instance * pointsPerInstance);
    const points = Array.from({ length: count }, (__, at) => {
      const register = instance * pointsPerInstance + at;
      return `      - { id: ${at}, name: p${at}, kind: measurement, unit: kW, channel: plc, address: { table: holding, register: ${register}, type: uint16 } }`;
    });
    return `  - id: ${instance}\n    name: i${instance}\n    points:\n${points.join('\n')}`;
  });
  const alarms = Array.from({ length: pointCount }, (_, at) => {
    const place = `{ instance: ${Math.floor(at / pointsPerInstance)}, point: ${at % pointsPerInstance} }`;
    return `  - { id: a${at}, name: Alarm ${at}, point: ${place}, above: 50, priority: high }`;
  });
  return `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels:
  - { id: plc, driver: modbus-tcp, host: 127.0.0.1, port: ${port}, unit_id: 1, poll_interval_ms: 200, timeout_ms: 1000, word_order: big }
instances:
${instances.join('\n')}
alarms:
${alarms.join('\n')}
`;
}

const device = await startModbusDevice();
const folders = siteFolders(floodSite(device.port));
const running = await startSite(folders);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const history = async (): Promise<number> => {
  const { list } = (await running.call('GET', '/alarms/history')) as { list: unknown[] };
  return list.length;
};
async function turnsOf(name: string, flip: boolean): Promise<void> {
  const before = await history();
  await running.turns();
  for (let second = 1; second <= seconds; second++) {
    if (flip) for (let at = 0; at < pointCount; at++) device.holding.writeUInt16BE((second % 2) * 100, at * 2);
    await pause(1000);
  }
  const { main, tick } = await running.turns();
  const counted = (await history()) - before;
  const shown = (turns: typeof main | null): string =>
    turns === null ? 'no answer' : `p99.9 ${turns.p999.toFixed(1)} ms, longest ${turns.longest.toFixed(1)} ms`;
  console.log(`${name}, ${counted} changes in ${seconds} s: HTTP thread ${shown(main)}; tick thread ${shown(tick)}`);
  if (main.p999 > turnLimitMs || (tick?.p999 ?? 0) > turnLimitMs) limitMissed();
}
// Until the points are read and the code is warm.
await pause(3000);
await turnsOf('calm', false);
await turnsOf('flood', true);
await running.stop();
await device.stop();
folders.remove();
