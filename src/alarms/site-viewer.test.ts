import { describe, expect, test } from 'vitest';
import type { EngineStatus } from '../automation/engine-contract.ts';
import { Fault } from '../base/fault.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { alarmLimits } from './limits.ts';
import { SiteViewer, type SiteViewerParts } from './site-viewer.ts';

const level = { instance: 1, point_type: 'measurement', point: 1 };

function bench(more: Partial<SiteViewerParts> = {}) {
  const clock = simulatedClock();
  const site = {
    restarts: 0,
    commitMs: 0,
    commits: 0,
    writable: true,
    engine: true,
    missed: 0,
    lost: 0,
    failed: [] as object[],
  };
  const ask = async (method: string): Promise<unknown> => {
    if (!site.engine) throw new Fault('engine-unavailable', 'away');
    if (method === 'failedCommands') return site.failed;
    if (method === 'unusableInputs') return [{ point: level, rules: 7, rule_ids: [3, 4] }];
    return method === 'troubles' ? [{ rule_id: 3, outcome: 'failed', reason: 'x' }] : [];
  };
  const viewer = new SiteViewer({
    clock,
    limits: alarmLimits,
    sample: async () => null,
    channels: () => [],
    pointErrors: async () => [{ index: 3, code: 'refused', message: 'exception 2', atMs: 0 }] as never,
    certificates: () => [],
    engine: {
      ask: ask as SiteViewerParts['engine']['ask'],
      restarts: () => site.restarts,
      status: async () =>
        site.engine
          ? ({
              tick_interval_ms: 100,
              overruns: site.missed,
              records_dropped: site.lost,
              rules_failed: [{ id: 3, code: 'invalid-flow' }],
            } as unknown as EngineStatus)
          : null,
    },
    rules: { names: async () => new Map([[3, 'shave']]) },
    standbyMissing: () => false,
    clockAheadMs: () => null,
    auditBroken: () => null,
    silentWitnesses: () => [],
    failedForecasts: () => [],
    failingReceivers: () => [],
    auditWritable: async () => site.writable,
    async commit() {
      site.commits++;
      clock.advance(site.commitMs);
    },
    freeBytes: async () => 7,
    historyStored: async () => true,
    lastBackupMs: () => null,
    configurationValid: async () => true,
    ...more,
  });
  /** A view after `ms`, once its background work has finished. */
  const after = async (ms: number) => {
    clock.advance(ms);
    await viewer.view();
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    return viewer.view();
  };
  return { clock, site, viewer, after };
}

