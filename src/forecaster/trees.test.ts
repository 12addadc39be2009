/** Trees, boosting and the forest: what a split guarantees, the value of a leaf, and the trees that judge out-of-bag rows. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeededStream } from '../base/seeded.ts';
import { binColumn, binColumns } from './binning.ts';
import { fitBoosting } from './boosting.ts';
import { growForest, Neighbourhood, rankingOf } from './forest.ts';
import type { TrainingPlan } from './learning.ts';
import { levels } from './levels.ts';
import { growTree, leafOf } from './trees.ts';

const count = 400;

function noise(seed: number): Float64Array {
  const stream = new SeededStream(seed);
  return Float64Array.from({ length: count }, () => stream.next());
}

function planOf(target: Float64Array): TrainingPlan {
  return {
    rows: Int32Array.from(target, (_, row) => row),
    target,
    weight: new Float64Array(count).fill(1),
    fold: Uint8Array.from(target, (_, row) => Math.floor(row / 20) % 4),
    foldCount: 4,
  };
}

const shape = { depthMax: 5, leafMin: 7, shrinkage: 0, columnsPerSplit: 0 };

function grow(columns: Float64Array[], target: Float64Array, columnsPerSplit = 0) {
  const rows = Int32Array.from(target, (_, row) => row);
  const binned = binColumns(columns, rows, count);
  const input = { bins: binned.bins, target, rows, columns: Int32Array.from(columns, (_, index) => index) };
  return { tree: growTree(input, { ...shape, columnsPerSplit }, new SeededStream(1)), binned };
}

describe('bins', () => {
  test('a larger value never has a smaller bin, and a missing one has bin 0', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), { minLength: 2, maxLength: 200 }),
        (cells) => {
          const column = Float64Array.from(cells);
          const [cuts = new Float64Array(0)] = binColumns(
            [column],
            Int32Array.from(cells, (_, row) => row),
            cells.length,
          ).cuts;
          const sorted = Float64Array.from([...column].sort((a, b) => a - b));
          const bins = binColumn(sorted, cuts, sorted.length);
          for (let row = 1; row < bins.length; row++) expect(bins[row]).toBeGreaterThanOrEqual(bins[row - 1] ?? 0);
          expect(binColumn(Float64Array.of(Number.NaN), cuts, 1)[0]).toBe(0);
        },
      ),
    );
  });
});

describe('trees', () => {
  test.each([0, 2])('every leaf holds its rows, enough of them, and their mean (columns per split %i)', (drawn) => {
    const columns = [noise(1), noise(2), noise(3)];
    const target = noise(4).map((value, row) => value + ((columns[0]?.[row] ?? 0) > 0.5 ? 3 : 0));
    const { tree, binned } = grow(columns, target, drawn);
    const seen = new Set<number>();
    for (let row = 0; row < count; row++) {
      const leaf = leafOf(tree, binned.bins, row);
      const members = [...tree.rows.subarray(tree.start[leaf], tree.end[leaf])];
      expect(members).toContain(row);
      expect(members.length).toBeGreaterThanOrEqual(shape.leafMin);
      const mean = members.reduce((sum, member) => sum + (target[member] ?? 0), 0) / members.length;
      expect(tree.value[leaf]).toBeCloseTo(mean, 9);
      seen.add(leaf);
    }
    expect(seen.size).toBeGreaterThan(4);
  });

  test('the first split is the one that explains most', () => {
    const columns = [noise(1), noise(2), noise(3)];
    const target = Float64Array.from(columns[2] ?? [], (value) => (value > 0.3 ? 10 : 0));
    const { tree, binned } = grow(columns, target);
    expect(tree.column[0]).toBe(2);
    expect(binned.cuts[2]?.[(tree.cut[0] ?? 0) - 1]).toBeCloseTo(0.3, 1);
  });

  test('a target that grows with a column is predicted in that order', () => {
    const x = noise(5);
    const { tree, binned } = grow(
      [x],
      x.map((value) => value ** 3),
    );
    const order = Array.from(x, (_, row) => row).sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
    const values = order.map((row) => tree.value[leafOf(tree, binned.bins, row)] ?? 0);
    for (let place = 1; place < values.length; place++)
      expect(values[place]).toBeGreaterThanOrEqual(values[place - 1] ?? 0);
  });
});

describe('boosting', () => {
  test('it learns the residual of the base at a step, and a fold does not use its own targets', () => {
    const x = noise(6);
    const target = x.map((value) => Math.sin(6 * value));
    const settings = {
      depthMax: 3,
      leafMin: 5,
      shrinkage: 1,
      columnsPerSplit: 0,
      rounds: 60,
      rate: 0.1,
      rowShare: 0.7,
      columnShare: 1,
    };
    const plan = planOf(target);
    const binned = binColumns([x], plan.rows, count);
    const base = new Float64Array(count);
    const fit = fitBoosting(binned, plan, base, settings);
    const missed = fit.outOfFold.reduce((sum, value, row) => sum + Math.abs(value - (target[row] ?? 0)), 0) / count;
    expect(missed).toBeLessThan(0.1);
    const other = planOf(target.map((value, row) => (plan.fold[row] === 2 ? value + 50 : value)));
    const second = fitBoosting(binned, other, base, settings);
    for (let row = 0; row < count; row++)
      if (plan.fold[row] === 2) expect(second.outOfFold[row]).toBe(fit.outOfFold[row]);
  });
});

describe('the forest', () => {
  const x = noise(7);
  const spread = noise(8);
  const target = x.map((value, row) => 10 * value + (value > 0.5 ? 4 : 1) * ((spread[row] ?? 0) - 0.5));
  const plan = planOf(target);
  const block = Int32Array.from(target, (_, row) => Math.floor(row / 10));
  const binned = binColumns([x, noise(9)], plan.rows, count);
  const forest = growForest(binned, plan, block, { ...shape, depthMax: 10, trees: 30, bagShare: 0.63 });
  const near = new Neighbourhood(forest);
  const byTarget = rankingOf(forest, target);
  const quantilesOf = (row: number): Float64Array => {
    near.find(binned.bins, row, -1);
    return near.quantiles(byTarget);
  };

  test('[data-processing §6.2] quantiles never decrease, and stay inside the training range', () => {
    for (let row = 0; row < count; row += 3) {
      const quantiles = quantilesOf(row);
      for (let level = 1; level < levels.length; level++)
        expect(quantiles[level]).toBeGreaterThanOrEqual(quantiles[level - 1] ?? 0);
      expect(quantiles[0]).toBeGreaterThanOrEqual(Math.min(...target));
      expect(quantiles.at(-1)).toBeLessThanOrEqual(Math.max(...target));
    }
  });

  test('of the same neighbours, any value has its distribution, in any order of asking', () => {
    const apart = rankingOf(
      forest,
      target.map((value) => -value),
    );
    for (let row = 0; row < count; row += 17) {
      const own = quantilesOf(row);
      const other = near.quantiles(apart);
      for (let level = 0; level < levels.length; level++)
        expect(other[level]).toBeCloseTo(-(own[levels.length - 1 - level] ?? 0), 9);
      expect(near.median(byTarget)).toBe(own[levels.indexOf(0.5)]);
    }
  });

  test('it is wide where the target is uncertain', () => {
    const width = (row: number): number => {
      const quantiles = quantilesOf(row);
      return (quantiles[levels.indexOf(0.9)] ?? 0) - (quantiles[levels.indexOf(0.1)] ?? 0);
    };
    const mean = (rows: number[]): number => rows.reduce((sum, row) => sum + width(row), 0) / rows.length;
    const rows = Array.from(x, (_, row) => row);
    const calm = rows.filter((row) => (x[row] ?? 0) < 0.4);
    const wild = rows.filter((row) => (x[row] ?? 0) > 0.6);
    expect(mean(wild)).toBeGreaterThan(1.5 * mean(calm));
  });

  test('a tree that saw a block is not asked about it', () => {
    for (const [index, seen] of forest.seen.entries()) {
      const members = new Set(forest.trees[index]?.rows);
      for (let row = 0; row < count; row++) expect(members.has(row)).toBe(seen[block[row] ?? 0] === 1);
    }
  });

  test('two forests of the same rows are equal', () => {
    const again = growForest(binned, plan, block, { ...shape, depthMax: 10, trees: 30, bagShare: 0.63 });
    expect(again.trees).toEqual(forest.trees);
  });
});
