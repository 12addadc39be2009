/** `npm start` as a process [platform §1.2]: ready at once, in control within a minute, stopped and continued. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { issueToken } from '../../src/gateway/identity.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import { compiledOnce, programFile } from './running-service.ts';

interface Demo {
  readonly process: ChildProcess;
  readonly address: string;
  readonly screen: string;
  readonly readyMs: number;
}

interface RunRecord {
  readonly execution_id: string;
  readonly outcome: string;
  readonly matched_condition: string | null;
  readonly variable_values: Readonly<Record<string, number>>;
  readonly actions_executed: readonly {
    readonly instance: number;
    readonly point: number;
    readonly success: boolean;
  }[];
}

/** Three seconds on an idle machine; this one may be running other tests. */
const readyDeadlineMs = 30_000;

let dataDir = '';
let running: ChildProcess | undefined;

const environment = () => ({
  ...process.env,
  ...compiledOnce,
  SVC_DATA_DIR: dataDir,
  SVC_HTTP_PORT: '0',
  SVC_LOG_LEVEL: 'warn',
});

async function until<T>(deadlineMs: number, what: string, look: () => Promise<T | null> | T | null): Promise<T> {
  const endMs = systemClock.monotonicMs() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (systemClock.monotonicMs() > endMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await sleep(systemClock, 50);
  }
}

async function start(...args: string[]): Promise<Demo> {
  const beganMs = systemClock.monotonicMs();
  const child = spawn(process.execPath, [programFile('start'), ...args], { env: environment() });
  running = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const screen = await until(readyDeadlineMs, 'the screen', () => {
    if (child.exitCode !== null) throw new Error(`the demo ended: ${output}`);
    return output.includes('Ctrl-C ends it') ? output : null;
  });
  const address = /http:\/\/\S+/.exec(screen)?.[0];
  if (address === undefined) throw new Error(`no address on the screen: ${screen}`);
  return { process: child, address, screen, readyMs: systemClock.monotonicMs() - beganMs };
}

async function interrupt(demo: Demo): Promise<number | null> {
  demo.process.kill('SIGINT');
  await until(10_000, 'the end after Ctrl-C', () =>
    demo.process.exitCode === null && demo.process.signalCode === null ? null : true,
  );
  return demo.process.exitCode;
}

function token(): Promise<string> {
  const issuedAtSeconds = Math.floor(Date.now() / 1000);
  const claims = { subject: 'you', role: 'Engineer', issuedAtSeconds, lifetimeSeconds: 3600 } as const;
  return issueToken(signingKey(dataDir), claims);
}

/** The commands on the screen, run in another terminal: with an empty environment, and no packages to install. */
function runOnScreen(screen: string) {
  const [, told = ''] = /In another terminal:\n([^]*?)\n\n/.exec(screen) ?? [];
  const script = told.replace('npm exec setpoint --', '"$0" src/bin/setpoint.ts').replace('curl', 'curl -s');
  const result = spawnSync('sh', ['-ec', script, process.execPath], {
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
  });
  const { status, stdout, stderr } = result;
  return { status, stdout, stderr };
}

async function ask<T>(demo: Demo, path: string): Promise<T> {
  const response = await fetch(`${demo.address}/api/v1/automation/api${path}`, {
    headers: { authorization: `Bearer ${await token()}` },
    signal: AbortSignal.timeout(5000),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: T }).data;
}

const historyOf = async (demo: Demo, ruleId: number): Promise<readonly RunRecord[]> =>
  (await ask<{ list: readonly RunRecord[] }>(demo, `/rules/${ruleId}/history?limit=100`)).list;

/** The load's energy meter as the rule "Daily energy" reads it now; null while there is no value. */
async function energyOf(demo: Demo): Promise<number | null> {
  const { variables } = await ask<{ variables: { name: string; value: number | null }[] }>(demo, '/rules/2/variables');
  return variables.find(({ name }) => name === 'energy_total')?.value ?? null;
}

describe('the demo site', () => {
  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), "setpoint demo's-"));
  });
  afterEach(() => {
    if (running?.exitCode === null) running.kill('SIGKILL');
  });
  afterAll(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('[platform §1.2] a first start controls the battery, and history shows why', async () => {
    const demo = await start();
    process.stderr.write(`ready after ${Math.round(demo.readyMs)} ms\n`);
    expect(demo.screen.trimEnd().split('\n').length).toBeLessThan(25);
    expect(runOnScreen(demo.screen)).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^\{"success":true,/),
      stderr: '',
    });
    const { list } = await ask<{ list: { id: number; name: string; enabled: boolean }[] }>(demo, '/rules');
    expect(list.map(({ name, enabled }) => ({ name, enabled }))).toEqual([
      { name: 'Grid import alarm', enabled: true },
      { name: 'Peak shaving', enabled: true },
      { name: 'Battery charge management', enabled: true },
      { name: 'Daily energy', enabled: true },
    ]);
    // Which of the two controls the battery depends on the plant's load at this hour of the week.
    const ids = list.flatMap(({ id, name }) => (/Battery|Peak/.test(name) ? [id] : []));
    const record = await until(60_000, 'a write of the setpoint', async () => {
      const records = (await Promise.all(ids.map((id) => historyOf(demo, id)))).flat();
      return (
        records.find(({ actions_executed: actions }) =>
          actions.some((action) => action.instance === 4 && action.success),
        ) ?? null
      );
    });
    expect(record.outcome).toBe('acted');
    expect(record.variable_values['soc']).toBeGreaterThan(50);
    expect(Object.values(record.variable_values).every(Number.isFinite)).toBe(true);
    expect(record.matched_condition).not.toBeNull();
    expect(await interrupt(demo)).toBe(0);
  });

  test('[platform §1.2] a second start continues: the same rules, their history, the state of the plant', async () => {
    const fast = await start('--speed', '600');
    expect(fast.screen).toContain('600 x true pace');
    // Ten minutes pass in a second, and the load is never zero.
    const counted = await until(20_000, 'energy on the meter', async () => {
      const energy = await energyOf(fast);
      return energy !== null && energy > 2 ? energy : null;
    });
    const [latest] = await historyOf(fast, 1);
    expect(await interrupt(fast)).toBe(0);

    const again = await start();
    expect((await ask<{ total: number }>(again, '/rules')).total).toBe(4);
    expect((await historyOf(again, 1)).map((record) => record.execution_id)).toContain(latest?.execution_id);
    const continued = await until(20_000, 'the meter after the restart', () => energyOf(again));
    expect(continued).toBeGreaterThanOrEqual(counted);
    expect(await interrupt(again)).toBe(0);
  });

  test('[platform §1.2] an unknown argument is one clear line and exit 1', () => {
    for (const args of [
      ['--speed', 'fast'],
      ['--speed', '0'],
      ['--speed', '9999'],
      ['--speed'],
      ['--sped', '2'],
      ['--speed', '2', '3'],
    ]) {
      const result = spawnSync(process.execPath, [programFile('start'), ...args], {
        env: environment(),
        encoding: 'utf8',
      });
      expect(result.status).toBe(1);
      expect(result.stderr).toBe('setpoint: usage: npm start -- --speed N, with N from 1 to 3600\n');
    }
  });
});
