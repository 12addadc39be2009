import { describe, expect, test } from 'vitest';
import { beginHistory, type Content, edited, undone } from './draft-history.ts';
import { withLeft } from './draft-place.ts';

const content = (priority: number): Content => ({
  name: 'Rule',
  description: null,
  priority,
  cooldown_ms: 0,
  trigger_config: null,
  flow: null,
});

describe('a draft left behind by a closing page', () => {
  const base = content(0);
  const kept = { revision: 3, base, history: edited(beginHistory(base), content(1), null, 0) };

  test('adds one undo step to the stored history', () => {
    const joined = withLeft(kept, { revision: 3, base, present: content(2) });
    expect(joined?.history.present.priority).toBe(2);
    expect(joined && undone(joined.history).present.priority).toBe(1);
  });

  test('adds no step when it equals the stored draft', () => {
    expect(withLeft(kept, { revision: 3, base, present: content(1) })?.history).toBe(kept.history);
  });

  test('starts a history if none is stored', () => {
    const joined = withLeft(null, { revision: 3, base, present: content(2) });
    expect(joined?.history.past).toEqual([base]);
    expect(joined?.history.present.priority).toBe(2);
  });

  test('changes nothing when it does not exist', () => {
    expect(withLeft(kept, null)).toBe(kept);
    expect(withLeft(null, null)).toBeNull();
  });
});
