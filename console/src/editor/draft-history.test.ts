import { describe, expect, test } from 'vitest';
import { beginHistory, type Content, edited, redone, sameContent, undone } from './draft-history.ts';

const content = (priority: number): Content => ({
  name: 'Rule',
  description: null,
  priority,
  cooldown_ms: 0,
  trigger_config: null,
  flow: null,
});

describe('undo and redo without limit', () => {
  test('every change can be taken back, and done again', () => {
    let history = beginHistory(content(0));
    for (let step = 1; step <= 500; step++) history = edited(history, content(step), null, step);
    for (let step = 499; step >= 0; step--) {
      history = undone(history);
      expect(history.present.priority).toBe(step);
    }
    expect(undone(history)).toBe(history);
    for (let step = 1; step <= 500; step++) history = redone(history);
    expect(history.present.priority).toBe(500);
    expect(redone(history)).toBe(history);
  });

  test('typing in one field is one step, until one stops or goes elsewhere', () => {
    let history = beginHistory(content(0));
    history = edited(history, content(1), 'priority', 1000);
    history = edited(history, content(12), 'priority', 2000);
    expect(undone(history).present.priority).toBe(0);
    history = edited(history, content(123), 'priority', 3200);
    expect(undone(history).present.priority).toBe(12);
    history = edited(history, content(9), 'cooldown', 3300);
    expect(undone(history).present.priority).toBe(123);
  });

  test('a change after an undo drops the undone states', () => {
    let history = edited(beginHistory(content(0)), content(1), null, 0);
    history = edited(undone(history), content(2), null, 1);
    expect(history.future).toEqual([]);
    expect(undone(history).present.priority).toBe(0);
  });

  test('contents are the same when they are stored as the same bytes', () => {
    expect(sameContent(content(1), content(1))).toBe(true);
    expect(sameContent(content(1), content(2))).toBe(false);
  });
});
