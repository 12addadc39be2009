import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { silentLog } from '../base/log.ts';
import { dayMs } from '../base/timestamp.ts';
import { openDatabase } from '../databases/site-database.ts';
import { quality } from '../site/quality.ts';
import { readSite } from '../site/site.ts';
import type { Database } from '../storage/database.ts';
import { engines, type TestPlaces, testPlaces } from '../testing/engines.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { AlarmKeeper, type AlarmKeeperParts, lateLooks } from './keeper.ts';
import { alarmLimits } from './limits.ts';
import { type SiteNow, unseen } from './site-now.ts';
import { alarmSources } from './source/index.ts';
import { type AlarmStore, createAlarmStore } from './store/alarm-store.ts';

const site = readSite(
  `schema: svc.site.v1
site: { id: s, name: S, timezone: UTC }
channels: [{ id: line, driver: virtual }]
instances:
  - { id: 1, name: tank, points: [{ id: 1, name: level, kind: measurement, unit: "%", channel: line }] }
alarms:
  - { id: level-high, name: Level high, point: { instance: 1, point: 1 }, above: 90, deadband: 5, delay_ms: 2000, priority: critical }
`,
  'site.yaml',
);
const ada = { kind: 'user', id: 'ada' };
const second = 1000;

describe.each(engines)('[alarms §3] the keeper of alarms in %s', (engine) => {
  let places: TestPlaces;
  let database: Database;
  let store: AlarmStore;
  let view: Partial<SiteNow>;
  let controls: boolean;
  let keeper: AlarmKeeper;
  const clock = simulatedClock();

  const online = [{ id: 'line', state: 'online' }] as const;
  const level = (value: number | null): SiteNow['sample'] => ({
    atMs: clock.wallMs(),
    values: [value],
    quality: [value === null ? quality.bad : quality.good],
    agesMs: [value === null ? null : 0],
    online: [true],
  });
  const sources = alarmSources(site);
  const create = (more: Partial<AlarmKeeperParts> = {}): AlarmKeeper =>
    new AlarmKeeper({
      sources: () => sources,
      store,
      view: async () => ({ ...unseen, ...view, nowMs: clock.monotonicMs() }),
      controls: () => controls,
      shared: false,
      clock,
      retention: { nowMs: clock.wallMs },
      log: silentLog,
      limits: alarmLimits,
      ...more,
    });
  const broken = 'Log site/tenant-1/project-1/events, from event 7 on: its hash is not that of its content.';
  const look = async (change: Partial<SiteNow>, afterMs = second): Promise<void> => {
    clock.advance(afterMs);
    view = { ...view, ...change };
    await keeper.look();
  };
  const state = (id: string, of = keeper) => of.list().find((alarm) => alarm.id === id)?.state;
  const history = async (): Promise<string[]> =>
    (await store.after(0, 100)).map((entry) => `${entry.id} ${entry.state} ${entry.by?.id ?? '-'}`);

  beforeEach(async () => {
    places = await testPlaces(engine);
    database = openDatabase(places.site);
    await database.ready();
    store = createAlarmStore(database);
    view = { sample: level(50), channels: online, grants: [], troubles: [] };
    controls = true;
    keeper = create();
    await keeper.open();
    await keeper.look();
  });
  afterEach(async () => {
    await keeper.stop();
    await database.close();
    await places.remove();
  });

  test('a threshold, its delay and its deadband; acknowledged and cleared', async () => {
    await look({ sample: level(95) });
    await look({}, 1999);
    expect(state('level-high')).toBe('normal');
    await look({}, 1);
    expect(keeper.list().find(({ id }) => id === 'level-high')).toMatchObject({
      state: 'active-unacknowledged',
      count: 1,
      firstOut: true,
      sinceMs: clock.wallMs(),
    });
    await keeper.acknowledge('level-high', ada);
    await look({ sample: level(86) });
    expect(state('level-high')).toBe('active-acknowledged');
    await look({ sample: level(85) });
    expect(state('level-high')).toBe('normal');
    expect(await history()).toEqual([
      'level-high active-unacknowledged -',
      'level-high active-acknowledged ada',
      'level-high normal -',
    ]);
  });

  test('several are acknowledged at once: those that wait for it; others and unknown ones stay as they are', async () => {
    const trouble = (id: number) => ({ rule_id: id, outcome: 'skipped' as const, name: `rule ${id}`, reason: 'none' });
    await look({ sample: level(95), troubles: [trouble(1), trouble(2), trouble(3)] });
    await keeper.acknowledge('rule-skipped:2', ada);
    const before = (await history()).length;
    const ids = ['rule-skipped:3', 'rule-skipped:2', 'level-high', 'unknown', 'rule-skipped:1'];
    const changed = await keeper.acknowledgeMany(ids, ada);
    expect(changed.map(({ id, state: after }) => [id, after])).toEqual([
      ['rule-skipped:3', 'active-acknowledged'],
      ['rule-skipped:1', 'active-acknowledged'],
    ]);
    expect((await history()).slice(before)).toEqual([
      'rule-skipped:3 active-acknowledged ada',
      'rule-skipped:1 active-acknowledged ada',
    ]);
    expect(state('level-high')).toBe('normal');
    expect(await keeper.acknowledgeMany(ids, ada)).toEqual([]);
  });

  test('a reading that is not usable keeps the state', async () => {
    await look({ sample: level(95) });
    await look({}, 2000);
    for (const sample of [level(null), null]) {
      await look({ sample });
      expect(state('level-high')).toBe('active-unacknowledged');
    }
    await look({ sample: level(10) });
    expect(state('level-high')).toBe('cleared-unacknowledged');
    await keeper.acknowledge('level-high', ada);
    expect(state('level-high')).toBe('normal');
  });

  test('an alarm that was active before a restart is not raised again, and one that has ended since clears', async () => {
    await look({ sample: level(95) });
    await look({}, 2000);
    await keeper.stop();
    keeper = create();
    await keeper.open();
    await look({ sample: level(91) });
    expect(keeper.list().find(({ id }) => id === 'level-high')).toMatchObject({
      state: 'active-unacknowledged',
      count: 1,
    });
    await keeper.stop();
    keeper = create();
    await keeper.open();
    await look({ sample: level(20) });
    expect(state('level-high')).toBe('cleared-unacknowledged');
  });

  test('an end without order raises engine-restarted at the next start, for its time; one in order does not', async () => {
    await keeper.stop();
    keeper = create();
    await keeper.open();
    await look({});
    expect(state('engine-restarted')).toBe('normal');
    // This keeper is never stopped.
    keeper = create();
    await keeper.open();
    await look({});
    expect(state('engine-restarted')).toBe('active-unacknowledged');
    await look({}, alarmLimits.engine_restarted_ms - 1);
    expect(state('engine-restarted')).toBe('active-unacknowledged');
    await look({}, 1);
    expect(state('engine-restarted')).toBe('cleared-unacknowledged');
  });

  test('alarms count as evaluated for `lateLooks` intervals, at its edge; not without control, engine or storage', async () => {
    const answered = { troubles: [] };
    expect(create().watches()).toBe(false);
    await look(answered);
    clock.advance(lateLooks * alarmLimits.interval_ms);
    expect(keeper.watches()).toBe(true);
    clock.advance(1);
    expect(keeper.watches()).toBe(false);
    await look({ troubles: null });
    expect(keeper.watches()).toBe(false);
    await look(answered);
    expect(keeper.watches()).toBe(true);
    controls = false;
    expect(keeper.watches()).toBe(false);
    controls = true;
    // An alarm that cannot be stored reaches no receiver.
    const full = () => Promise.reject(new Error('the disk is full'));
    const failing = create({ store: { ...store, put: full, change: full } });
    await failing.open();
    view = { ...answered, auditBroken: broken };
    await failing.look().catch(() => undefined);
    await failing.look().catch(() => undefined);
    expect(failing.watches()).toBe(false);
    await failing.stop().catch(() => undefined);
  });

  test('lost records of executions are shown for `executions_lost_ms`, at its edge', async () => {
    await look({ executionsLostMs: clock.monotonicMs() + second });
    expect(state('executions-lost')).toBe('active-unacknowledged');
    await look({}, alarmLimits.executions_lost_ms - 1);
    expect(state('executions-lost')).toBe('active-unacknowledged');
    await look({}, 1);
    expect(state('executions-lost')).toBe('cleared-unacknowledged');
  });

  test('`engine_overloaded_percent` of the ticks may be missed, at its edge; an unknown share changes nothing', async () => {
    const share = alarmLimits.engine_overloaded_percent / 100;
    await look({ missedTicks: share });
    expect(state('engine-overloaded')).toBe('normal');
    await look({ missedTicks: share + 0.001 });
    expect(state('engine-overloaded')).toBe('active-unacknowledged');
    await look({ missedTicks: null });
    expect(state('engine-overloaded')).toBe('active-unacknowledged');
    await look({ missedTicks: share });
    expect(state('engine-overloaded')).toBe('cleared-unacknowledged');
  });

  test('each built-in alarm has its cause, and goes with it', async () => {
    const trouble = { rule_id: 7, name: 'shave', reason: 'soc is unavailable' };
    const causes: readonly (readonly [string, Partial<SiteNow>, Partial<SiteNow>])[] = [
      ['channel-offline:line', { channels: [{ id: 'line', state: 'offline' }] }, { channels: online }],
      ['device-refuses:line', { channels: [{ id: 'line', state: 'refusing' }] }, { channels: online }],
      ['rule-failing:7', { troubles: [{ ...trouble, outcome: 'failed' }] }, { troubles: [] }],
      ['rule-skipped:7', { troubles: [{ ...trouble, outcome: 'skipped' }] }, { troubles: [] }],
      [
        'rule-not-runnable:7',
        { unrunnable: [{ rule_id: 7, name: 'shave', code: 'invalid-flow' }] },
        { unrunnable: [] },
      ],
      [
        'input-unusable:1:measurement:1',
        {
          unusableInputs: [{ point: { instance: 1, point_type: 'measurement', point: 1 }, rules: 1, names: ['shave'] }],
        },
        { unusableInputs: [] },
      ],
      [
        'command-failing:1:measurement:1',
        { failedCommands: [{ instance: 1, point_type: 'measurement', point: 1 }] },
        { failedCommands: [] },
      ],
      ['audit-broken', { auditBroken: broken }, { auditBroken: null }],
      ['audit-unavailable', probes({ auditWritable: false }), probes({ auditWritable: true })],
      ['witness-silent', { silentWitnesses: [witness] }, { silentWitnesses: [] }],
      ['storage-slow', probes({ storageSlow: true }), probes({ storageSlow: false })],
      [
        'disk-low',
        probes({ freeBytes: alarmLimits.disk_low_bytes - 1 }),
        probes({ freeBytes: alarmLimits.disk_low_bytes }),
      ],
      ['history-not-stored', probes({ historyStored: false }), probes({ historyStored: true })],
      [
        'backup-overdue',
        probes({ backup: { lastMs: null, isOverdue: true } }),
        probes({ backup: { lastMs: 0, isOverdue: false } }),
      ],
      ['configuration-invalid', probes({ configurationValid: false }), probes({ configurationValid: true })],
      ['certificate-expiring', { endingCertificates: [certificate] }, { endingCertificates: [] }],
      ['notification-failing', { failingReceivers: [refusing] }, { failingReceivers: [] }],
      ['forecast-failing', { failedForecasts: [load] }, { failedForecasts: [] }],
      ['override-active', { grants: [override] }, { grants: [] }],
      ['engine-overloaded', { missedTicks: 0.06 }, { missedTicks: 0 }],
      ['standby-missing', { standbyMissing: true }, { standbyMissing: false }],
      ['clock-differs', { clockAheadMs: -90_000 }, { clockAheadMs: 0 }],
    ];
    for (const [id, cause, end] of causes) {
      await look(cause);
      // The longest of the delays.
      await look({}, alarmLimits.forecast_failing_ms);
      expect(state(id), id).toBe('active-unacknowledged');
      await look(end);
      expect(state(id), id).toBe('cleared-unacknowledged');
    }
  });

  test('the delay of `channel_offline_ms`, at its edge', async () => {
    await look({ channels: [{ id: 'line', state: 'offline' }] });
    await look({}, alarmLimits.channel_offline_ms - 1);
    expect(state('channel-offline:line')).toBe('normal');
    await look({}, 1);
    expect(state('channel-offline:line')).toBe('active-unacknowledged');
  });

  test('the delay of `standby_missing_ms`, at its edge; a server that does not answer changes nothing', async () => {
    await look({ standbyMissing: true });
    await look({}, alarmLimits.standby_missing_ms - 1);
    expect(state('standby-missing')).toBe('normal');
    await look({}, 1);
    expect(state('standby-missing')).toBe('active-unacknowledged');
    await look({ standbyMissing: null });
    expect(state('standby-missing')).toBe('active-unacknowledged');
  });

  test('clocks may differ by `clock_differs_ms` either way, at its edge; unknown before they are compared', async () => {
    const edge = alarmLimits.clock_differs_ms;
    await look({ clockAheadMs: edge });
    expect(state('clock-differs')).toBe('normal');
    await look({ clockAheadMs: -edge - 1 });
    expect(state('clock-differs')).toBe('active-unacknowledged');
    expect(keeper.list().find(({ id }) => id === 'clock-differs')?.message).toMatch(
      /^The one of this machine is 1 s behind\./,
    );
    await look({ clockAheadMs: null });
    expect(state('clock-differs')).toBe('active-unacknowledged');
    await look({ clockAheadMs: -edge });
    expect(state('clock-differs')).toBe('cleared-unacknowledged');
  });

  test('the delay of `input_unusable_ms`, at its edge; while its channel is offline, that alarm covers the input', async () => {
    const point = { instance: 1, point_type: 'measurement', point: 1 } as const;
    await look({ unusableInputs: [{ point, rules: 4, names: ['a', 'b'] }] });
    await look({}, alarmLimits.input_unusable_ms - 1);
    expect(state('input-unusable:1:measurement:1')).toBeUndefined();
    await look({}, 1);
    expect(keeper.list().find(({ id }) => id === 'input-unusable:1:measurement:1')).toMatchObject({
      state: 'active-unacknowledged',
      name: 'tank level has no usable value',
      message: 'Rules that read it are skipped: a, b and 2 more.',
    });
    await look({ channels: [{ id: 'line', state: 'offline' }] });
    expect(state('input-unusable:1:measurement:1')).toBe('cleared-unacknowledged');
    await look({ unusableInputs: null, channels: online });
    expect(state('input-unusable:1:measurement:1')).toBe('cleared-unacknowledged');
  });

  test('the delay of `command_failing_ms`, at its edge; the message has the reason', async () => {
    const point = { instance: 1, point_type: 'measurement', point: 1 } as const;
    const id = 'command-failing:1:measurement:1';
    const found = () => keeper.list().find((alarm) => alarm.id === id);
    await look({ failedCommands: [point], pointErrors: new Map([[0, 'exception 2 (illegal data address)']]) });
    await look({}, alarmLimits.command_failing_ms - 1);
    expect(found()).toBeUndefined();
    await look({}, 1);
    expect(found()).toMatchObject({
      state: 'active-unacknowledged',
      name: 'The last command to tank level was not carried out',
      message: 'exception 2 (illegal data address). The device does not have the commanded value.',
    });
    await look({ failedCommands: null });
    expect(state(id)).toBe('active-unacknowledged');
    await look({ failedCommands: [] });
    expect(state(id)).toBe('cleared-unacknowledged');
  });

  test('the delay of `witness_silent_ms`, at its edge; the message names witness and reason', async () => {
    await look({ silentWitnesses: [witness] });
    await look({}, alarmLimits.witness_silent_ms - 1);
    expect(state('witness-silent')).toBe('normal');
    await look({}, 1);
    expect(state('witness-silent')).toBe('active-unacknowledged');
    expect(keeper.list().find(({ id }) => id === 'witness-silent')?.message).toBe(
      'auditor.example: no answer in time. Until it does, nobody outside vouches for new events.',
    );
  });

  test('the delay of `forecast_failing_ms`, at its edge; the message names the forecast and the reason', async () => {
    await look({ failedForecasts: [load] });
    await look({}, alarmLimits.forecast_failing_ms - 1);
    expect(state('forecast-failing')).toBe('normal');
    await look({}, 1);
    expect(state('forecast-failing')).toBe('active-unacknowledged');
    expect(keeper.list().find(({ id }) => id === 'forecast-failing')?.message).toBe(
      'load for plant: the processor did not answer. Kept forecasts are not renewed until a run succeeds.',
    );
  });

  test('the message about a certificate names it and its end', async () => {
    await look({ endingCertificates: [certificate] });
    expect(keeper.list().find(({ id }) => id === 'certificate-expiring')?.message).toBe(
      'Valid until 2020-01-31T00:00:00.000Z: cert.pem of channel broker. After that no new connection succeeds. Files of channels are read again by setpoint site reload.',
    );
    await look({ endingCertificates: null });
    expect(state('certificate-expiring')).toBe('active-unacknowledged');
  });

  test('the delay of `history_not_stored_ms`, at its edge', async () => {
    await look(probes({ historyStored: false }));
    await look({}, alarmLimits.history_not_stored_ms - 1);
    expect(state('history-not-stored')).toBe('normal');
    await look({}, 1);
    expect(state('history-not-stored')).toBe('active-unacknowledged');
  });

  test('the delay of `notify_failing_ms`, at its edge; the message names receiver and reason', async () => {
    await look({ failingReceivers: [refusing] });
    await look({}, alarmLimits.notify_failing_ms - 1);
    expect(state('notification-failing')).toBe('normal');
    await look({}, 1);
    expect(state('notification-failing')).toBe('active-unacknowledged');
    expect(keeper.list().find(({ id }) => id === 'notification-failing')?.message).toBe(
      'notify.urls[0] (a.example): status 403. What it missed is sent once it accepts notifications again.',
    );
  });

  test('a part that cannot be asked changes nothing', async () => {
    await look({
      troubles: [{ rule_id: 7, name: 'shave', reason: 'x', outcome: 'failed' }],
      unrunnable: [{ rule_id: 8, name: 'fill', code: 'invalid-trigger' }],
      grants: [override],
    });
    await look({ troubles: null, unrunnable: null, grants: null, channels: [] });
    const ids = ['rule-failing:7', 'rule-not-runnable:8', 'override-active'];
    expect(ids.map((id) => state(id))).toEqual(ids.map(() => 'active-unacknowledged'));
  });

  test('an alarm that left the site file is cleared, and gone from the list when it is normal', async () => {
    await look({ sample: level(95) });
    await look({}, 2000);
    await keeper.stop();
    const fewer = alarmSources({ ...site, alarms: [] });
    const without = () => create({ sources: () => fewer });
    keeper = without();
    await keeper.open();
    await look({});
    expect(state('level-high')).toBe('cleared-unacknowledged');
    await keeper.acknowledge('level-high', ada);
    await keeper.stop();
    keeper = without();
    await keeper.open();
    await look({});
    expect(state('level-high')).toBeUndefined();
  });

  test('a changed site file applies to its alarms at once, in any state and on every process', async () => {
    await look({ sample: level(95) });
    await look({}, 2000);
    const changed = alarmSources({
      ...site,
      alarms: site.alarms.map((alarm) => ({
        ...alarm,
        name: 'Tank nearly full',
        priority: 'low' as const,
        threshold: { ...alarm.threshold, value: 94 },
      })),
    });
    let defined = sources;
    await keeper.stop();
    keeper = create({ sources: () => defined });
    await keeper.open();
    const described = () => keeper.list().find(({ id }) => id === 'level-high');
    expect(described()).toMatchObject({ name: 'Level high', threshold: { kind: 'above', value: 90, deadband: 5 } });
    const told: string[] = [];
    keeper.onChange((alarms) => told.push(...alarms.map(({ name }) => name)));
    defined = changed;
    await look({});
    const now = { name: 'Tank nearly full', priority: 'low', threshold: { kind: 'above', value: 94, deadband: 5 } };
    expect(described()).toMatchObject({ ...now, state: 'active-unacknowledged', count: 1 });
    expect(told).toEqual(['Tank nearly full']);
    expect(await keeper.acknowledge('level-high', ada)).toMatchObject(now);
    // The same, in a process that only reads what another one stored.
    const standby = create({ sources: () => changed, controls: () => false, shared: true });
    await standby.open();
    await standby.look();
    await standby.look();
    expect(standby.list().find(({ id }) => id === 'level-high')).toMatchObject(now);
    await standby.stop();
    expect(await history()).toEqual(['level-high active-unacknowledged -', 'level-high active-acknowledged ada']);
  });

  test('an alarm removed from the file of a running service leaves the list once it is normal', async () => {
    let defined = sources;
    await keeper.stop();
    keeper = create({ sources: () => defined });
    await keeper.open();
    await look({ sample: level(95) });
    await look({}, 2000);
    defined = alarmSources({ ...site, alarms: [] });
    await look({});
    expect(state('level-high')).toBe('cleared-unacknowledged');
    expect(await keeper.acknowledge('level-high', ada)).toMatchObject({ state: 'normal' });
    expect(state('level-high')).toBeUndefined();
    // An alarm that never occurred is removed at once.
    defined = sources;
    await look({ sample: level(50) });
    expect(state('level-high')).toBe('normal');
    defined = alarmSources({ ...site, alarms: [] });
    await look({});
    expect(state('level-high')).toBeUndefined();
  });

  test('unshelved: active if the condition is true, without a new occurrence, else normal', async () => {
    const shelveIt = () => keeper.shelve('override-active', clock.wallMs() + 60_000, ada, 'planned work');
    await look({ grants: [override] });
    await shelveIt();
    expect(await keeper.unshelve('override-active', ada)).toMatchObject({ state: 'active-unacknowledged', count: 1 });
    await look({ grants: [override] }, 1000);
    expect(state('override-active')).toBe('active-unacknowledged');
    await shelveIt();
    await look({ grants: [] }, 1000);
    expect(await keeper.unshelve('override-active', ada)).toMatchObject({ state: 'normal', shelvedUntilMs: null });
    await expect(keeper.unshelve('override-active', ada)).rejects.toMatchObject({ code: 'invalid-value' });
    await expect(keeper.unshelve('nothing', ada)).rejects.toMatchObject({ code: 'not-found' });
    // It was normal when it was shelved: the occurrence is a new one.
    await shelveIt();
    await look({ grants: [override] }, 1000);
    expect(await keeper.unshelve('override-active', ada)).toMatchObject({ state: 'active-unacknowledged', count: 2 });
  });

  test('shelved for a time and back; a normal or unknown alarm cannot be acknowledged', async () => {
    await look({ grants: [override] });
    await keeper.shelve('override-active', clock.wallMs() + 5000, ada, 'planned work');
    await look({}, 4999);
    expect(state('override-active')).toBe('shelved');
    await expect(keeper.acknowledge('override-active', ada)).rejects.toMatchObject({ code: 'invalid-value' });
    await look({}, 1);
    expect(keeper.list().find(({ id }) => id === 'override-active')).toMatchObject({
      state: 'active-unacknowledged',
      count: 1,
    });
    await expect(keeper.acknowledge('level-high', ada)).rejects.toMatchObject({ code: 'invalid-value' });
    await expect(keeper.acknowledge('nothing', ada)).rejects.toMatchObject({ code: 'not-found' });
  });

  test('[alarms §3] a wall clock that is set back does not extend a shelving', async () => {
    await look({ grants: [override] });
    await keeper.shelve('override-active', clock.wallMs() + 5000, ada, 'planned work');
    await look({}, 1000);
    clock.jumpWall(-365 * dayMs);
    await look({}, 3999);
    expect(state('override-active')).toBe('shelved');
    await look({ grants: [override] }, 1);
    expect(keeper.list().find(({ id }) => id === 'override-active')).toMatchObject({
      state: 'active-unacknowledged',
      count: 1,
      shelvedUntilMs: null,
    });
    // A new one lasts as long as it is asked for.
    await keeper.shelve('override-active', clock.wallMs() + 5000, ada, 'planned work');
    await look({}, 4999);
    expect(state('override-active')).toBe('shelved');
    await look({}, 1);
    expect(state('override-active')).toBe('active-unacknowledged');
  });

  test('[alarms §3] after a start with a clock that was set back, a shelving lasts a day at most', async () => {
    await look({ grants: [override] });
    await keeper.shelve('override-active', clock.wallMs() + 365 * dayMs, ada, 'as if the clock had been set back');
    await look({}, 0);
    await look({}, dayMs - 1);
    expect(state('override-active')).toBe('shelved');
    await look({}, 1);
    expect(state('override-active')).toBe('active-unacknowledged');
  });

  test('the alarm of a broken audit log names the log, the event and the reason', async () => {
    await look({ auditBroken: broken });
    expect(keeper.list().find(({ id }) => id === 'audit-broken')?.message).toContain(broken);
  });

  test('only the first of several is first-out', async () => {
    await look({ grants: [override], auditBroken: broken });
    const firsts = keeper.list().filter(({ firstOut }) => firstOut);
    expect(firsts.map(({ id }) => id)).toEqual(['audit-broken']);
  });

  test('while the database takes nothing, alarms are shown, operators are refused, and all is stored later', async () => {
    let away = true;
    const refuse = async (): Promise<never> => {
      throw new Fault('storage-unavailable', 'the disk is full');
    };
    const lame: AlarmStore = {
      ...store,
      change: (ids, step) => (away ? refuse() : store.change(ids, step)),
      put: (changes, alarms) => (away ? refuse() : store.put(changes, alarms)),
    };
    await keeper.stop();
    keeper = create({ store: lame, limits: { ...alarmLimits, unsaved_max: 2 } });
    await keeper.open();
    await expect(look({ auditBroken: broken })).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect(state('audit-broken')).toBe('active-unacknowledged');
    await expect(keeper.acknowledge('audit-broken', ada)).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect(state('audit-broken')).toBe('active-unacknowledged');
    // Changes in between are noticed as well.
    await expect(look({ grants: [override] })).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect(state('override-active')).toBe('active-unacknowledged');
    await expect(look({ grants: [] })).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect(state('override-active')).toBe('cleared-unacknowledged');
    away = false;
    await look({ auditBroken: null });
    // Of three waiting changes, an `unsaved_max` of 2 dropped the oldest.
    expect(await history()).toEqual([
      'override-active active-unacknowledged -',
      'override-active cleared-unacknowledged -',
      'audit-broken cleared-unacknowledged -',
    ]);
  });

  test('a process that does not control evaluates nothing and shows the stored states', async () => {
    const other = create({ controls: () => false, shared: true });
    await other.open();
    const seen: string[][] = [];
    other.onChange((changed) => seen.push(changed.map(({ id, state: now }) => `${id} ${now}`)));
    await look({ grants: [override] });
    await other.look();
    expect([state('override-active', other), seen]).toEqual([
      'active-unacknowledged',
      [['override-active active-unacknowledged']],
    ]);
    await other.acknowledge('override-active', ada);
    expect(state('override-active')).toBe('active-unacknowledged');
    keeper = create({ shared: true });
    await keeper.open();
    await look({});
    expect(state('override-active')).toBe('active-acknowledged');
    await other.stop();
  });
});

function probes(change: Partial<SiteNow['probes']>): Partial<SiteNow> {
  return { probes: { ...unseen.probes, ...change } };
}

const witness = { witness: 'auditor.example', reason: 'no answer in time' };

const load = { task: 'load', binding: 'plant', reason: 'the processor did not answer' };

const certificate = { what: 'cert.pem of channel broker', endMs: Date.parse('2020-01-31T00:00:00Z') };

const refusing = { receiver: 'notify.urls[0] (a.example)', reason: 'status 403' };

const override = {
  kind: 'override',
  id: '1.1.x',
  instance: 1,
  point: 1,
  value: 3,
  fromMs: 0,
  untilMs: 1e13,
  by: ada,
  reason: 'by hand',
} as const;
