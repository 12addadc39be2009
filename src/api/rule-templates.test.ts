/** Limits of the arguments of a template [rules §13.1]. */
import { Check } from 'typebox/schema';
import { expect, test } from 'vitest';
import { ruleTemplates } from './rule-templates.ts';

const ref = { instance: 1, point_type: 'measurement', point: 1 } as const;
const body = (count: number, template = 'pv-export-limit') => ({
  template,
  name: 'r',
  points: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, ref])),
  confirmed: true,
});

test('[rules §13.1] at most 256 arguments of each sort', () => {
  expect(Check(ruleTemplates.instantiate.body, body(256))).toBe(true);
  expect(Check(ruleTemplates.instantiate.body, body(257))).toBe(false);
});

test('[rules §13.2] a template is named by a key or by a rule', () => {
  for (const name of ['a', 'pv-export-limit', 'rule:1', 'rule:4294967296'])
    expect(Check(ruleTemplates.instantiate.body, body(1, name)), name).toBe(true);
  for (const name of ['', 'rule:0', 'rule:', 'Rule:1', 'rule:1x', 'a_b'])
    expect(Check(ruleTemplates.instantiate.body, body(1, name)), name).toBe(false);
});
