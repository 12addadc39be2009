/** What the console makes of alarms and of their pushed changes. */
import { describe, expect, test } from 'vitest';
import { type AlarmView, conditionHolds, isWaiting, mayHold, withChanges } from './alarm-words.ts';

function alarm(id: string, more: Partial<AlarmView> = {}): AlarmView {
  return {
    id,
    name: id,
    priority: 'medium',
    state: 'active-unacknowledged',
    message: null,
    point: null,
    threshold: null,
    since: '2026-05-04T10:00:00Z',
    count: 1,
    first_out: false,
    acknowledged_by: null,
    shelved_until: null,
    ...more,
  };
}
const ids = (alarms: readonly AlarmView[]): string[] => alarms.map(({ id }) => id);

describe('pushed changes', () => {
  const known = [
    alarm('hot', { priority: 'high', since: '2026-05-04T09:00:00Z' }),
    alarm('late', { since: '2026-05-04T11:00:00Z' }),
    alarm('early'),
  ];

  test('a changed alarm takes the place of the one that was known, and is the only one that changes', () => {
    const acknowledged = alarm('early', { state: 'active-acknowledged' });
    expect(withChanges(known, [acknowledged])).toEqual([known[0], known[1], acknowledged]);
  });

  test('the order is that of the API: the most urgent first, then the newest, then what never occurred', () => {
    const critical = alarm('fire', { priority: 'critical', since: '2026-05-04T08:00:00Z' });
    const newer = alarm('early', { since: '2026-05-04T12:00:00Z' });
    const never = alarm('never', { since: null, state: 'normal', count: 0 });
    expect(ids(withChanges(known, [never, newer, critical]))).toEqual(['fire', 'hot', 'early', 'late', 'never']);
  });
});

test.each([
  // state, holds, may hold, waits for somebody
  ['active-unacknowledged', true, true, true],
  ['active-acknowledged', true, true, false],
  ['cleared-unacknowledged', false, false, true],
  ['shelved', false, true, false],
  // Listed once it has occurred.
  ['normal', false, false, false],
] as const)('an alarm that is %s', (state, holds, may, waits) => {
  const one = alarm('one', { state });
  expect([conditionHolds(one), mayHold(one), isWaiting(one)]).toEqual([holds, may, waits]);
});
