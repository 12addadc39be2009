/**
 * The disk writes of a site, as the kernel counts them for the process (/proc, so on Linux only): 20 rules of one second that
 * have nothing to do, and 1000 that act each second. Limits: 20 kB/s and 1 MB/s. History is stored in blocks of a minute, so what is
 * counted is a whole number of them. Then what recording 100 points that change each second writes in its second hour, in simulated
 * time, beside storing each second by itself.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../src/base/log.ts';
import type { HistoryRow } from '../src/historian/historian.ts';
import { historyLimits } from '../src/historian/limits.ts';
import { openHistorian } from '../src/historian/open-historian.ts';
import { RowQueue } from '../src/historian/row-queue.ts';
import { openHistoryJournal } from '../src/historian/waiting-journal.ts';
import { quality } from '../src/site/quality.ts';
import { simulatedClock } from '../src/testing/simulated-clock.ts';
import { type RunningSite, siteFolders, startSite } from './fixture/running-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { idle, acting, seconds, settleSeconds, points, recordedSeconds } = sizes(
  { idle: 20, acting: 1000, seconds: 120, settleSeconds: 15, points: 100, recordedSeconds: 3600 },
  { idle: 2, acting: 3, seconds: 1, settleSeconds: 0.1, points: 2, recordedSeconds: 60 },
);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const firstPoint = 10;

const siteWith = (points: number): string => `schema: svc.site.v1
site: { id: plant, name: Plant, timezone: UTC }
channels:
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: tank
    points:
      - { id: 1, name: level, kind: measurement, unit: m, channel: derived }
${Array.from({ length: points }, (_, at) => `      - { id: ${at + firstPoint}, name: pump${at}, kind: action, unit: kW, channel: derived }`).join('\n')}
`;

const at = { x: 0, y: 0 };
const node = (id: string, type: string, config: object) => ({ id, type, position: at, data: { config } });
const writing = (instance: number, point_type: string, point: number, value: number) => ({
  writes: [{ instance, point_type, point, value }],
  wires: { default: ['end'] },
});
const flowOf = (...nodes: object[]) => ({ nodes: [...nodes, node('end', 'end', {})], edges: [] });
const feed = flowOf(
  node('start', 'start', { wires: { default: ['feed'] } }),
  node('feed', 'action', writing(1, 'measurement', 1, 20)),
);
const ruleOf = (point: number, when: string) =>
  flowOf(
    node('start', 'start', { wires: { default: ['read'] } }),
    node('read', 'input', {
      variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
      wires: { default: ['decide'] },
    }),
    node('decide', 'decision', { branches: [{ name: 'high', when }], wires: { high: ['act'], else: ['end'] } }),
    node('act', 'action', writing(1, 'action', point, 5)),
  );

async function newRule(running: RunningSite, flow_json: object, interval_ms: number): Promise<number> {
  const { id } = (await running.call('POST', '/rules', { name: 'bench', confirmed: true })) as { id: number };
  const trigger_config = { type: 'interval', interval_ms };
  await running.call('PUT', `/rules/${id}`, { flow_json, trigger_config, confirmed: true });
  await running.call('POST', `/rules/${id}/enable`, { confirmed: true });
  return id;
}

function writtenBy(pid: number | 'self' | undefined): { readonly called: number; readonly disk: number } {
  const text = readFileSync(`/proc/${pid}/io`, 'utf8');
  const of = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1]);
  return { called: of('wchar'), disk: of('write_bytes') };
}

async function measure(what: string, rules: number, when: string, limitKbs: number): Promise<void> {
  const folders = siteFolders(siteWith(rules), 'http: { mutations_per_minute: 1000000 }\n');
  const running = await startSite(folders);
  const feeding = await newRule(running, feed, 86_400_000);
  await running.call('POST', `/rules/${feeding}/execute`, { confirmed: true });
  for (let index = 0; index < rules; index++) await newRule(running, ruleOf(firstPoint + index, when), 1000);
  const executions = async (): Promise<number> =>
    ((await running.call('GET', '/scheduler/status')) as { executions: number }).executions;
  await pause(settleSeconds * 1000);
  const [before, ranBefore] = [writtenBy(running.process.pid), await executions()];
  await pause(seconds * 1000);
  const [after, ran] = [writtenBy(running.process.pid), (await executions()) - ranBefore];
  const [called, disk] = (['called', 'disk'] as const).map((name) => (after[name] - before[name]) / seconds / 1000);
  console.log(
    `${rules} rules of one second that ${what}, ${(ran / seconds).toFixed(0)} runs a second: ${called?.toFixed(1)} kB/s written, ${disk?.toFixed(1)} kB/s to the disk, ${((disk ?? 0) / limitKbs).toFixed(2)} of the limit of ${limitKbs} kB/s`,
  );
  if ((disk ?? 0) > limitKbs) limitMissed();
  await running.stop();
  folders.remove();
}

/** Bytes per second that recording has written in the second of two equal spans, when each series has pages of its own. */
async function recording(block_ms: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-'));
  const file = join(folder, 'history.sqlite');
  const historian = openHistorian(file, historyLimits);
  const clock = simulatedClock();
  const journal = openHistoryJournal(join(folder, 'journal-history'), file);
  const limits = { ...historyLimits, block_ms };
  const queue = new RowQueue({ historian, journal, limits, clock, log: silentLog });
  let before = 0;
  for (let second = 0; second < 2 * recordedSeconds; second++) {
    if (second === recordedSeconds) before = writtenBy('self').called;
    clock.advance(1000);
    const nowMs = clock.wallMs();
    const rowOf = (_: unknown, at: number): HistoryRow => {
      const value = Math.sin(second * (at + 1)) * 100;
      return {
        series: { instance: 1, point: at + 1 },
        eventMs: nowMs,
        ingestedMs: nowMs,
        value,
        quality: quality.good,
      };
    };
    queue.add(Array.from({ length: points }, rowOf));
    do await queue.flush();
    while (queue.isBehind);
  }
  const written = writtenBy('self').called - before;
  await historian.close();
  rmSync(folder, { recursive: true });
  return written / recordedSeconds / 1000;
}

async function measureRecording(): Promise<void> {
  const [each, waiting] = [await recording(0), await recording(historyLimits.block_ms)];
  const share = waiting / each;
  console.log(
    `${points} points that change each second: ${waiting.toFixed(1)} kB/s written with a journal and blocks of ${historyLimits.block_ms / 1000} s, ${share.toFixed(2)} of the ${each.toFixed(1)} kB/s of storing each second (limit 0.1)`,
  );
  if (share > 0.1) limitMissed();
}

await measureRecording();
await measure('have nothing to do', idle, 'x > 1000', 20);
await measure('act', acting, 'x > 10', 1000);
