/** Who may write a point, and what of that outlives a restart [rules §6.2]. */
import { describe, expect, test } from 'vitest';
import type { PointFacts } from '../site/catalogue.ts';
import { testCatalogue } from '../testing/site-builder.ts';
import { type Arbiter, createArbiter } from './arbiter.ts';

function pointWith(facts: Partial<PointFacts>): PointFacts {
  const point = testCatalogue(facts).point({ instance: 1, point_type: 'action', point: 1 });
  if (point === undefined) throw new Error('the site has lost its point');
  return point;
}
const held = pointWith({ priorityHoldMs: 10_000 });
const budgeted = pointWith({ maxWritesPerMinute: 2 });
const plain = pointWith({});

const written = { value: 1, limitedBy: null };

function begin(arbiter: Arbiter, monotonicMs: number): void {
  arbiter.beginCycle({ monotonicMs, wallMs: 1_000_000 + monotonicMs });
}

function asked(arbiter: Arbiter, point: PointFacts, ruleId: number, priority: number, nowMs: number) {
  begin(arbiter, nowMs);
  return arbiter.ask(point, ruleId, priority);
}

/** A restart after `downMs`, on another monotonic clock; the wall clock may have jumped meanwhile. */
function restarted(before: Arbiter, point: PointFacts, nowMs: number, downMs: number, wallJumpMs = 0): Arbiter {
  const text = JSON.stringify(before.exportClaim(point, nowMs, 1_000_000));
  const after = createArbiter();
  after.restoreClaim(point, JSON.parse(text), 5, 1_000_000 + downMs + wallJumpMs);
  return after;
}

test('[rules §6.2] a hold binds lower priorities, but never the rule that holds, even once its own priority was lowered', () => {
  const arbiter = createArbiter();
  begin(arbiter, 1000);
  arbiter.claim(held, 7, 100, written);
  expect(asked(arbiter, held, 7, 10, 2000)).toEqual({ allowed: true });
  expect(asked(arbiter, held, 8, 99, 2000)).toEqual({ allowed: false, reason: 'outranked', by: 7 });
  expect(arbiter.heldUntil(held)).toEqual({ ruleId: 7, untilMs: 11_000 });
  expect(asked(arbiter, held, 8, 99, 10_999)).toMatchObject({ allowed: false });
  expect(arbiter.heldUntil(held)).not.toBeNull();
  expect(asked(arbiter, held, 8, 99, 11_000)).toEqual({ allowed: true });
  expect(arbiter.heldUntil(held)).toBeNull();
  expect(arbiter.heldUntil(plain)).toBeNull();
});

describe('[rules §6.2] arbitration state survives a restart', () => {
  test('a priority hold continues for the rest of its time, against lower priorities only', () => {
    const before = createArbiter();
    begin(before, 1000);
    before.claim(held, 7, 100, written);
    expect(before.takeClaimed()).toEqual([held]);
    const after = restarted(before, held, 3000, 2000);
    expect(asked(after, held, 1, 50, 5)).toEqual({ allowed: false, reason: 'outranked', by: 7 });
    expect(asked(after, held, 1, 50, 5 + 5999)).toMatchObject({ allowed: false });
    expect(asked(after, held, 1, 50, 5 + 6000)).toEqual({ allowed: true });
    expect(asked(after, held, 2, 100, 5)).toEqual({ allowed: true });
  });

  test('a wall clock that went back by an hour holds no longer than priority_hold_ms; one that went ahead ends it', () => {
    const before = createArbiter();
    begin(before, 1000);
    before.claim(held, 7, 100, written);
    const back = restarted(before, held, 1000, 0, -3_600_000);
    expect(asked(back, held, 1, 50, 5 + 9999)).toMatchObject({ allowed: false });
    expect(asked(back, held, 1, 50, 5 + 10_000)).toEqual({ allowed: true });
    expect(asked(restarted(before, held, 1000, 0, 3_600_000), held, 1, 50, 5)).toEqual({ allowed: true });
  });

  test('a write budget counts the writes of before', () => {
    const before = createArbiter();
    for (const atMs of [1000, 2000]) {
      begin(before, atMs);
      before.claim(budgeted, 7, 0, written);
    }
    expect(before.takeClaimed()).toEqual([budgeted, budgeted]);
    expect(before.takeClaimed()).toEqual([]);
    const after = restarted(before, budgeted, 2000, 1000);
    expect(asked(after, budgeted, 1, 0, 5)).toEqual({ allowed: false, reason: 'rate-limited' });
    expect(asked(after, budgeted, 1, 0, 5 + 57_999)).toMatchObject({ reason: 'rate-limited' });
    expect(asked(after, budgeted, 1, 0, 5 + 58_000)).toEqual({ allowed: true });
  });

  test('a point without either is not stored, and a damaged claim is ignored', () => {
    const arbiter = createArbiter();
    begin(arbiter, 1000);
    arbiter.claim(plain, 7, 100, written);
    expect(arbiter.takeClaimed()).toEqual([]);
    expect(arbiter.exportClaim(held, 0, 0)).toMatchObject({ rule: 7 });
    const fresh = createArbiter();
    for (const stored of [
      null,
      {},
      { rule: 1, priority: 1, hold_until: 'x', written: [] },
      { rule: 1, priority: 1, hold_until: 1, written: [null] },
    ])
      fresh.restoreClaim(held, stored, 0, 0);
    expect(fresh.exportClaim(held, 0, 0)).toBeNull();
  });
});
