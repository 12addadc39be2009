import { describe, expect, test } from 'vitest';
import { parseExpression } from '../../../src/rules/expression/parse.ts';
import { type BuiltCondition, conditionText, releasesBehind } from './condition-text.ts';

const threshold: BuiltCondition = { name: 'soc', side: 'above', value: '80', release: '', seconds: 0 };

describe('a threshold as an expression', () => {
  test.each<[Partial<BuiltCondition>, string]>([
    [{}, 'soc > 80'],
    [{ side: 'below', value: 'limit' }, 'soc < limit'],
    [{ release: '75' }, 'hysteresis(soc, 80, 75) == 1'],
    [{ side: 'below', value: '40', release: '45' }, 'hysteresis(-soc, -40, -45) == 1'],
    [{ side: 'below', value: '-10', release: 'limit' }, 'hysteresis(-soc, 10, -limit) == 1'],
    [{ seconds: 60 }, 'held(soc > 80, 60)'],
    [{ release: '75', seconds: 30 }, 'held(hysteresis(soc, 80, 75) == 1, 30)'],
  ])('%o', (parts, text) => {
    expect(conditionText({ ...threshold, ...parts })).toBe(text);
    expect(parseExpression(text).ok).toBe(true);
  });

  test('lets go on the other side of the value', () => {
    expect(releasesBehind({ ...threshold, release: '75' })).toBe(true);
    expect(releasesBehind({ ...threshold, release: '85' })).toBe(false);
    expect(releasesBehind({ ...threshold, side: 'below', release: '85' })).toBe(true);
    expect(releasesBehind({ ...threshold, side: 'below', release: '75' })).toBe(false);
    expect(releasesBehind({ ...threshold, release: 'limit' })).toBe(true);
  });
});
