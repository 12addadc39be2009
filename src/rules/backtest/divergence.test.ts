import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timeLabel } from '../../base/timestamp.ts';
import type { Outcome } from '../record.ts';
import { Divergence } from './divergence.ts';

interface Run {
  readonly atMs: number;
  readonly path: readonly string[];
  readonly outcome: Outcome;
  /** Null for a write that was refused. */
  readonly writes: readonly (number | null)[];
}

const actionsOf = ({ writes }: Run) =>
  writes.map((written, point) => ({
    node_id: 'act',
    instance: 1,
    point_type: 'action' as const,
    point,
    value: 0,
    success: written !== null,
    ...(written === null ? {} : { written }),
  }));
/** One object for each path, as runs along the same nodes share theirs. */
const paths = [['start', 'end'], ['start', 'act', 'end'], ['start']];

const runs = fc
  .array(
    fc.record({
      gapMs: fc.nat(3),
      path: fc.constantFrom(...paths),
      outcome: fc.constantFrom<Outcome[]>('acted', 'no_action'),
      writes: fc.array(fc.constantFrom(1, 2, null), { maxLength: 2 }),
    }),
    { maxLength: 20 },
  )
  .map((steps) => {
    let atMs = 0;
    // The number of writes follows from the path and the outcome.
    return steps.map(({ gapMs, path, outcome, writes }): Run => {
      atMs += gapMs;
      const isActing = path.length === 3 && outcome === 'acted';
      return { atMs, path, outcome, writes: isActing ? [writes[0] ?? 1, writes[1] ?? null] : [] };
    });
  });

/** What a rule was doing after all its runs up to a moment. */
function doingAt(list: readonly Run[], atMs: number) {
  const run = list.findLast((each) => each.atMs <= atMs);
  if (run === undefined) return null;
  const { outcome, path, writes } = run;
  return { outcome, path, writes: writes.map((value, point) => ({ instance: 1, point, value })) };
}

function firstOf(baseline: readonly Run[], candidate: readonly Run[]) {
  for (let atMs = 0; atMs <= 100; atMs++) {
    const [was, is] = [doingAt(baseline, atMs), doingAt(candidate, atMs)];
    if (JSON.stringify(was) !== JSON.stringify(is)) return { at: timeLabel(atMs), baseline: was, candidate: is };
  }
  return null;
}

test('[rules §10.1] the first difference is the one that a look at every moment finds, however far one rule is ahead', () => {
  fc.assert(
    fc.property(runs, runs, fc.array(fc.nat(60)), (baseline, candidate, settled) => {
      const divergence = new Divergence();
      let [before, after] = [0, 0];
      for (const endMs of [...settled.toSorted((a, b) => a - b), 100]) {
        // The candidate goes first, as far as the next moment; then the baseline.
        for (; (candidate[after]?.atMs ?? endMs) < endMs; after++) {
          const run = candidate[after] as Run;
          divergence.note('candidate', run.atMs, run.path, { outcome: run.outcome, actions: actionsOf(run) });
        }
        for (; (baseline[before]?.atMs ?? endMs) < endMs; before++) {
          const run = baseline[before] as Run;
          divergence.note('baseline', run.atMs, run.path, { outcome: run.outcome, actions: actionsOf(run) });
        }
        divergence.settle(endMs);
      }
      expect(divergence.end()).toEqual(firstOf(baseline, candidate));
    }),
    { numRuns: 2000 },
  );
});

test('a difference at the last of a million moments is found, all with different values', () => {
  const divergence = new Divergence();
  const path = paths[1] ?? [];
  const count = 1_000_000;
  const act = (written: number) => [
    { node_id: 'act', instance: 1, point_type: 'action' as const, point: 1, value: written, written, success: true },
  ];
  for (let atMs = 0; atMs < count; atMs++) {
    divergence.note('candidate', atMs, path, { outcome: 'acted', actions: act(atMs) });
    const same = atMs < count - 1 ? atMs : -1;
    divergence.note('baseline', atMs, path, { outcome: 'acted', actions: act(same) });
    divergence.settle(atMs);
  }
  expect(divergence.end()).toMatchObject({ at: timeLabel(count - 1), baseline: { writes: [{ value: -1 }] } });
});
