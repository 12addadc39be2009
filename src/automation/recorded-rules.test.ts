/** Rules edited directly in the database [audit §7], and cases that only look like it. */
import { describe, expect, test } from 'vitest';
import { type RecordedEvent, RecordedRules } from './recorded-rules.ts';

const view = (id: number, more: object = {}) => ({
  id,
  name: `rule ${id}`,
  description: null,
  enabled: false,
  mode: 'live',
  priority: 5,
  cooldown_ms: 0,
  trigger_config: { type: 'interval' },
  flow_json: null,
  nodes_json: [],
  ...more,
});
const stored = (id: number, more: object = {}) => {
  const { enabled, trigger_config, flow_json, nodes_json, ...rest } = view(id, more);
  const text = (value: unknown) => (value === null ? null : JSON.stringify(value));
  return {
    ...rest,
    enabled: enabled ? 1 : 0,
    trigger_config: text(trigger_config),
    flow_json: text(flow_json),
    nodes_json: JSON.stringify(nodes_json),
  };
};

function recorded(...events: (Partial<Omit<RecordedEvent, 'details'>> & { details?: unknown })[]): RecordedRules {
  const rules = new RecordedRules();
  for (const [at, { details, ...event }] of events.entries())
    rules.add({
      sequence: String(at + 1),
      eventId: `event-${at + 1}`,
      action: 'automation.rule.update',
      resourceId: 'automation-rule:3',
      outcome: 'succeeded',
      acceptedEventId: null,
      ...event,
      details: details === undefined ? null : JSON.stringify(details),
    });
  return rules;
}

