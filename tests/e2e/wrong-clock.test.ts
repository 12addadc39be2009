/** A service whose wall clock is years ahead keeps its stored data [platform §1.4]. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { dayMs } from '../../src/base/timestamp.ts';
import { folders, start } from './per-test.ts';
import {
  editorFlow,
  runCommand,
  serviceEnvironment,
  type TestService,
  virtualSite,
  waitFor,
} from './running-service.ts';

const preload = pathToFileURL(join(import.meta.dirname, 'years-ahead.ts')).href;
/** Longer than the intervals below. */
const wrongForMs = 3000;
const soon = `
history: { prune_interval_ms: 100 }
automation: { history_prune_interval_ms: 100, record_flush_ms: 100 }
audit: { retention_days: 30, retention_interval_ms: 1000 }
`;

test('history, executions and audit events are all there after a run with a clock that is five years ahead', async () => {
  const of = folders(virtualSite.replace('unit: m, channel', 'unit: m, record: true, channel'));
  of.write('service.yaml', soon);
  const setpoint = (...args: string[]) => {
    const { status, stdout, stderr } = runCommand('setpoint', args, serviceEnvironment(of));
    expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
    return stdout;
  };
  const service = await start(of);
  await service.command('POST', '/rules', { name: 'one' });
  await service.command('PUT', '/rules/1', { flow_json: editorFlow() });
  const ran = await service.command('POST', '/rules/1/execute');
  expect(ran.status).toBe(200);
  const file = join(of.config, 'level.csv');
  const instants = Array.from({ length: 300 }, (_, day) => new Date(Date.now() - day * dayMs).toISOString());
  writeFileSync(file, `time,value\n${instants.map((at, day) => `${at},${day}\n`).join('')}`);
  setpoint('history', 'import', file, '--point', '1:1');
  const runs = async ({ read }: TestService) => (await read('/rules/1/history')).body;
  await waitFor(async () => JSON.stringify(await runs(service)).includes('execution_id'));
  const executions = await runs(service);
  await service.stop();
  const kept = () => [setpoint('history', 'export', '--point', '1:1'), setpoint('audit', 'export')];
  const before = kept();

  const wrong = await start(of, { NODE_OPTIONS: `--import ${preload}` });
  await new Promise((resolve) => setTimeout(resolve, wrongForMs));
  await wrong.stop();
  expect(wrong.logs()).not.toContain('removed by retention');
  expect(kept()[0]).toBe(before[0]);
  expect(kept()[1]).toContain(before[1]?.split('\n')[1]);
  const right = await start(of);
  expect(await runs(right)).toEqual(executions);
  expect(readFileSync(join(of.data, 'retention-time'), 'utf8')).toMatch(new RegExp(`^${new Date().getUTCFullYear()}-`));
});
