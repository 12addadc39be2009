/**
 * The sources of the metrics [platform §4.2]: one table, one line each. The parts answer from their own threads; one scrape asks
 * each of them once.
 */
import { type AlarmState, alarmStates } from '../alarms/alarm-state.ts';
import type { AuditLog } from '../audit/log.ts';
import type { EngineClient } from '../automation/engine-client.ts';
import type { Clock } from '../base/clock.ts';
import type { DurationCounts } from '../base/duration-counts.ts';
import type { ChannelState, DeviceLayer } from '../devices/device-layer.ts';
import type { DurationSample, MetricSample, Metrics } from '../gateway/metrics.ts';
import type { RateLimits } from '../gateway/rate-limit.ts';
import type { Recording } from '../historian/recorder-protocol.ts';
import type { ProcessorMeasures } from '../processing/processor/measured.ts';
import { alarmPriorities } from '../site/site-alarms.ts';

export interface MeasuredParts {
  readonly clock: Clock;
  readonly engine: EngineClient;
  readonly devices: Pick<DeviceLayer, 'up' | 'counts' | 'channels'>;
  readonly recording: Recording;
  readonly processors: () => readonly ProcessorMeasures[];
  readonly alarms: () => readonly Pick<AlarmState, 'state' | 'priority'>[];
  /** Broken audit chains. */
  readonly auditBreaks: () => number;
}

/** Metrics of one scrape share an answer up to this age. */
const keptMs = 250;

type Status = NonNullable<Awaited<ReturnType<EngineClient['status']>>>;
type Measures = NonNullable<Awaited<ReturnType<EngineClient['measures']>>>;

export function addMeasurements(metrics: Metrics, parts: MeasuredParts): void {
  const { clock, engine, devices, recording } = parts;
  addScheduler(
    metrics,
    remembered(clock, () => engine.status()),
  );
  adder(metrics)('counter', 'engine_restarts_total', 'Times the engine died', async () => one(engine.restarts()));
  addExecutions(
    metrics,
    remembered(clock, () => engine.measures()),
  );
  addDevices(
    metrics,
    devices,
    remembered(clock, () => devices.counts()),
  );
  addHistory(
    metrics,
    remembered(clock, () => recording.counts()),
  );
  addProcessors(metrics, parts.processors);
  addAlarms(metrics, parts.alarms);
  const broken = async () => one(parts.auditBreaks());
  adder(metrics)('gauge', 'audit_broken', 'Audit chains that are broken', broken);
}

type Add = (
  kind: 'counter' | 'gauge',
  name: string,
  help: string,
  read: () => Promise<readonly MetricSample[]>,
  labels?: readonly string[],
) => void;

function adder(metrics: Metrics): Add {
  return (kind, name, help, read, labels = []) => metrics.add({ kind, name: `setpoint_${name}`, help, labels, read });
}

function addScheduler(metrics: Metrics, status: () => Promise<Status | null>): void {
  const add = adder(metrics);
  add('gauge', 'scheduler_running', '1 while the scheduler runs', async () => one((await status())?.running ? 1 : 0));
  add('gauge', 'rules', 'Rules by state', async () => some(await status(), rulesByState), ['state']);
  const figures = [
    ['counter', 'scheduler_ticks_total', 'Ticks', 'ticks'],
    ['counter', 'scheduler_late_ticks_total', 'Ticks later than the limit', 'late_ticks'],
    ['counter', 'scheduler_overruns_total', 'Ticks that never happened or had to wait', 'overruns'],
    ['gauge', 'scheduler_queue_depth', 'Executions that wait', 'queue_depth'],
    ['gauge', 'execution_records_waiting', 'Records not stored yet', 'records_waiting'],
    ['counter', 'execution_records_dropped_total', 'Executions and lines of rule logs lost', 'records_dropped'],
  ] as const;
  for (const [kind, name, help, field] of figures)
    add(kind, name, help, async () => some(await status(), (of) => one(of[field])));
}

function addExecutions(metrics: Metrics, measures: () => Promise<Measures | null>): void {
  const add = adder(metrics);
  const durations = (name: string, help: string, pick: (of: Measures) => DurationCounts): void => {
    const read = async (): Promise<readonly DurationSample[]> =>
      some(await measures(), (of) => [{ durations: pick(of) }]);
    metrics.add({ kind: 'durations', name: `setpoint_${name}`, help, read });
  };
  durations('scheduler_tick_lateness_seconds', 'How late ticks came', (of) => of.tickLateness);
  durations('event_path_seconds', 'From an observation to the commands it caused', (of) => of.eventPath);
  const executions = async () => some(await measures(), (of) => labelled('outcome', of.executions));
  add('counter', 'executions_total', 'Executions by outcome', executions, ['outcome']);
  const commands = async () => some(await measures(), (of) => labelled('result', of.commands));
  add('counter', 'commands_total', 'Commands of rules by answer', commands, ['result']);
  const superseded = async () => some(await measures(), (of) => one(of.superseded));
  const supersededHelp = 'Accepted commands that a later one replaced before it was sent';
  add('counter', 'commands_superseded_total', supersededHelp, superseded);
}