describe('[alarms §2] the view of a site', () => {
  test('rules in trouble with their names; an engine that does not answer says nothing', async () => {
    const { site, after } = bench();
    expect((await after(0)).troubles).toEqual([{ rule_id: 3, outcome: 'failed', reason: 'x', name: 'shave' }]);
    expect((await after(0)).unrunnable).toEqual([{ rule_id: 3, code: 'invalid-flow', name: 'shave' }]);
    expect((await after(0)).unusableInputs).toEqual([{ point: level, rules: 7, names: ['shave', '4'] }]);
    expect(await after(0)).toMatchObject({ failedCommands: [], pointErrors: new Map() });
    site.failed = [level];
    expect(await after(0)).toMatchObject({ failedCommands: [level], pointErrors: new Map([[3, 'exception 2']]) });
    site.engine = false;
    expect(await after(0)).toMatchObject({ troubles: null, unrunnable: null, unusableInputs: null, grants: null });
  });

  test('of rules that read an unusable input, the names of 100 are read; others have their number', async () => {
    const asked: number[] = [];
    const ids = Array.from({ length: 101 }, (_, at) => at + 1);
    const { after } = bench({
      engine: {
        ask: (async (method: string) =>
          method === 'unusableInputs'
            ? [{ point: level, rules: 101, rule_ids: ids }]
            : []) as SiteViewerParts['engine']['ask'],
        restarts: () => 0,
        status: async () => null,
      },
      rules: {
        names: async (wanted) => {
          asked.push(wanted.length);
          return new Map(wanted.map((id) => [id, `rule ${id}`]));
        },
      },
    });
    const [input] = (await after(0)).unusableInputs ?? [];
    expect(input?.names.slice(98)).toEqual(['rule 99', 'rule 100', '101']);
    expect(new Set(asked)).toEqual(new Set([100]));
  });

  test('certificates within `certificate_notice_ms` of their end, at its edge; without one, an unknown one leaves it open', async () => {
    const endMs = Date.parse('2030-01-01T00:00:00Z');
    const known = { what: 'cert.pem of channel broker', validity: { beginMs: 0, endMs } };
    let certificates: ReturnType<SiteViewerParts['certificates']> = [known];
    const { clock, after } = bench({ certificates: () => certificates });
    const notice = endMs - alarmLimits.certificate_notice_ms;
    const seen = async () => (await after(0)).endingCertificates;
    clock.advance(notice - 1 - clock.wallMs());
    expect(await seen()).toEqual([]);
    certificates = [known, { what: 'the broker', validity: null }];
    expect(await seen()).toBeNull();
    clock.advance(1);
    expect(await seen()).toEqual([{ what: known.what, endMs }]);
  });

  test('`probe_interval_ms`: storage is tried no more often', async () => {
    const { site, after } = bench();
    await after(0);
    await after(alarmLimits.probe_interval_ms - 1);
    expect(site.commits).toBe(1);
    expect((await after(1)).probes).toEqual({
      auditWritable: true,
      storageSlow: false,
      freeBytes: 7,
      historyStored: true,
      backup: { lastMs: null, isOverdue: false },
      configurationValid: true,
    });
    expect(site.commits).toBe(2);
  });

  test('`storage_slow_ms`: three commits in a row that take longer, and not one at the limit', async () => {
    const { site, after } = bench();
    const slow: (boolean | null)[] = [];
    for (const ms of [1001, 1001, 1000, 1001, 1001, 1001, 0]) {
      site.commitMs = ms;
      slow.push((await after(alarmLimits.probe_interval_ms)).probes.storageSlow);
    }
    expect(slow).toEqual([false, false, false, false, false, true, false]);
  });

  test('history that is not recorded, or whose recorder does not answer, is not stored', async () => {
    const outcomes: (() => Promise<boolean>)[] = [
      async () => true,
      async () => false,
      () => Promise.reject(new Fault('storage-unavailable', 'away')),
      async () => true,
    ];
    const { after } = bench({ historyStored: () => (outcomes.shift() ?? (async () => true))() });
    const seen: (boolean | null)[] = [];
    for (let look = 0; look < 4; look++) seen.push((await after(alarmLimits.probe_interval_ms)).probes.historyStored);
    expect(seen).toEqual([true, false, false, true]);
  });

  test('`backup_overdue_ms`, at its edge; a backup of the future counts no more than an old one; 0 expects none', async () => {
    const limits = { ...alarmLimits, backup_overdue_ms: 60_000 };
    let ageMs = 60_000;
    const { clock, after } = bench({ limits, lastBackupMs: () => clock.wallMs() - ageMs });
    const overdue = async () => (await after(alarmLimits.probe_interval_ms)).probes.backup?.isOverdue;
    const seen: unknown[] = [];
    for (ageMs of [60_000, 60_001, -60_000, -60_001]) seen.push(await overdue());
    expect(seen).toEqual([false, true, false, true]);
    const never = bench({ limits });
    expect((await never.after(0)).probes.backup).toEqual({ lastMs: null, isOverdue: true });
    expect((await bench().after(0)).probes.backup).toEqual({ lastMs: null, isOverdue: false });
  });

  test('`probe_timeout_ms`: an audit log that does not answer cannot store an event, and the other views continue', async () => {
    const { clock, viewer } = bench({ auditWritable: () => new Promise(() => undefined) });
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    };
    await viewer.view();
    await settle();
    clock.advance(alarmLimits.probe_timeout_ms - 1);
    await settle();
    expect((await viewer.view()).probes.auditWritable).toBeNull();
    clock.advance(1);
    await settle();
    expect((await viewer.view()).probes.auditWritable).toBe(false);
  });

  test('ticks that the engine missed over `engine_overloaded_ms`, at its edge, and records that it lost', async () => {
    const { clock, site, after } = bench();
    expect(await after(0)).toMatchObject({ missedTicks: null, executionsLostMs: null });
    [site.missed, site.lost] = [30, 1];
    const before = await after(alarmLimits.engine_overloaded_ms - 1);
    expect(before).toMatchObject({ missedTicks: null, executionsLostMs: clock.monotonicMs() });
    const share = (30 * 100) / alarmLimits.engine_overloaded_ms;
    expect((await after(1)).missedTicks).toBeCloseTo(share);
  });

  test('a restart of the engine counts once; a change to another engine does not count', async () => {
    const { clock, site, after } = bench();
    expect((await after(0)).engineRestartedMs).toBeNull();
    site.restarts = 1;
    const seen = (await after(1000)).engineRestartedMs;
    expect(seen).toBe(clock.monotonicMs());
    site.restarts = 0;
    expect((await after(1000)).engineRestartedMs).toBe(seen);
  });
});
