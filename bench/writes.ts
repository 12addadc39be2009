/**
 * The writes of a site to its disk, as the kernel counts them for the process (/proc, so on Linux only): 20 rules of one second that
 * have nothing to do, and 1000 that act each second. Limits: 20 kB/s and 1 MB/s. History is stored in blocks of a minute, so what is
 * counted is a whole number of them.
 */
import { readFileSync } from 'node:fs';
import { type RunningSite, siteFolders, startSite } from './fixture/running-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { idle, acting, seconds, settleSeconds } = sizes(
  { idle: 20, acting: 1000, seconds: 120, settleSeconds: 15 },
  { idle: 2, acting: 3, seconds: 1, settleSeconds: 0.1 },
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

function writtenBy({ process: { pid } }: RunningSite): { readonly called: number; readonly disk: number } {
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
  const [before, ranBefore] = [writtenBy(running), await executions()];
  await pause(seconds * 1000);
  const [after, ran] = [writtenBy(running), (await executions()) - ranBefore];
  const [called, disk] = (['called', 'disk'] as const).map((name) => (after[name] - before[name]) / seconds / 1000);
  console.log(
    `${rules} rules of one second that ${what}, ${(ran / seconds).toFixed(0)} runs a second: ${called?.toFixed(1)} kB/s written, ${disk?.toFixed(1)} kB/s to the disk, ${((disk ?? 0) / limitKbs).toFixed(2)} of the limit of ${limitKbs} kB/s`,
  );
  if ((disk ?? 0) > limitKbs) limitMissed();
  await running.stop();
  folders.remove();
}

await measure('have nothing to do', idle, 'x > 1000', 20);
await measure('act', acting, 'x > 10', 1000);
