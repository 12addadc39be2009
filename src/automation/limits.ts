/** The named limits of area A, with unit and default; the section `automation` of service.yaml overrides them. */
import Type, { type Static } from 'typebox';

const whole = (minimum: number, maximum: number, standard: number) =>
  Type.Integer({ minimum, maximum, default: standard });

export const automationLimitsSchema = Type.Object(
  {
    /** The scheduler's period (§8). */
    tick_interval_ms: whole(10, 10_000, 100),
    /** A tick that starts later than this after its moment counts as late. */
    late_tick_ms: whole(1, 10_000, 25),
    /** An on-change rule runs at most once in this time (decisions §6, "Event runs"); a change in between is kept. */
    event_min_interval_ms: whole(1, 60_000, 20),
    /** Executions between two turns of the worker's event loop (§8, "Concurrent rule executions"). */
    max_concurrent_executions: whole(1, 1000, 4),
    /** Manual executions that may wait for the engine at once. */
    max_waiting_executions: whole(1, 10_000, 256),
    /** Samples that all windows of one rule (`moving_avg`) may hold together; a flow that could need more is refused. */
    window_samples_maximum: whole(1, 1_000_000, 20_000),
    max_rules: whole(1, 1_000_000, 20_000),
    /** How long the main thread waits for an answer of the engine. */
    engine_call_timeout_ms: whole(100, 600_000, 10_000),
    /** Pause before a dead engine is started again; doubles up to the second figure while it keeps dying. */
    engine_restart_ms: whole(1, 60_000, 100),
    engine_restart_max_ms: whole(1, 600_000, 10_000),
    /** Longest time a finished execution waits to be handed over to be stored. */
    record_flush_ms: whole(1, 10_000, 100),
    /** Rows stored in one transaction; more wait for a later turn. */
    record_chunk_rows: whole(1, 100_000, 500),
    /** Executions that may wait to be stored; beyond it the oldest is dropped and counted. */
    record_queue: whole(1, 1_000_000, 200_000),
    /** Bytes of executions that may wait to be stored; beyond it the oldest is dropped and counted. */
    record_queue_bytes: whole(65_536, 1_073_741_824, 67_108_864),
    /** Longest time that unchanged runs and growing memories (windows, sums) wait to be stored (decisions §6). */
    state_flush_ms: whole(100, 60_000, 5000),
    /** Longest time that an execution waits for more of its rule to be stored with it, in files; a journal keeps it meanwhile. */
    history_block_ms: whole(100, 3_600_000, 60_000),
    /** How long a read of a rule's history waits for executions that are not stored yet. */
    history_read_wait_ms: whole(1, 60_000, 2000),
    history_days: whole(1, 36_500, 7),
    history_max_per_rule: whole(1, 10_000_000, 100_000),
    /** Unchanged `no_action` and `skipped` runs kept for each rule. */
    history_max_unchanged: whole(1, 1_000_000, 1000),
    /** Runs of one rule stored between two looks at its retention. */
    history_prune_every: whole(1, 1_000_000, 100),
    history_prune_interval_ms: whole(100, 86_400_000, 60_000),
    log_file_bytes: whole(1024, 1_073_741_824, 1_048_576),
    /** Rotated files kept beside a rule's current log. */
    log_files: whole(1, 100, 2),
    log_flush_ms: whole(10, 60_000, 500),
    /** Log bytes that may wait for the disk; beyond it lines are dropped and counted. */
    log_queue_bytes: whole(1024, 1_073_741_824, 16_777_216),
    stream_clients: whole(1, 10_000, 64),
    stream_channels: whole(1, 100_000, 1000),
    stream_message_bytes: whole(256, 1_048_576, 65_536),
    /** Records that wait for one slow reader; beyond it they are missed and counted. */
    stream_buffer: whole(1, 100_000, 256),
    /** Bytes on one socket that its reader has not taken, above which records wait in the buffer. */
    stream_socket_bytes: whole(1024, 67_108_864, 262_144),
    stream_authenticate_ms: whole(100, 60_000, 5000),
  },
  { additionalProperties: false },
);

export type AutomationLimits = Static<typeof automationLimitsSchema>;

export const automationLimits: AutomationLimits = {
  tick_interval_ms: 100,
  late_tick_ms: 25,
  event_min_interval_ms: 20,
  max_concurrent_executions: 4,
  max_waiting_executions: 256,
  window_samples_maximum: 20_000,
  max_rules: 20_000,
  engine_call_timeout_ms: 10_000,
  engine_restart_ms: 100,
  engine_restart_max_ms: 10_000,
  record_flush_ms: 100,
  record_chunk_rows: 500,
  record_queue: 200_000,
  record_queue_bytes: 67_108_864,
  state_flush_ms: 5000,
  history_block_ms: 60_000,
  history_read_wait_ms: 2000,
  history_days: 7,
  history_max_per_rule: 100_000,
  history_max_unchanged: 1000,
  history_prune_every: 100,
  history_prune_interval_ms: 60_000,
  log_file_bytes: 1_048_576,
  log_files: 2,
  log_flush_ms: 500,
  log_queue_bytes: 16_777_216,
  stream_clients: 64,
  stream_channels: 1000,
  stream_message_bytes: 65_536,
  stream_buffer: 256,
  stream_socket_bytes: 262_144,
  stream_authenticate_ms: 5000,
};
