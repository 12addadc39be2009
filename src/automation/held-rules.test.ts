/** Rules of a standby engine: compiled once, kept current, sent whole (docs/guides/several-machines.md). */
import { expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { engineRule as rule, tankSite as site } from '../testing/tank-site.ts';
import type { EngineRule, RuleSetChange } from './engine-contract.ts';
import { createHeldRules, type HeldRules } from './held-rules.ts';
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

/** Stages rows and makes them part of the set. */
async function takeRows(held: HeldRules, changed: readonly EngineRule[], more: Partial<RuleSetChange> = {}) {
  await held.stage({ rows: changed });
  return held.take({ ids: changed.map(({ id }) => id), removed: [], ...more });
}

test('the rule set follows every change, and reports as an engine does', async () => {
  const held = rules();
  const disabled = rule(3, { enabled: false });
  await takeRows(held, [rule(1), rule(2, { nodes_json: '{}' }), disabled]);
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [{ id: 2, code: 'no-runnable-flow' }] });
  const edited = rule(2, { revision: 2 });
  expect(await takeRows(held, [edited], { removed: [1] })).toEqual({ changed: [edited], removed: [1] });
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [] });
  expect(() => held.take({ ids: [9], removed: [2] })).toThrow('names rule 9, which was not staged');
  expect(held.all()).toEqual({ changed: [edited, disabled], removed: [], partial: false });
});

test('a rule is compiled once for the same parameters, and again for others', async () => {
  const held = rules();
  const row = rule(1);
  await takeRows(held, [row]);
  const first = held.load(row, base);
  expect(held.load(row, base)).toBe(first);
  held.take({ ids: [], removed: [], parameters: changed });
  const second = held.load(row, other);
  expect(second).not.toBe(first);
  expect(held.load(row, other)).toBe(second);
  expect(held.all()).toEqual({ changed: [row], removed: [], partial: false, parameters: changed });
});

test('[rules §3.4] staged rules are compiled, and belong to the set only when a reload names them', async () => {
  const held = rules();
  const row = rule(1);
  await held.stage({ rows: [row, rule(2)] });
  expect(held.all()).toEqual({ changed: [], removed: [], partial: false });
  expect(held.take({ ids: [1], removed: [], partial: true }).changed).toEqual([row]);
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [] });
  expect(held.all()).toEqual({ changed: [row], removed: [], partial: true });
  const first = held.load(row, base);
  await held.stage({ rows: [], ids: [1], parameters: changed });
  expect(held.load(row, other)).not.toBe(first);
  expect(held.take({ ids: [], removed: [], parameters: changed }).changed).toEqual([]);
  expect(held.report()).toEqual({ rules_loaded: 1, rules_failed: [] });
});
