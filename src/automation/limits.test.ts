import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { automationLimits, automationLimitsSchema } from './limits.ts';

describe('[rules §6.5] limits of the scheduler', () => {
  test('[rules §6.1] by default a tick every 100 ms and 4 concurrent rule executions', () => {
    expect(automationLimits).toMatchObject({ tick_interval_ms: 100, max_concurrent_executions: 4 });
  });

  test('[rules §7.5] by default history keeps 7 days, 100 000 runs a rule, and 1000 that changed nothing', () => {
    const kept = { history_days: 7, history_max_per_rule: 100_000, history_max_unchanged: 1000 };
    expect(automationLimits).toMatchObject(kept);
  });

  test('[platform §2.4] the defaults are within the bounds that service.yaml has', () => {
    expect(Value.Check(automationLimitsSchema, automationLimits)).toBe(true);
  });
});
