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

describe('what a page held when it was left', () => {
  const base = content(0);
  const kept = { revision: 3, base, history: edited(beginHistory(base), content(1), null, 0) };

  test('is one more step after what was kept, and can be undone', () => {
    const joined = withLeft(kept, { revision: 3, base, present: content(2) });
    expect(joined?.history.present.priority).toBe(2);
    expect(joined && undone(joined.history).present.priority).toBe(1);
  });

  test('is no step when it was kept as well', () => {
    expect(withLeft(kept, { revision: 3, base, present: content(1) })?.history).toBe(kept.history);
  });

  test('stands alone when nothing was kept', () => {
    const joined = withLeft(null, { revision: 3, base, present: content(2) });
    expect(joined?.history.past).toEqual([base]);
    expect(joined?.history.present.priority).toBe(2);
  });

  test('is nothing where nothing was left', () => {
    expect(withLeft(kept, null)).toBe(kept);
    expect(withLeft(null, null)).toBeNull();
  });
});
