/**
 * The input of a ridge regression: its columns standardised, and their normal equations by fold and slot of the day. They are
 * computed once from the rows and serve every fit of the same columns, or of some of them.
 */
import type { Columns, TrainingPlan } from './learning.ts';

export interface Standard {
  readonly mean: Float64Array;
  readonly scale: Float64Array;
}

/** For the rows of one slot: the lower triangle of X'WX, X'Wy and the weight; the first element belongs to the intercept. */
export interface SlotEquations {
  readonly matrix: Float64Array;
  readonly vector: Float64Array;
  weight: number;
}

export interface NormalEquations {
  /** The columns, standardised. */
  readonly units: Columns;
  readonly hours: Float64Array;
  readonly plan: TrainingPlan;
  readonly standard: Standard;
  /** By fold and slot of the day. */
  readonly parts: readonly (readonly SlotEquations[])[];
}

/** `weight`: of the rows in this fit, if not that of the plan. */
export function normalEquationsOf(
  columns: Columns,
  hours: Float64Array,
  plan: TrainingPlan,
  slotCount: number,
  weight = plan.weight,
): NormalEquations {
  const standard = standardOf(columns, plan.rows, weight);
  const units = standardised(columns, standard);
  const slots = slotsOf(hours, slotCount);
  const rows = Array.from({ length: plan.foldCount * slotCount }, (): number[] => []);
  for (const row of plan.rows) rows[(plan.fold[row] as number) * slotCount + (slots[row] as number)]?.push(row);
  const sums = rows.map((own) => gathered(units, plan.target, weight, own));
  const parts = Array.from({ length: plan.foldCount }, (_, fold) =>
    sums.slice(fold * slotCount, (fold + 1) * slotCount),
  );
  return { units, hours, plan, standard, parts };
}

/** Those of the columns at the indexes `kept`, which ascend. */
export function equationsAt(equations: NormalEquations, kept: readonly number[]): NormalEquations {
  const { units, standard, parts } = equations;
  const pick = (values: Float64Array): Float64Array => Float64Array.from(kept, (place) => values[place] as number);
  // The intercept comes first.
  const places = [0, ...kept.map((place) => place + 1)];
  return {
    ...equations,
    units: kept.map((place) => units[place] as Float64Array),
    standard: { mean: pick(standard.mean), scale: pick(standard.scale) },
    parts: parts.map((slots) => slots.map((slot) => partAt(slot, units.length + 1, places))),
  };
}

function partAt({ matrix, vector, weight }: SlotEquations, size: number, places: readonly number[]): SlotEquations {
  const part = emptyEquations(places.length);
  part.weight = weight;
  for (const [i, row] of places.entries()) {
    part.vector[i] = vector[row] as number;
    for (let j = 0; j <= i; j++)
      part.matrix[i * places.length + j] = matrix[row * size + (places[j] as number)] as number;
  }
  return part;
}

export function standardOf(columns: Columns, rows: Int32Array, weight: Float64Array): Standard {
  const mean = new Float64Array(columns.length);
  const scale = new Float64Array(columns.length);
  for (let column = 0; column < columns.length; column++) {
    const values = columns[column] as Float64Array;
    let sum = 0;
    let total = 0;
    for (const row of rows) {
      const value = values[row] as number;
      if (value !== value) continue;
      sum += (weight[row] as number) * value;
      total += weight[row] as number;
    }
    const middle = total > 0 ? sum / total : 0;
    let squares = 0;
    for (const row of rows) {
      const value = values[row] as number;
      if (value === value) squares += (weight[row] as number) * (value - middle) ** 2;
    }
    const spread = total > 0 ? Math.sqrt(squares / total) : 0;
    mean[column] = middle;
    // A constant column carries no information: scale 0 switches it off.
    scale[column] = spread > 1e-9 * (1 + Math.abs(middle)) ? 1 / spread : 0;
  }
  return { mean, scale };
}

