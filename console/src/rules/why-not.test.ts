import { describe, expect, test } from 'vitest';
import type { ShownStatus } from '../server/queries.ts';
import { whyNot } from './why-not.ts';

const point = {
  instance: 1,
  point_type: 'measurement',
  point: 1,
  last_value: 10,
  current_value: 10.4,
  distance: 0.4,
  threshold: 1,
  gap: false,
} as const;
const status: ShownStatus = {
  rule_id: 3,
  enabled: true,
  mode: 'live',
  runnable: true,
  state: 'waiting',
  reasons: [{ code: 'no-change' }],
  last_run: null,
  next_due_at: null,
  cooldown_until: null,
  points: [point],
};
const parts = {
  nameOfPoint: () => ({ label: 'grid · active_power', unit: 'kW' }),
  nameOfRule: String,
  nowMs: Date.parse('2026-07-11T10:00:00.000Z'),
};

describe('why a rule is not running', () => {
  test('names how far each point has moved, and how far it must', () => {
    expect(whyNot(status, parts)).toEqual([
      'No trigger point has changed enough.',
      'grid · active_power: 10.4 kW, moved by 0.4 kW of 1 kW.',
    ]);
  });

  test('a point without a usable value has no distance, and neither has a trigger without a deadband', () => {
    const points = [
      { ...point, current_value: null, distance: null },
      { ...point, threshold: null },
    ];
    expect(whyNot({ ...status, reasons: [], points }, { ...parts, nameOfPoint: () => undefined })).toEqual([
      '1:1: no usable value.',
      '1:1: 10.4.',
    ]);
  });

  test('the rest of a cooldown and of an interval in seconds, and nothing of one that is over', () => {
    const cooling = {
      ...status,
      reasons: [],
      points: [],
      cooldown_until: '2026-07-11T10:00:02.400Z',
      next_due_at: '2026-07-11T10:00:01.000Z',
    };
    expect(whyNot(cooling, parts)).toEqual(['Cooldown: 3 s left.', 'Due in 1 s.']);
    expect(whyNot({ ...cooling, cooldown_until: '2026-07-11T09:59:59.000Z' }, parts)).toEqual(['Due in 1 s.']);
  });
});
