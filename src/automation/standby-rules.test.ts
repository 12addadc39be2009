/** Rules of an engine that stands by: compiled once, up to date, told whole (docs/guides/several-machines.md). */
import { expect, test } from 'vitest';
import { siteCatalogue } from '../points/site.ts';
import { engineRule as rule, tankSite as site } from '../testing/tank-site.ts';
import type { RuleSetChange } from './engine-contract.ts';
import { automationLimits } from './limits.ts';
import { ruleLoader } from './loaded-rule.ts';
import { createStandbyRules } from './standby-rules.ts';

const base = siteCatalogue(site);
const changed = { limit: { value: 1, unit: undefined } };
const other = siteCatalogue({ ...site, parameters: changed });
const rules = () =>
  createStandbyRules(
    (parameters: RuleSetChange['parameters']) => (parameters === undefined ? base : other),
    ruleLoader(automationLimits),
  );

test('what is held follows every change, and is told as an engine would tell it', () => {
  const standby = rules();
  expect(
    standby.take({ ids: [1, 2, 3], changed: [rule(1), rule(2, { nodes_json: '{}' }), rule(3, { enabled: false })] }),
  ).toEqual({
    rules_loaded: 1,
    rules_failed: [{ id: 2, code: 'no-runnable-flow' }],
  });
  const edited = rule(2, { revision: 2 });
  expect(standby.take({ ids: [2, 3], changed: [edited] })).toEqual({ rules_loaded: 1, rules_failed: [] });
  expect(() => standby.take({ ids: [9], changed: [] })).toThrow('names rule 9 without its row');
  expect(standby.all()).toEqual({ ids: [2, 3], changed: [edited, rule(3, { enabled: false })] });
});

test('a rule is compiled once for the same parameters, and again for others', () => {
  const standby = rules();
  const row = rule(1);
  standby.take({ ids: [1], changed: [row] });
  const first = standby.load(row, base);
  expect(standby.load(row, base)).toBe(first);
  standby.take({ ids: [1], changed: [], parameters: changed });
  const second = standby.load(row, other);
  expect(second).not.toBe(first);
  expect(standby.load(row, other)).toBe(second);
  expect(standby.all()).toEqual({ ids: [1], changed: [row], parameters: changed });
});