describe('recorded rules', () => {
  test('[audit §7] a rule in its recorded state is not a finding, also after it was enabled or imported', () => {
    const created = { details: { before: null, after: view(3) } };
    expect(recorded(created).compare([stored(3)], true)).toEqual([]);
    const enabled = { action: 'automation.rule.enable', details: { after: { enabled: true, mode: 'shadow' } } };
    expect(recorded(created, enabled).compare([stored(3, { enabled: true, mode: 'shadow' })], true)).toEqual([]);
    const imported = {
      action: 'automation.rule.import',
      resourceId: 'automation-rule:import',
      details: { created: [view(4)], updated: [{ before: view(3), after: view(3, { priority: 9 }) }] },
    };
    expect(recorded(created, imported).compare([stored(3, { priority: 9 }), stored(4)], true)).toEqual([]);
    const applied = {
      action: 'automation.rule.apply',
      resourceId: 'automation-rule:apply',
      details: {
        changes: [
          { action: 'create', rule_id: 5, after: view(5) },
          { action: 'delete', rule_id: 3 },
        ],
      },
    };
    expect(recorded(created, applied).compare([stored(5)], true)).toEqual([]);
  });

  test('[audit §7] an edit, a rule put in and one taken out are each named', () => {
    const rules = () => recorded({ details: { before: null, after: view(3) } });
    expect(rules().compare([stored(3, { priority: 6, nodes_json: [1] })], true)).toEqual([
      'rule 3 was edited in the database: priority, nodes_json not as event 1 recorded (edited-outside)',
    ]);
    expect(rules().compare([stored(3), stored(8)], true)).toEqual([
      'rule 8 was put into the database: no event records it (edited-outside)',
    ]);
    expect(rules().compare([], true)).toEqual([
      'rule 3, as event 1 recorded it, was removed from the database (edited-outside)',
    ]);
    const deleted = { action: 'automation.rule.delete', details: { before: view(3), after: null } };
    expect(recorded(deleted).compare([stored(3)], true)).toEqual([
      'rule 3 is there although event 1 deleted it (edited-outside)',
    ]);
  });

  test('[audit §7] acts that a crash left open, or that retention removed, are not comparable', () => {
    const created = { details: { before: null, after: view(3) } };
    const open = { outcome: 'accepted', eventId: 'open-event' };
    const edited = [stored(3, { priority: 7 })];
    expect(recorded(created, open).compare(edited, true)).toEqual([]);
    const closed = { outcome: 'failed', acceptedEventId: 'open-event' };
    expect(recorded(created, open, closed).compare(edited, true)).toHaveLength(1);
    const unknown = { outcome: 'unknown', acceptedEventId: 'open-event' };
    expect(recorded(created, open, unknown).compare(edited, true)).toEqual([]);
    // Recognised again with the next complete record.
    const again = { details: { before: null, after: view(3, { priority: 7 }) } };
    expect(recorded(created, open, unknown, again).compare(edited, true)).toEqual([]);
    expect(recorded(created, open, unknown, again).compare([stored(3)], true)).toHaveLength(1);
    // An act whose process slept, and that was concluded for it, ends after later ones.
    const late = { acceptedEventId: 'open-event', details: { before: null, after: view(3) } };
    expect(recorded(created, open, unknown, again, late).compare(edited, true)).toEqual([]);
    expect(recorded(created, open, unknown, late, again).compare([stored(3)], true)).toHaveLength(1);
    // A run does not change its rule.
    const run = { ...open, action: 'automation.rule.execute' };
    expect(recorded(created, run).compare(edited, true)).toHaveLength(1);
    // Two at once: which of them changed the rule last is not recorded.
    const [one, two] = ['one-event', 'two-event'];
    const both = [one, two].map((eventId) => ({ outcome: 'accepted', eventId }));
    const ends = [two, one].map((acceptedEventId) => ({ acceptedEventId, details: { after: view(3) } }));
    expect(recorded(created, ...both, ...ends).compare([], true)).toEqual([]);
    const apply = { action: 'automation.rule.apply', resourceId: 'automation-rule:apply' };
    const changes = [{ action: 'update', rule_id: 3, after: view(3) }];
    const withApply = recorded(
      created,
      { outcome: 'accepted', eventId: 'one-event' },
      { ...apply, outcome: 'accepted', eventId: 'two-event' },
      { ...apply, acceptedEventId: 'two-event', details: { changes } },
      { acceptedEventId: 'one-event', details: { after: view(3, { priority: 7 }) } },
    );
    expect(withApply.compare([stored(3)], true)).toEqual([]);
    expect(recorded().compare([stored(9)], false)).toEqual([]);
    expect(recorded().compare([stored(9)], true)).toHaveLength(1);
  });

  test.each([
    ['create', 'automation-rule:new'],
    ['instantiate', 'automation-rule:new'],
    // The event's resource is the rule that was copied.
    ['duplicate', 'automation-rule:3'],
  ])('[audit §7] %s, left open by a crash, may have made a rule; others are compared as before', (act, resourceId) => {
    const created = { details: { before: null, after: view(3) } };
    const open = { action: `automation.rule.${act}`, outcome: 'accepted', eventId: 'open-event', resourceId };
    const unknown = { ...open, outcome: 'unknown', eventId: 'its-end', acceptedEventId: 'open-event' };
    for (const events of [[open], [open, unknown]]) {
      expect(recorded(created, ...events).compare([stored(3), stored(9)], true)).toEqual([]);
      expect(recorded(created, ...events).compare([stored(3, { priority: 7 })], true)).toHaveLength(1);
      expect(recorded(created, ...events).compare([], true)).toHaveLength(1);
    }
  });

  test.each(['create', 'instantiate', 'duplicate'])(
    '[audit §7] a late record of %s does not override later changes of the new rule',
    (act) => {
      const made = { action: `automation.rule.${act}`, details: { before: null, after: view(3) } };
      const updated = { details: { before: view(3), after: view(3, { priority: 7 }) } };
      const enabled = { action: 'automation.rule.enable', details: { after: { enabled: true, mode: 'live' } } };
      const deleted = { action: 'automation.rule.delete', details: { before: view(3), after: null } };
      const changed = { priority: 7, enabled: true };
      expect(recorded(updated, made).compare([stored(3, { priority: 7 })], true)).toEqual([]);
      expect(recorded(enabled, made).compare([stored(3, { enabled: true })], true)).toEqual([]);
      expect(recorded(enabled, made, updated, enabled).compare([stored(3, changed)], true)).toEqual([]);
      expect(recorded(updated, enabled, made).compare([stored(3, changed)], true)).toEqual([]);
      expect(recorded(deleted, made).compare([], true)).toEqual([]);
      // What was edited is still named, and so is a rule that only an edit can have made.
      expect(recorded(enabled, made).compare([stored(3)], true)).toHaveLength(1);
      expect(recorded(updated, made).compare([stored(3)], true)).toHaveLength(1);
      expect(recorded(deleted, made).compare([stored(3)], true)).toHaveLength(1);
      expect(recorded(enabled).compare([stored(3, { enabled: true })], true)).toHaveLength(1);
    },
  );

  test('[audit §7] an act on many rules, left open by a crash, may have changed each that was there, until its next record', () => {
    const created = { details: { before: null, after: view(3) } };
    const open = {
      action: 'automation.rule.apply',
      outcome: 'accepted',
      eventId: 'open-event',
      resourceId: 'automation-rule:apply',
    };
    const unknown = { ...open, outcome: 'unknown', eventId: 'its-end', acceptedEventId: 'open-event' };
    for (const events of [[open], [open, unknown]]) {
      expect(recorded(created, ...events).compare([stored(3, { priority: 7 }), stored(9)], true)).toEqual([]);
      expect(recorded(created, ...events).compare([], true)).toEqual([]);
    }
    const again = { details: { before: null, after: view(3, { priority: 7 }) } };
    expect(recorded(created, open, unknown, again).compare([stored(3)], true)).toHaveLength(1);
  });
});
