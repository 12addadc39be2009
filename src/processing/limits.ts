/** The named limits of data processing, with unit and default; `processing` in service.yaml [platform §2.4]. */
import type { Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const processingLimitsSchema = strict({
  probe_timeout_ms: limit(2000, [10, 60_000], 'time that a processor has to say how it is'),
  live_tail_poll_ms: limit(250, [10, 60_000], 'how often points of live tails are looked at'),
  kept_days: limit(400, [1, 3660], 'days for which results are kept'),
  score_labels: limit(1_000_000, [1000, 100_000_000], 'labels of one scoring: recorded values that are read at once'),
  score_timeout_ms: limit(10_000, [100, 600_000], 'time for reading and scoring kept results'),
});

export type ProcessingLimits = Static<typeof processingLimitsSchema>;

export const processingLimits: ProcessingLimits = defaultsOf(processingLimitsSchema);

export const configurationLimits = {
  /** YAML files of one kind. */
  files: 256,
  /** Bytes of one YAML file. */
  file_bytes: 1_048_576,
} as const;

export const backtestLimits = {
  /** Cutoffs of one backtest: more than a year of quarter hours. */
  cutoffs: 40_000,
} as const;

export const sourceLimits = {
  /** Runs in one file of covariate runs. */
  runs: 10_000,
  /** Valid times of one run. */
  run_times: 20_000,
  /** Share of a window's raw rows that may come from a clock that runs ahead [data-processing §4.6]. */
  skewed_ratio: 0.001,
} as const;
