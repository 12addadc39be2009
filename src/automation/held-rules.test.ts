/** Rules of an engine that stands by: compiled once, up to date, told whole (docs/guides/several-machines.md). */
import { expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { siteCatalogue } from '../points/site.ts';
import { engineRule as rule, tankSite as site } from '../testing/tank-site.ts';
import type { RuleSetChange } from './engine-contract.ts';
import { createHeldRules } from './held-rules.ts';
import { automationLimits } from './limits.ts';
import { ruleLoader } from './loaded-rule.ts';

const base = siteCatalogue(site);
const changed = { limit: { value: 1, unit: undefined } };
const other = siteCatalogue({ ...site, parameters: changed });
const rules = () =>
  createHeldRules(
    (parameters: RuleSetChange['parameters']) => (parameters === undefined ? base : other),
    ruleLoader(automationLimits),
    systemClock,
  );

test('the rule set follows every change, and reports as an engine does', () => {
  const held = rules();
  held.take({ ids: [1, 2, 3], changed: [rule(1), rule(2, { nodes_json: '{}' }), rule(3, { enabled: false })] });
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [{ id: 2, code: 'no-runnable-flow' }] });
  const edited = rule(2, { revision: 2 });
  expect(held.take({ ids: [2, 3], changed: [edited] })).toEqual([edited]);
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [] });
  expect(() => held.take({ ids: [9], changed: [] })).toThrow('names rule 9 without its row');
  expect(held.all()).toEqual({ ids: [2, 3], changed: [edited, rule(3, { enabled: false })], partial: false });
});

test('a rule is compiled once for the same parameters, and again for others', () => {
  const held = rules();
  const row = rule(1);
  held.take({ ids: [1], changed: [row] });
  const first = held.load(row, base);
  expect(held.load(row, base)).toBe(first);
  held.take({ ids: [1], changed: [], parameters: changed });
  const second = held.load(row, other);
  expect(second).not.toBe(first);
  expect(held.load(row, other)).toBe(second);
  expect(held.all()).toEqual({ ids: [1], changed: [row], partial: false, parameters: changed });
});

test('§2.2 staged rules are compiled, and belong to the set only when a reload names them', async () => {
  const held = rules();
  const row = rule(1);
  await held.stage({ rows: [row, rule(2)] });
  expect(held.all()).toEqual({ ids: [], changed: [], partial: false });
  expect(held.take({ ids: [1], changed: [], partial: true })).toEqual([row]);
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [] });
  expect(held.all()).toEqual({ ids: [1], changed: [row], partial: true });
  const first = held.load(row, base);
  await held.stage({ rows: [], ids: [1], parameters: changed });
  expect(held.load(row, other)).not.toBe(first);
  expect(held.take({ ids: [1], changed: [], parameters: changed })).toEqual([]);
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [] });
});
