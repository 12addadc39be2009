/** The named limits of frame assembly and its configuration, with unit and default (decisions §1 "Limits"). */

export const configurationLimits = {
  /** YAML files of one kind. */
  files: 256,
  /** Bytes of one YAML file. */
  file_bytes: 1_048_576,
} as const;

export const sourceLimits = {
  /** Runs in one file of covariate runs. */
  runs: 10_000,
  /** Valid times of one run. */
  run_times: 20_000,
  /** Share of a window's raw rows that may come from a clock that runs ahead (decisions §4 "Skewed sources"). */
  skewed_ratio: 0.001,
} as const;
