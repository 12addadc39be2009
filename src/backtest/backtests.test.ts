/** Backtests beside the service [rules §10.5]: how many, how long, and who may see them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { automationLimits } from '../automation/limits.ts';
import { createRunStore } from '../automation/store/run-store.ts';
import { openRuntimeDatabase } from '../automation/store/runtime-database.ts';
import { systemClock } from '../base/clock.ts';
import { firstIdAt } from '../base/id.ts';
import { historyLimits } from '../historian/limits.ts';
import { openHistorian } from '../historian/open-historian.ts';
import { engineRule, tankSite } from '../testing/tank-site.ts';
import { Backtests } from './backtests.ts';
import { type BacktestJob, runBacktest } from './job.ts';
import { ruleBacktestLimits } from './limits.ts';

describe('[rules §10.5] backtests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'backtests-'));
  const [history, runtime] = [join(folder, 'history.sqlite'), join(folder, 'runtime.sqlite')];
  beforeAll(async () => {
    await openRuntimeDatabase(runtime).close();
    const historian = openHistorian(history, historyLimits);
    await historian.append([{ series: { instance: 1, point: 1 }, eventMs: 1, ingestedMs: 1, value: 1, quality: 1 }]);
    await historian.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** A rule evaluated at each tick of `days`: 864,000 times a day. */
  const job = (days: number, limits: Partial<BacktestJob['limits']> = {}): BacktestJob => ({
    mode: 'recorded',
    plant: null,
    site: tankSite,
    parameters: tankSite.parameters,
    candidate: engineRule(1, { trigger_config: '{"type":"interval","interval_ms":1}' }),
    running: null,
    baseline: null,
    revisions: [1],
    fromMs: 0,
    toMs: days * 86_400_000,
    pointsMax: 10,
    limits: { ...ruleBacktestLimits, ...automationLimits, evaluations_max: 100_000_000, concurrent_max: 1, ...limits },
    historyLimits,
    history,
    runtime,
  });
  const short = job(0.001);

  test('of more recorded runs than recorded_runs_max the newest are compared, with a note', async () => {
    const store = openRuntimeDatabase(runtime);
    await createRunStore(store).append({
      rows: [1000, 2000, 3000].map((atMs) => {
        const run = {
          execution_id: `${firstIdAt(atMs)}-7000-8000-000000000000`,
          rule_id: 1,
          rule_revision: 1,
          started_at: new Date(atMs).toISOString(),
          trigger: { type: 'interval' },
          outcome: 'no_action',
          execution_path: ['s', 'i', 'd', 'e'],
          actions_executed: [],
          variable_values: { x: 1, limit: 10 },
        };
        return { execution_id: run.execution_id, rule_id: 1, unchanged: true, record: JSON.stringify(run) };
      }),
      states: [],
      gone: [],
      claims: [],
      segments: [],
    });
    await store.close();
    const all = await runBacktest(job(0.001, { recorded_runs_max: 3 }));
    expect([all.agreement?.compared, all.agreement?.equal]).toEqual([3, 3]);
    expect(all.notes).not.toContain('newest-recorded-runs');
    const newest = await runBacktest(job(0.001, { recorded_runs_max: 2 }));
    expect([newest.agreement?.compared, newest.agreement?.equal]).toEqual([2, 2]);
    expect(newest.notes).toContain('newest-recorded-runs');
  });

  test('a backtest whose caller cancelled ends and frees its slot', async () => {
    const backtests = new Backtests(systemClock);
    const caller = new AbortController();
    const long = backtests.run(job(100), caller.signal);
    await expect(backtests.run(short)).rejects.toMatchObject({ code: 'backtest-busy', retryable: true });
    caller.abort();
    await expect(long).rejects.toMatchObject({ code: 'not-ready' });
    expect(await backtests.run(short)).toMatchObject({ evaluations: 864 });
  });

  test('one that takes longer than its deadline ends, and makes room', async () => {
    const backtests = new Backtests(systemClock);
    await expect(backtests.run(job(100, { deadline_ms: 500 }))).rejects.toMatchObject({ code: 'deadline-exceeded' });
    expect(await backtests.run(short)).toMatchObject({ evaluations: 864 });
  });

  test('one that takes more memory than memory_mb is refused, and makes room', async () => {
    const backtests = new Backtests(systemClock);
    // It takes the other branch at each tick, and every decision is kept.
    const decision = { type: 'switch', branches: [{ name: 'even', when: 'floor(time_of_day() * 36000) % 2 == 0' }] };
    const nodes = {
      s: { type: 'start', wires: { default: ['d'] } },
      d: { ...decision, wires: { even: ['e'], else: ['e'] } },
      e: { type: 'end', wires: {} },
    };
    const flipping = { ...job(50, { memory_mb: 32 }) };
    const candidate = { ...flipping.candidate, nodes_json: JSON.stringify({ start_node: 's', nodes }) };
    expect((await backtests.run({ ...short, candidate })).decisions.length).toBeGreaterThan(8);
    await expect(backtests.run({ ...flipping, candidate })).rejects.toMatchObject({
      code: 'too-many-evaluations',
      message: 'the backtest would take more than 32 MB of memory; choose a shorter window',
    });
    expect(await backtests.run(short)).toMatchObject({ evaluations: 864 });
  });

  test('a service that stops ends running ones, and starts no more', async () => {
    const backtests = new Backtests(systemClock);
    const long = backtests.run(job(100));
    const ended = expect(long).rejects.toMatchObject({ code: 'not-ready' });
    await backtests.stop();
    await ended;
    await expect(backtests.run(short)).rejects.toMatchObject({ code: 'not-ready' });
  });
});
