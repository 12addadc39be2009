/** What every regression of the forecaster shares: which rows it learns from, and what it hands back. */

/** One array a column, one cell a row. */
export type Columns = readonly Float64Array[];

export interface TrainingPlan {
  /** Rows with a known goal, ascending. */
  readonly rows: Int32Array;
  /** What is to be predicted, per row of the design; NaN where unknown. */
  readonly goal: Float64Array;
  /** How much a row counts; recent rows count more. */
  readonly weight: Float64Array;
  /** Which fold a row is held out with; folds are runs of whole days. */
  readonly fold: Uint8Array;
  readonly foldCount: number;
}

export interface FittedModel {
  /** Per row of the design: the prediction of a fit that had not seen the row's days; NaN outside the plan. */
  readonly outOfFold: Float64Array;
  /** Predictions of the fit on all rows, one a row of `columns`; `hours` are the rows' hours of the day. */
  predict(columns: Columns, hours: Float64Array): Float64Array;
}
