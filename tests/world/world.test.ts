import { describe, expect, test } from 'vitest';
import { worldOperations } from '../../src/testing/world/operations.ts';
import { runWorld, type TraceListener } from '../../src/testing/world/world.ts';
import { storedSeeds } from './seeds.ts';

const realNow = (): number => performance.now();

describe('the deterministic world', () => {
  test('a seed gives the same trace again, and breaks nothing', async () => {
    const answered = new Set<string>();
    const held = new Set<string>();
    const listen: TraceListener = (_, kind, what) => {
      const [operation, , outcome] = what.split(' ');
      if (kind === 'call' && outcome === 'ok') answered.add(operation ?? '');
      if (kind === 'hand' && what.endsWith(' ok')) held.add(operation ?? '');
    };
    const [first, second] = [await runWorld(7, 0.1, realNow, { listen }), await runWorld(7, 0.1, realNow)];
    expect(first.violations).toEqual([]);
    expect(first.executions).toBeGreaterThan(100);
    expect(first.faults).toBeGreaterThan(3);
    expect(second.digest).toBe(first.digest);
    // An operation that is always refused tests nothing.
    expect([...answered].toSorted()).toEqual(['automation.rule.create', ...worldOperations].toSorted());
    const byHand = ['limit', 'override', 'release'].map((each) => `automation.point.${each}`);
    expect([...held].toSorted()).toEqual(byHand);
  });

  test.for(storedSeeds('short'))('seed $seed breaks nothing any more: $violation', async ({ seed, hours, without }) => {
    const { violations } = await runWorld(seed, hours, realNow, { without });
    expect(violations).toEqual([]);
  });
});
