import { describe, expect, test } from 'vitest';
import type { ExecutionRecord, Outcome } from '../rules/record.ts';
import { RuleTroubles } from './rule-troubles.ts';

const record = (outcome: Outcome, revision = 1, message: string | null = 'no value'): ExecutionRecord =>
  ({
    rule_id: 7,
    rule_revision: revision,
    outcome,
    error: message === null ? null : { code: 'missing-input', message },
  }) as unknown as ExecutionRecord;
const live = (): boolean => true;
const question = { runs: 5, ms: 30_000 };

describe('[alarms §2.2] rules in trouble', () => {
  test('`rule_runs` (5) runs in a row and `rule_ms` (30 s), each at its edge', () => {
    const troubles = new RuleTroubles();
    for (const atMs of [0, 10_000, 20_000, 30_000]) troubles.ran(record('skipped'), atMs);
    expect(troubles.last(question, 30_000, live)).toEqual([]);
    troubles.ran(record('skipped', 1, 'still none'), 30_000);
    expect(troubles.last(question, 29_999, live)).toEqual([]);
    expect(troubles.last(question, 30_000, live)).toEqual([{ rule_id: 7, outcome: 'skipped', reason: 'still none' }]);
  });

  test.each([
    ['a run that is well', () => record('no_action')],
    ['a failure after skipped runs', () => record('failed')],
    ['an edited rule', () => record('skipped', 2)],
  ])('%s begins anew', (_name, next) => {
    const troubles = new RuleTroubles();
    for (let run = 0; run < 9; run++) troubles.ran(record('skipped'), run * 10_000);
    troubles.ran(next(), 90_000);
    expect(troubles.last(question, 200_000, live)).toEqual([]);
  });

  test('a rule that does not run any more is in no trouble, and forgotten', () => {
    const troubles = new RuleTroubles();
    for (let run = 0; run < 9; run++) troubles.ran(record('failed', 1, null), run * 10_000);
    expect(troubles.last(question, 200_000, live)).toEqual([{ rule_id: 7, outcome: 'failed', reason: 'failed' }]);
    expect(troubles.last(question, 200_000, () => false)).toEqual([]);
    expect(troubles.last(question, 200_000, live)).toEqual([]);
  });
});
