/** Shared by every regression of the forecaster: training rows and results. */

/** One array per column, one element per row. */
export type Columns = readonly Float64Array[];

export interface TrainingPlan {
  /** Rows with a known target, ascending. */
  readonly rows: Int32Array;
  /** The target, per row of the design; NaN where unknown. */
  readonly target: Float64Array;
  /** Sample weight; recent rows weigh more. */
  readonly weight: Float64Array;
  /** The fold in which a row is held out; folds are runs of whole days. */
  readonly fold: Uint8Array;
  readonly foldCount: number;
}

export interface FittedModel {
  /** Out-of-fold prediction per row of the design; NaN outside the plan. */
  readonly outOfFold: Float64Array;
  /** Predictions of the fit on all rows, one per row of `columns`; `hours` are the rows' hours of the day. */
  predict(columns: Columns, hours: Float64Array): Float64Array;
}

/** Like `rows.filter(isWanted)`, which is several times slower on a typed array. */
export function rowsWhere(rows: Int32Array, isWanted: (row: number) => boolean): Int32Array {
  const found = new Int32Array(rows.length);
  let count = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as number;
    if (isWanted(row)) found[count++] = row;
  }
  return found.slice(0, count);
}
