/** Limits of the historian; the section `history` of service.yaml. What is recorded, and for how long, is in site.yaml. */
import Type, { type Static } from 'typebox';

export const historyLimitsSchema = Type.Object(
  {
    look_interval_ms: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 100,
      description: 'shortest time between two looks at the live table; of faster changes the newest is recorded',
    }),
    flush_interval_ms: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 1000,
      description: 'how often recorded rows are stored',
    }),
    flush_rows: Type.Integer({ minimum: 1, maximum: 100_000, default: 5000, description: 'rows of one transaction' }),
    queue_rows: Type.Integer({
      minimum: 1,
      maximum: 10_000_000,
      default: 200_000,
      description: 'rows that may wait while the disk takes none; beyond it the oldest are dropped and counted',
    }),
    prune_interval_ms: Type.Integer({
      minimum: 100,
      maximum: 86_400_000,
      default: 60_000,
      description: 'how often rows older than the retention are looked for',
    }),
    prune_rows: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 20_000,
      description: 'rows of one series that are removed in one transaction',
    }),
    lock_wait_ms: Type.Integer({
      minimum: 0,
      maximum: 5000,
      default: 250,
      description: 'how long the recorder waits for another process that is writing, before it tries again later',
    }),
    snapshots_max: Type.Integer({
      minimum: 1,
      maximum: 256,
      default: 32,
      description: 'snapshots that may be open at a time',
    }),
    call_timeout_ms: Type.Integer({
      minimum: 10,
      maximum: 600_000,
      default: 30_000,
      description: 'time in which the historian thread answers',
    }),
    stop_timeout_ms: Type.Integer({
      minimum: 10,
      maximum: 10_000,
      default: 1000,
      description: 'time that the recorder gets to store what waits; where a site is shared, the rest is kept after it',
    }),
    restart_delay_ms: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 1000,
      description: 'wait before a dead historian thread is started again',
    }),
  },
  { additionalProperties: false },
);

export type HistoryLimits = Static<typeof historyLimitsSchema>;

export const historyLimits: HistoryLimits = {
  look_interval_ms: 100,
  flush_interval_ms: 1000,
  flush_rows: 5000,
  queue_rows: 200_000,
  prune_interval_ms: 60_000,
  prune_rows: 20_000,
  lock_wait_ms: 250,
  snapshots_max: 32,
  call_timeout_ms: 30_000,
  stop_timeout_ms: 1000,
  restart_delay_ms: 1000,
};