/** The columns, standardised. A missing cell counts as average, and outliers are clipped. */
export function standardised(columns: Columns, { mean, scale }: Standard): Columns {
  return columns.map((column, place) => {
    const middle = mean[place] as number;
    const factor = scale[place] as number;
    const units = new Float64Array(column.length);
    for (let row = 0; row < units.length; row++) {
      const value = column[row] as number;
      const unit = value === value ? (value - middle) * factor : 0;
      units[row] = unit > 6 ? 6 : unit < -6 ? -6 : unit;
    }
    return units;
  });
}

export function slotsOf(hours: Float64Array, slotCount: number): Uint8Array {
  const slots = new Uint8Array(hours.length);
  for (let row = 0; row < slots.length; row++)
    slots[row] = Math.min(slotCount - 1, Math.floor(((hours[row] as number) * slotCount) / 24));
  return slots;
}

export function emptyEquations(size: number): SlotEquations {
  return { matrix: new Float64Array(size * size), vector: new Float64Array(size), weight: 0 };
}

/** Adds `share` of `from` to `into`, lower triangles only. */
export function addEquations(into: SlotEquations, from: SlotEquations, share: number): void {
  const size = into.vector.length;
  into.weight += share * from.weight;
  for (let i = 0; i < size; i++) {
    const at = i * size;
    into.vector[i] = (into.vector[i] as number) + share * (from.vector[i] as number);
    for (let index = at; index <= at + i; index++)
      into.matrix[index] = (into.matrix[index] as number) + share * (from.matrix[index] as number);
  }
}

/** Rows that are added in one pass over the matrix, which reads and writes it a fourth as often. */
const rowsAtOnce = 4;

function gathered(units: Columns, target: Float64Array, weight: Float64Array, rows: readonly number[]): SlotEquations {
  const sum = emptyEquations(units.length + 1);
  const some = new Float64Array(rowsAtOnce * (units.length + 1));
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const own = rows.slice(from, from + rowsAtOnce);
    fillSome(some, units, own);
    addRows(sum, some, target, weight, own);
  }
  return sum;
}

/** Rows with a leading one, one after the other; zeros where there are too few. */
function fillSome(some: Float64Array, units: Columns, rows: readonly number[]): void {
  const size = units.length + 1;
  some.fill(0, rows.length * size);
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    some[index * size] = 1;
    for (let column = 0; column < units.length; column++)
      some[index * size + column + 1] = (units[column] as Float64Array)[row] as number;
  }
}

function addRows(
  sum: SlotEquations,
  some: Float64Array,
  target: Float64Array,
  weight: Float64Array,
  rows: readonly number[],
): void {
  const { matrix, vector } = sum;
  const size = vector.length;
  const weights = [0, 0, 0, 0];
  const targets = [0, 0, 0, 0];
  for (let index = 0; index < rows.length; index++) {
    weights[index] = weight[rows[index] as number] as number;
    targets[index] = target[rows[index] as number] as number;
    sum.weight += weights[index] as number;
  }
  const [weightA = 0, weightB = 0, weightC = 0, weightD = 0] = weights;
  const [targetA = 0, targetB = 0, targetC = 0, targetD = 0] = targets;
  for (let i = 0; i < size; i++) {
    const a = weightA * (some[i] as number);
    const b = weightB * (some[size + i] as number);
    const c = weightC * (some[2 * size + i] as number);
    const d = weightD * (some[3 * size + i] as number);
    // Most kinds of day are not those of these rows.
    if (a === 0 && b === 0 && c === 0 && d === 0) continue;
    vector[i] = (vector[i] as number) + a * targetA + b * targetB + c * targetC + d * targetD;
    const at = i * size;
    for (let j = 0; j <= i; j++)
      matrix[at + j] =
        (matrix[at + j] as number) +
        a * (some[j] as number) +
        b * (some[size + j] as number) +
        c * (some[2 * size + j] as number) +
        d * (some[3 * size + j] as number);
  }
}
