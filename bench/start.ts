/**
 * The built program at its start: time until it is ready, and memory when it has settled, without rules, with a hundred, with
 * thousands that run every minute, and with a long audit log and its tree. Beside it the same from the sources, and Node alone.
 * Limits: 1.2 s with 100 rules, 4 s with 20,000; 150 MB for a site without rules, 400 MB with 10,000. Linux only: memory is what
 * /proc counts as resident.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDatabase } from '../src/databases/site-database.ts';
import { localScope } from '../src/gateway/local-keys.ts';
import { benchEntry, fillLog } from './fixture/audit-site.ts';
import { compiledBefore, siteFolders } from './fixture/running-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { none, few, many, most, events, settleSeconds, rounds } = sizes(
  { none: 0, few: 100, many: 10_000, most: 20_000, events: 1_000_000, settleSeconds: 15, rounds: 4 },
  { none: 1, few: 1, many: 1, most: 1, events: 1000, settleSeconds: 0.1, rounds: 1 },
);
const growDeadlineMs = 1_200_000;
/** Nothing of the log is read at a start; the rest is measurement noise. */
const longLogShare = 1.2;
const root = join(import.meta.dirname, '..');
const release = mkdtempSync(join(tmpdir(), 'setpoint-bench-release-'));
spawnSync(process.execPath, [join(root, 'setup', 'build.ts'), release]);
const programs = { built: join(release, 'dist', 'bin', 'serve.js'), sources: join(root, 'src', 'bin', 'serve.ts') };

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

/** Folders of a site with this many enabled rules. */
function siteOf(rules: number) {
  const folders = siteFolders(site);
  const env = environment(folders);
  const list = Array.from({ length: rules }, (_, each) => ({
    name: `rule ${each}`,
    trigger_config: { type: 'interval', interval_ms: 60_000 },
    flow_json,
  }));
  const file = join(folders.config, 'rules.json');
  writeFileSync(file, JSON.stringify({ schema: 'svc.rules.v1', rules: list }));
  const imported = spawnSync(
    process.execPath,
    [join(root, 'src', 'bin', 'setpoint.ts'), 'rules', 'import', file, '--confirmed'],
    { env, encoding: 'utf8' },
  );
  if (rules > 0 && imported.status !== 0) throw new Error(imported.stderr);
  if (rules > 0) {
    const database = new DatabaseSync(join(folders.data, 'site.sqlite'));
    database.exec('UPDATE rules SET enabled = 1');
    database.close();
  }
  return folders;
}

function environment({ config, data }: { readonly config: string; readonly data: string }): NodeJS.ProcessEnv {
  const own = { SVC_HTTP_PORT: '0', SVC_CONFIG_DIR: config, SVC_DATA_DIR: data, MALLOC_ARENA_MAX: '2' };
  // Reuses the caller's compile cache, if set.
  return { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...own };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const residentMb = ({ pid }: ChildProcess): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Starts it, and keeps it for as long as `until` takes, which sees what the service logged. */
async function started(
  program: string,
  folders: ReturnType<typeof siteOf>,
  until: (output: () => string) => Promise<void> = async () => undefined,
) {
  const beganMs = performance.now();
  const env = { ...environment(folders), ...(program === programs.sources ? compiledBefore : {}) };
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const listen = (chunk: Buffer): void => {
      output += chunk.toString();
      if (output.includes('"listening"')) resolve();
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.on('exit', () => reject(new Error(output)));
  });
  const readyMs = performance.now() - beganMs;
  child.removeAllListeners('exit');
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    await until(() => output);
    return { readyMs, memoryMb: residentMb(child) };
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

const settled = (): Promise<void> => pause(settleSeconds * 1000);

/** Starts, in turns, a site without an audit log and one with a long log, whose tree the service has built and signed. */
async function withLongLog(): Promise<void> {
  const short = siteOf(0);
  const long = siteOf(0);
  for (const folders of [short, long]) await started(programs.built, folders);
  await fillAndSign(long);
  const ready = new Map([short, long].map((folders) => [folders, [] as number[]]));
  for (let round = 0; round < rounds; round++)
    for (const [folders, times] of ready) times.push((await started(programs.built, folders)).readyMs);
  const [shortMs, longMs] = [median(ready.get(short) ?? []), median(ready.get(long) ?? [])];
  console.log(
    `${events} audit events and their tree: ready in ${longMs.toFixed(0)} ms, without events ${shortMs.toFixed(0)} ms`,
  );
  missed(
    longMs > longLogShare * shortMs,
    `a start with ${events} events takes more than ${longLogShare} times one without`,
  );
  short.remove();
  long.remove();
}

async function fillAndSign(folders: ReturnType<typeof siteOf>): Promise<void> {
  const scope = localScope(folders.data);
  const database = openDatabase(join(folders.data, 'site.sqlite'));
  // Denied events need no conclusion; a start records one for each accepted event that has none.
  await fillLog({ database, scope }, events, (index) => ({ ...benchEntry(index), outcome: 'denied' }));
  await database.close();
  await started(programs.built, folders, async (output) => {
    const deadline = performance.now() + growDeadlineMs;
    while (signedIn(output()) < events) {
      if (performance.now() > deadline) throw new Error(`the tree of ${events} events is not signed: ${output()}`);
      await pause(200);
    }
  });
}

/** The newest sequence number of a signed checkpoint in the log lines. */
function signedIn(output: string): number {
  const signed = [...output.matchAll(/"log":"events".*?"sequence":"(\d+)"/g)].map(([, sequence]) => Number(sequence));
  return Math.max(0, ...signed);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const missed = (isMissed: boolean, what: string): void => {
  if (!isMissed) return;
  console.log(`limit missed: ${what}`);
  limitMissed();
};

try {
  const bare = spawn(process.execPath, ['-e', 'setTimeout(() => undefined, 10_000)']);
  await pause(1000);
  console.log(`node alone: ${residentMb(bare).toFixed(0)} MB resident`);
  bare.kill();
  for (const rules of new Set([none, few, many, most])) {
    const folders = siteOf(rules);
    for (const [name, program] of Object.entries(programs)) {
      // The first start creates the databases, or loads them into the system's memory for the next one.
      await started(program, folders);
      const readyMs: number[] = [];
      let memoryMb = Number.NaN;
      for (let round = 1; round <= rounds; round++) {
        const start = await started(program, folders, round === rounds ? settled : undefined);
        readyMs.push(start.readyMs);
        memoryMb = start.memoryMb;
      }
      console.log(
        `${rules} rules, ${name}: ready in ${median(readyMs).toFixed(0)} ms, ${memoryMb.toFixed(0)} MB resident`,
      );
      if (name !== 'built') continue;
      missed(rules === none && memoryMb > 150, 'a site without rules holds more than 150 MB');
      missed(rules === few && median(readyMs) > 1200, `ready later than 1.2 s with ${few} rules`);
      missed(rules === many && memoryMb > 400, `more than 400 MB with ${many} rules`);
      missed(rules === most && median(readyMs) > 4000, `ready later than 4 s with ${most} rules`);
    }
    folders.remove();
  }
  await withLongLog();
} finally {
  rmSync(release, { recursive: true, force: true });
}
