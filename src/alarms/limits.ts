/** Limits of alarms [alarms §6]; the section `alarms` of service.yaml. */
import type { Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const alarmLimitsSchema = strict({
  interval_ms: limit(1000, [100, 60_000], 'interval at which all alarm conditions are evaluated'),
  probe_interval_ms: limit(10_000, [1000, 600_000], 'time between two tries of database, audit log and disk'),
  probe_timeout_ms: limit(5000, [100, 60_000], 'time after which a try counts as failed'),
  channel_offline_ms: limit(5000, [0, 86_400_000], 'time for which a channel must be offline'),
  rule_runs: limit(5, [1, 1000], 'failed or skipped runs of a rule in a row'),
  rule_ms: limit(30_000, [0, 86_400_000], 'time for which the runs of a rule must have failed or been skipped'),
  input_unusable_ms: limit(
    60_000,
    [0, 86_400_000],
    'time for which an input of an enabled rule must have had no usable value',
  ),
  command_failing_ms: limit(
    60_000,
    [0, 86_400_000],
    'time for which the last command of a point must not have been carried out',
  ),
  engine_restarted_ms: limit(60_000, [1000, 86_400_000], 'time for which a restart of the engine is shown as active'),
  engine_overloaded_ms: limit(60_000, [1000, 3_600_000], 'time over which the missed ticks of the engine are counted'),
  engine_overloaded_percent: limit(5, [0, 100], 'share of its ticks that the engine may miss in that time'),
  executions_lost_ms: limit(
    60_000,
    [1000, 86_400_000],
    'time for which a loss of execution records is shown as active',
  ),
  standby_missing_ms: limit(
    60_000,
    [0, 86_400_000],
    'time for which no process must have been connected that could take over',
  ),
  clock_differs_ms: limit(
    1000,
    [100, 3_600_000],
    'difference between the clocks of this machine and of the database server that is permitted',
  ),
  storage_slow_ms: limit(1000, [1, 60_000], 'duration of a commit that counts as slow; three in a row raise the alarm'),
  forecast_failing_ms: limit(
    1_800_000,
    [0, 604_800_000],
    'time for which the last scheduled run of a forecast must have failed',
  ),
  disk_low_bytes: limit(536_870_912, [0, Number.MAX_SAFE_INTEGER], 'free space of the data directory that is low'),
  history_not_stored_ms: limit(
    60_000,
    [0, 86_400_000],
    'time for which attempts to store recorded values must have failed',
  ),
  backup_overdue_ms: limit(
    0,
    [0, 31_536_000_000],
    'age of the last backup beyond which the alarm is raised; 0: none is expected',
  ),
  witness_silent_ms: limit(600_000, [0, 86_400_000], 'time for which a witness must not have cosigned'),
  certificate_notice_ms: limit(
    1_209_600_000,
    [0, 31_536_000_000],
    'time before the end of a certificate, of a channel or of the database server, at which the alarm is raised',
  ),
  history_days: limit(400, [1, 36_500], 'age at which changes of alarms are removed'),
  history_rows_max: limit(200_000, [100, 10_000_000], 'changes of alarms that are kept'),
  unsaved_max: limit(
    10_000,
    [1, 1_000_000],
    'changes that wait while the database takes none; then the oldest is lost',
  ),
  notify_timeout_ms: limit(10_000, [100, 600_000], 'time that a receiver of notifications has to take one'),
  notify_retry_ms: limit(1000, [10, 600_000], 'first pause after a receiver took none; it doubles'),
  notify_retry_max_ms: limit(300_000, [10, 3_600_000], 'longest pause after a receiver took none'),
  notify_failing_ms: limit(60_000, [0, 86_400_000], 'time for which a receiver must have accepted nothing'),
  heartbeat_ms: limit(60_000, [1000, 3_600_000], 'time between two heartbeats'),
  notify_waiting_max: limit(1000, [1, 100_000], 'changes that wait for a receiver; older ones are passed over'),
});

export type AlarmLimits = Static<typeof alarmLimitsSchema>;

export const alarmLimits: AlarmLimits = defaultsOf(alarmLimitsSchema);
