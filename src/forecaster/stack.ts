/**
 * The robust combination: weights on the simplex that minimise the absolute error of out-of-fold predictions, found by
 * exponentiated gradients from equal weights. A model that does not help ends near zero; no weight is ever negative.
 */

/** Passes over the rows; the second half is averaged. */
const passes = 120;

/** Rows used at most: more do not change the weights. */
const rowsMax = 4000;

export function stackWeights(
  predictions: readonly Float64Array[],
  target: Float64Array,
  rows: Int32Array,
): Float64Array {
  const models = predictions.length;
  const weights = new Float64Array(models).fill(1 / models);
  if (models < 2) return weights;
  const stride = Math.max(1, Math.ceil(rows.length / rowsMax));
  const used = rows.filter((_, index) => index % stride === 0);
  const matrix = new Float64Array(used.length * models);
  let spread = 0;
  for (let index = 0; index < used.length; index++) {
    const row = used[index] as number;
    for (let model = 0; model < models; model++)
      matrix[index * models + model] = (predictions[model] as Float64Array)[row] as number;
    spread += Math.abs((target[row] as number) - (matrix[index * models] as number));
  }
  if (!(spread > 0)) return weights;
  const averaged = new Float64Array(models);
  const gradient = new Float64Array(models);
  for (let pass = 0; pass < passes; pass++) {
    fillGradient(gradient, matrix, weights, target, used);
    step(weights, gradient, spread, 1 / Math.sqrt(1 + pass / 10));
    if (pass * 2 < passes) continue;
    for (let model = 0; model < models; model++)
      averaged[model] = (averaged[model] as number) + (weights[model] as number);
  }
  const total = averaged.reduce((sum, value) => sum + value, 0);
  return averaged.map((value) => value / total);
}

function fillGradient(
  gradient: Float64Array,
  matrix: Float64Array,
  weights: Float64Array,
  target: Float64Array,
  used: Int32Array,
): void {
  const models = weights.length;
  gradient.fill(0);
  for (let index = 0; index < used.length; index++) {
    const at = index * models;
    let sum = 0;
    for (let model = 0; model < models; model++) sum += (weights[model] as number) * (matrix[at + model] as number);
    const sign = sum > (target[used[index] as number] as number) ? 1 : -1;
    for (let model = 0; model < models; model++)
      gradient[model] = (gradient[model] as number) + sign * (matrix[at + model] as number);
  }
}

function step(weights: Float64Array, gradient: Float64Array, spread: number, rate: number): void {
  let middle = 0;
  for (let model = 0; model < weights.length; model++)
    middle += (weights[model] as number) * (gradient[model] as number);
  let total = 0;
  for (let model = 0; model < weights.length; model++) {
    const moved = (weights[model] as number) * Math.exp((-rate * ((gradient[model] as number) - middle)) / spread);
    weights[model] = moved;
    total += moved;
  }
  for (let model = 0; model < weights.length; model++) weights[model] = (weights[model] as number) / total;
}

/** The weighted sum of the models' predictions, cell by cell. */
export function combine(predictions: readonly Float64Array[], weights: Float64Array): Float64Array {
  const [first] = predictions;
  if (first === undefined) throw new Error('nothing to combine');
  return first.map((_, cell) =>
    predictions.reduce((sum, own, model) => sum + (weights[model] as number) * (own[cell] as number), 0),
  );
}
