/** Limits of a plan of rules [rules §12.4]. */
import { Check } from 'typebox/schema';
import { expect, test } from 'vitest';
import { gatewayLimits } from '../gateway/limits.ts';
import { ruleFiles } from './rule-files.ts';

const rules = (count: number) => Array.from({ length: count }, (_, at) => ({ key: `r${at}`, name: 'r' }));

test('[rules §12.4] a plan has at most 20000 rules, in a body of 16 MiB', () => {
  expect(Check(ruleFiles.plan.body, { rules: rules(20_000) })).toBe(true);
  expect(Check(ruleFiles.plan.body, { rules: rules(20_001) })).toBe(false);
  expect([ruleFiles.plan.bodyLimit, ruleFiles.apply.bodyLimit]).toEqual(['plan', 'plan']);
  expect(gatewayLimits.plan_body_bytes).toBe(16 * 1024 * 1024);
});

test('[rules §12.1] a key has 1 to 64 lower-case letters, digits and hyphens, and does not begin with a hyphen', () => {
  const isKey = (key: string): boolean => Check(ruleFiles.plan.body, { rules: [{ key, name: 'r' }] });
  for (const key of ['a', '0', 'peak-shaving', 'a'.repeat(64)]) expect(isKey(key), key).toBe(true);
  for (const key of ['', '-a', 'A', 'a_b', 'ä', 'a'.repeat(65)]) expect(isKey(key), key).toBe(false);
});