function addDevices(
  metrics: Metrics,
  devices: MeasuredParts['devices'],
  counts: () => ReturnType<DeviceLayer['counts']>,
): void {
  const add = adder(metrics);
  add('gauge', 'device_layer_up', '1 while the device layer lives', async () => one(devices.up() ? 1 : 0));
  const channels = (of: (state: ChannelState) => boolean) => async () =>
    devices
      .channels()
      .map(({ id: channel, driver, state }) => ({ labels: { channel, driver }, value: of(state) ? 1 : 0 }));
  const channelLabels = ['channel', 'driver'];
  const answers = channels((state) => state !== 'offline');
  add('gauge', 'device_channel_online', '1 while the channel answers', answers, channelLabels);
  const refuses = channels((state) => state === 'refusing');
  const refusesHelp = '1 while the device answers and refuses every read, or every command';
  add('gauge', 'device_channel_refusing', refusesHelp, refuses, channelLabels);
  const sent = async () => labelled('result', { ...(await counts()) });
  add('counter', 'device_commands_total', 'Commands at the devices by what became of them', sent, ['result']);
}

function addHistory(metrics: Metrics, counts: () => ReturnType<Recording['counts']>): void {
  const add = adder(metrics);
  const rows = async () => {
    const { recorded, stored, dropped, pruned } = await counts();
    return labelled('result', { recorded, stored, dropped, pruned });
  };
  add('counter', 'history_rows_total', 'Measured values by what became of them', rows, ['result']);
  add('gauge', 'history_rows_waiting', 'Recorded values not in the database yet', async () =>
    one((await counts()).waiting),
  );
  const flushes = async () => one((await counts()).failedFlushes);
  add('counter', 'history_failed_flushes_total', 'Times that values could not be stored', flushes);
}

/** Alarms that are not normal. */
function addAlarms(metrics: Metrics, alarms: MeasuredParts['alarms']): void {
  const add = adder(metrics);
  const read = async (): Promise<readonly MetricSample[]> =>
    alarmPriorities.flatMap((priority) =>
      alarmStates
        .filter((state) => state !== 'normal')
        .map((state) => ({
          labels: { priority, state },
          value: alarms().filter((alarm) => alarm.priority === priority && alarm.state === state).length,
        })),
    );
  add('gauge', 'alarms', 'Alarms that are not normal', read, ['priority', 'state']);
}

function addProcessors(metrics: Metrics, processors: () => readonly ProcessorMeasures[]): void {
  const name = (text: string): string => `setpoint_processor_${text}`;
  metrics.add({
    kind: 'counter',
    name: name('calls_total'),
    help: 'Processor calls by outcome',
    labels: ['processor', 'result'],
    read: async () =>
      processors().flatMap(({ processorId, calls }) =>
        Object.entries(calls).map(([result, value]) => ({ labels: { processor: processorId, result }, value })),
      ),
  });
  metrics.add({
    kind: 'durations',
    name: name('call_seconds'),
    help: 'Duration of calls of a processor',
    read: async () =>
      processors().map(({ processorId, durations }) => ({ labels: { processor: processorId }, durations })),
  });
  metrics.add({
    kind: 'gauge',
    name: name('breaker_open'),
    help: '1 while calls are refused without contacting',
    labels: ['processor'],
    read: async () =>
      processors().map(({ processorId, breakerOpen }) => ({
        labels: { processor: processorId },
        value: breakerOpen ? 1 : 0,
      })),
  });
}

function remembered<T>(clock: Clock, ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (last === undefined || nowMs - last.atMs > keptMs) last = { atMs: nowMs, answer: ask() };
    return last.answer;
  };
}

function one(value: number): readonly MetricSample[] {
  return [{ value }];
}

function some<T, S>(value: T | null, read: (of: T) => readonly S[]): readonly S[] {
  return value === null ? [] : read(value);
}

function labelled(label: string, values: Readonly<Record<string, number>>): MetricSample[] {
  return Object.entries(values).map(([text, value]) => ({ labels: { [label]: text }, value }));
}

function rulesByState(of: {
  readonly total_rules: number;
  readonly enabled_rules: number;
  readonly runnable_rules: number;
  readonly rules_failed: readonly unknown[];
}): MetricSample[] {
  const { total_rules: total, enabled_rules: enabled, runnable_rules: runnable } = of;
  return labelled('state', { total, enabled, runnable, failed: of.rules_failed.length });
}

/** The log, with every append timed. */
export function measuredAudit(audit: AuditLog, metrics: Metrics, clock: Clock): AuditLog {
  return {
    ...audit,
    async append(entry) {
      const startedMs = clock.monotonicMs();
      try {
        const appended = await audit.append(entry);
        metrics.auditAppended('written', clock.monotonicMs() - startedMs);
        return appended;
      } catch (error) {
        metrics.auditAppended('failed', clock.monotonicMs() - startedMs);
        throw error;
      }
    },
  };
}

/** The limits, with failed authentications counted. */
export function measuredLimits(limits: RateLimits, metrics: Metrics): RateLimits {
  return {
    ...limits,
    countFailedAuthentication(address) {
      metrics.authenticationFailed();
      return limits.countFailedAuthentication(address);
    },
  };
}
