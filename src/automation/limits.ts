/** The named limits of area A, with unit and default; the section `automation` of service.yaml overrides them. */
import Type, { type Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const automationLimitsSchema = strict({
  tick_interval_ms: limit(100, [10, 10_000], "the scheduler's period"),
  late_tick_ms: limit(25, [1, 10_000], 'a tick that starts later than this after its moment counts as late'),
  event_min_interval_ms: limit(
    20,
    [1, 60_000],
    'an on-change rule runs at most once in this time; a change in between is kept',
  ),
  max_concurrent_executions: limit(4, [1, 1000], "executions between two turns of the worker's event loop"),
  max_waiting_executions: limit(256, [1, 10_000], 'manual executions that may wait for the engine at once'),
  window_samples_maximum: limit(
    20_000,
    [1, 1_000_000],
    'samples that all windows of one rule (`moving_avg`) may hold together; a flow that could need more is refused',
  ),
  max_rules: limit(20_000, [1, 1_000_000], 'rules of the site'),
  engine_call_timeout_ms: limit(10_000, [100, 600_000], 'how long the main thread waits for an answer of the engine'),
  engine_restart_ms: limit(
    100,
    [1, 60_000],
    'pause before a dead engine is started again; it doubles while the engine keeps dying',
  ),
  engine_restart_max_ms: limit(10_000, [1, 600_000], 'longest pause before a dead engine is started again'),
  override_repeat_ms: limit(1000, [100, 60_000], 'longest time between two writes of a value that an override holds'),
  overrides_maximum: limit(1000, [1, 100_000], 'overrides and temporary limits of the site in force at once'),
  contending_ms: limit(
    120_000,
    [1000, 3_600_000],
    'time after a refused write in which its writer counts as the next owner of the point',
  ),
  ownership_days: limit(30, [1, 36_500], 'age at which the account of who held a point is removed'),
  record_flush_ms: limit(100, [1, 10_000], 'longest time a finished execution waits to be handed over to be stored'),
  record_chunk_rows: limit(500, [1, 100_000], 'rows stored in one transaction; more wait for a later turn'),
  record_queue: limit(
    200_000,
    [1, 1_000_000],
    'executions that may wait to be stored; beyond it the oldest is dropped and counted',
  ),
  record_queue_bytes: limit(
    67_108_864,
    [65_536, 1_073_741_824],
    'bytes of executions that may wait to be stored; beyond it the oldest is dropped and counted',
  ),
  state_flush_ms: limit(
    5000,
    [100, 60_000],
    'longest time that unchanged runs and growing memories (windows, sums) wait to be stored',
  ),
  history_block_ms: limit(
    60_000,
    [100, 3_600_000],
    'longest time that an execution waits for more of its rule to be stored with it, in files; a journal keeps it meanwhile',
  ),
  history_read_wait_ms: limit(
    2000,
    [1, 60_000],
    "how long a read of a rule's history waits for executions that are not stored yet",
  ),
  history_days: limit(7, [1, 36_500], 'age at which executions are removed'),
  history_max_per_rule: limit(100_000, [1, 10_000_000], 'executions kept of each rule'),
  history_max_unchanged: limit(1000, [1, 1_000_000], 'unchanged `no_action` and `skipped` runs kept for each rule'),
  history_prune_every: limit(100, [1, 1_000_000], 'runs of one rule stored between two retention checks'),
  history_prune_interval_ms: limit(60_000, [100, 86_400_000], 'interval at which expired executions are removed'),
  log_file_bytes: limit(1_048_576, [1024, 1_073_741_824], "size at which a rule's log file is rotated"),
  log_files: limit(2, [1, 100], "rotated files kept beside a rule's current log"),
  log_flush_ms: limit(500, [10, 60_000], 'longest time that a line waits to be written to a log'),
  log_queue_bytes: limit(
    33_554_432,
    [1024, 1_073_741_824],
    'log bytes that may wait for the disk; beyond it lines are dropped and counted',
  ),
  stream_clients: limit(64, [1, 10_000], 'authenticated live streams open at once'),
  stream_channels: limit(1000, [1, 100_000], 'rules that one stream may follow'),
  stream_points: limit(4096, [1, 100_000], 'points that one stream may follow'),
  stream_alarms: limit(2000, [1, 100_000], 'alarms that one stream may name'),
  stream_ping_ms: limit(
    30_000,
    [100, 600_000],
    'interval at which a live stream is pinged; one that has not answered by the next ping is closed',
  ),
  stream_message_bytes: limit(262_144, [256, 1_048_576], 'longest message of a client'),
  stream_messages_per_second: limit(
    50,
    [2, 10_000],
    'messages and pings of one client in a second; one that sends more is disconnected',
  ),
  stream_buffer: limit(
    256,
    [1, 100_000],
    'records that wait for one slow reader; beyond it they are missed and counted',
  ),
  stream_socket_bytes: limit(
    262_144,
    [1024, 67_108_864],
    'bytes on one socket that its reader has not taken, above which records wait in the buffer; a client that has twice as many waiting and sends something is disconnected',
  ),
  stream_authenticate_ms: limit(5000, [100, 60_000], 'time that a client has to authenticate'),
});

/** The section `rules` of service.yaml. */
export const ruleSettingsSchema = strict({
  require_tests: Type.Boolean({ description: 'a rule is stored and enabled only with tests that all pass' }),
});

export type RuleSettings = Static<typeof ruleSettingsSchema>;

export type AutomationLimits = Static<typeof automationLimitsSchema>;

export const automationLimits: AutomationLimits = defaultsOf(automationLimitsSchema);
