/**
 * One feature on its grid during assembly: numbers, NaN for none, and a quality per cell
 * [data-processing §3.3]. Loops use indices, here and in neighbouring files: a frame has tens of thousands of
 * cells, and an iterator costs ten times as much per cell.
 */

/** In the order of their codes. */
const qualities = ['missing', 'good', 'uncertain', 'substituted'] as const;
type Quality = (typeof qualities)[number];
export const mark = { missing: 0, good: 1, uncertain: 2, substituted: 3 } as const satisfies Record<Quality, number>;
type MarkCode = (typeof mark)[Quality];

export interface Cells {
  readonly values: Float64Array;
  readonly marks: Uint8Array;
}

export function emptyCells(steps: number): Cells {
  return { values: new Float64Array(steps).fill(Number.NaN), marks: new Uint8Array(steps) };
}

/** Every finite value is good; what is not finite is missing. */
export function goodCells(values: Float64Array): Cells {
  const cells = { values, marks: new Uint8Array(values.length) };
  for (let index = 0; index < values.length; index++) setCell(cells, index, valueAt(cells, index), mark.good);
  return cells;
}

export function copyOf(cells: Cells): Cells {
  return { values: cells.values.slice(), marks: cells.marks.slice() };
}

export function setCell(cells: Cells, index: number, value: number, code: MarkCode): void {
  const finite = Number.isFinite(value);
  cells.values[index] = finite ? value : Number.NaN;
  cells.marks[index] = finite ? code : mark.missing;
}

export function clearCell(cells: Cells, index: number): void {
  setCell(cells, index, Number.NaN, mark.missing);
}

/** NaN when the cell is missing or outside the grid. */
export function valueAt(cells: Cells, index: number): number {
  return cells.values[index] ?? Number.NaN;
}

export function isMissing(cells: Cells, index: number): boolean {
  return cells.marks[index] === mark.missing;
}

export function countMarks(cells: Cells, code: MarkCode): number {
  const { marks } = cells;
  let count = 0;
  for (let index = 0; index < marks.length; index++) if (marks[index] === code) count++;
  return count;
}

/** The wire form: a missing value is null, never 0. */
export function wireValues({ values }: Cells): (number | null)[] {
  const wire: (number | null)[] = [];
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? Number.NaN;
    wire.push(Number.isNaN(value) ? null : value);
  }
  return wire;
}

export function wireQuality({ marks }: Cells): Quality[] {
  const wire: Quality[] = [];
  for (let index = 0; index < marks.length; index++) {
    const word = qualities[marks[index] ?? mark.missing];
    if (word === undefined) throw new Error(`no sample quality has code ${marks[index]}`);
    wire.push(word);
  }
  return wire;
}
