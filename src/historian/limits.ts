/** Limits of the historian; the section `history` of service.yaml. The recorded points and the retention are in site.yaml. */
import type { Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const historyLimitsSchema = strict({
  look_interval_ms: limit(
    100,
    [10, 60_000],
    'shortest interval between two reads of the live table; of faster changes only the newest is recorded',
  ),
  flush_interval_ms: limit(
    1000,
    [10, 60_000],
    'how often recorded rows are written to the disk: to the journal, or to a server',
  ),
  block_ms: limit(
    60_000,
    [0, 600_000],
    'how long recorded rows of a file wait in the journal, so that those of a series are stored together; a read has those of its series stored first',
  ),
  command_repeat_ms: limit(
    300_000,
    [1000, 3_600_000],
    'with files, how long accepted commands of one value are recorded as one row; a read has those of its series stored first. Never less than `record_interval_ms`',
  ),
  settle_timeout_ms: limit(
    1000,
    [10, 60_000],
    'how long a read waits for the rows of its series to be stored; then it reads without those that are not',
  ),
  flush_rows: limit(5000, [1, 100_000], 'rows of one transaction'),
  queue_rows: limit(
    200_000,
    [1, 10_000_000],
    'rows that may wait while the disk takes none; beyond it the oldest are dropped and counted',
  ),
  prune_interval_ms: limit(60_000, [100, 86_400_000], 'how often rows older than the retention are looked for'),
  prune_rows: limit(20_000, [1, 1_000_000], 'rows of one series that are removed in one transaction'),
  lock_wait_ms: limit(
    250,
    [0, 5000],
    'how long the recorder waits for another process that is writing, before it tries again later',
  ),
  snapshots_max: limit(32, [1, 256], 'snapshots that may be open at a time'),
  trend_timeout_ms: limit(10_000, [100, 600_000], 'time in which a trend is read'),
  call_timeout_ms: limit(30_000, [10, 600_000], 'time in which the historian thread answers'),
  stop_timeout_ms: limit(
    1000,
    [10, 10_000],
    'time for the recorder to store pending rows at a stop; the rest is kept in the journal, on a shared site in the spool',
  ),
  restart_delay_ms: limit(1000, [0, 60_000], 'wait before a dead historian thread is started again'),
});

export type HistoryLimits = Static<typeof historyLimitsSchema>;

export const historyLimits: HistoryLimits = defaultsOf(historyLimitsSchema);
