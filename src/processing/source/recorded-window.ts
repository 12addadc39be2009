/**
 * The window of a recorded source, and its answer in the unit of the task [data-processing §4.11]: a record in another unit of
 * the same kind is multiplied, and a counter becomes the mean power of each interval by difference.
 */
import type { WindowAnswer } from '../../historian/historian.ts';
import type { RecordedSource } from '../commission/commissioned.ts';
import type { SeriesWindow } from './history-adapter.ts';

type Asked = Pick<SeriesWindow, 'asOfMs' | 'cadenceMs' | 'steps' | 'maxSourceSkewMs'> & {
  /** In the unit of the task. */
  readonly range: SeriesWindow['range'] & object;
};

export function recordedWindow(source: RecordedSource, asked: Asked): SeriesWindow {
  const { series, sourceRef, aggregation, duplicatePolicy, factor, isCounter } = source;
  const { range, ...grid } = asked;
  const window = { ...grid, series, sourceRef, duplicatePolicy };
  // The first interval needs the counter's previous value. Ranges are those of powers, which are not recorded.
  if (isCounter) return { ...window, steps: grid.steps + 1, aggregation: 'last' };
  return { ...window, aggregation, range: factor === 1 ? range : scaledRange(range, 1 / factor) };
}

/** Bounds, converted by a positive factor; an integer in one unit need not be one in another. */
function scaledRange(range: Asked['range'], factor: number): Asked['range'] {
  const { integer: _, ...bounds } = range as { readonly integer?: boolean } & Readonly<Record<string, number>>;
  return Object.fromEntries(Object.entries(bounds).map(([name, bound]) => [name, bound * factor]));
}

export function inTaskUnit(
  { factor, isCounter }: RecordedSource,
  cadenceMs: number,
  answer: WindowAnswer,
): WindowAnswer {
  if (isCounter) return powers(answer, (factor * hourMs) / cadenceMs);
  if (factor === 1) return answer;
  return { ...answer, cells: answer.cells.map((value) => value * factor) };
}

const hourMs = 3_600_000;

/** One cell fewer than the counter has; NaN at a gap, and at a reset, where the counter decreases. */
function powers(answer: WindowAnswer, perDifference: number): WindowAnswer {
  const { cells: counts, uncertainCells: doubts } = answer;
  const steps = counts.length - 1;
  const cells = new Float64Array(steps);
  const uncertainCells = new Uint8Array(steps);
  for (let index = 0; index < steps; index++) {
    const difference = (counts[index + 1] ?? Number.NaN) - (counts[index] ?? Number.NaN);
    cells[index] = difference >= 0 ? difference * perDifference : Number.NaN;
    uncertainCells[index] = doubts[index] === 1 || doubts[index + 1] === 1 ? 1 : 0;
  }
  return { ...answer, cells, uncertainCells };
}
