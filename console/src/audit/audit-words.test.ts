import { describe, expect, test } from 'vitest';
import { catalogueSite } from '../editor/catalogue-fixture.ts';
import type { AuditEvent } from './audit-queries.ts';
import { facetsOf } from './facets.ts';
import { resourceName } from './resource-words.ts';

describe('the name of a resource', () => {
  const known = { rules: new Map([[3, 'Peak shaving']]), catalogue: catalogueSite() };
  test.each([
    ['automation-rule:3', 'Peak shaving'],
    ['automation-rule:9', null],
    ['automation-rule:apply', 'A plan of rules'],
    ['automation-point:4:A:1', 'battery · power_setpoint'],
    ['automation-point:4:A:9', null],
    ['identity-token:ada', 'Token for ada'],
    ['identity-token', null],
    ['identity-user:a:b', 'a:b'],
    ['something-else:1', null],
  ])('%s is %s', (id, name) => {
    expect(resourceName(id, known)).toBe(name);
  });
});

test('facets count the listed events, the most frequent first', () => {
  const event = (action: string, subjectId: string): AuditEvent => ({
    eventId: 'event-00',
    sequence: '1',
    occurredAt: '2026-01-01T00:00:00.000Z',
    subject: { kind: 'user', subjectId },
    action,
    resource: { kind: 'x', resourceId: 'resource' },
    outcome: 'succeeded',
    risk: 'low',
    confirmation: 'explicit',
    correlationId: 'correlation',
  });
  const events = [event('b', 'ada'), event('a', 'ada'), event('a', 'bob'), event('c', 'eve')];
  expect(facetsOf(events, 'action')).toEqual([
    { value: 'a', count: 2 },
    { value: 'b', count: 1 },
    { value: 'c', count: 1 },
  ]);
  expect(facetsOf(events, 'subjectId').map(({ value }) => value)).toEqual(['ada', 'bob', 'eve']);
  expect(facetsOf([], 'outcome')).toEqual([]);
});
