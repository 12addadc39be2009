/** The named limits of backtests, with unit and default; `backtest` in service.yaml [platform §2.4]. */
import type { Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const ruleBacktestLimitsSchema = strict({
  window_days: limit(400, [1, 3660], 'longest window of a backtest'),
  evaluations_max: limit(5_000_000, [1000, 100_000_000], 'evaluations of each rule of a backtest'),
  deadline_ms: limit(120_000, [100, 3_600_000], 'time of one backtest'),
  memory_mb: limit(512, [32, 65_536], 'memory of one backtest, without the columns of its values'),
  concurrent_max: limit(2, [1, 16], 'backtests at once'),
  differences_max: limit(100, [1, 10_000], 'differences that an answer names; all are counted'),
  plant_step_ms: limit(1000, [100, 60_000], 'how often the meters of an assumed plant are read'),
  recorded_runs_max: limit(100_000, [1, 10_000_000], 'recorded runs that a backtest compares: the newest'),
});

export type BacktestLimits = Static<typeof ruleBacktestLimitsSchema>;

export const ruleBacktestLimits: BacktestLimits = defaultsOf(ruleBacktestLimitsSchema);
