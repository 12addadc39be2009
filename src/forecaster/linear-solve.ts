/** Symmetric positive definite systems for ridge regression, in place on typed arrays and without allocation. */

/**
 * Solves (A + diagonal) x = b by Cholesky. `matrix` is row-major p×p, its lower triangle is read and overwritten;
 * `vector` holds b and then x. Returns false when the matrix is not positive definite.
 */
export function solveSymmetric(matrix: Float64Array, vector: Float64Array, size: number): boolean {
  for (let column = 0; column < size; column++) if (!factorColumn(matrix, size, column)) return false;
  for (let row = 0; row < size; row++) {
    let sum = vector[row] as number;
    for (let k = 0; k < row; k++) sum -= (matrix[row * size + k] as number) * (vector[k] as number);
    vector[row] = sum / (matrix[row * size + row] as number);
  }
  for (let row = size - 1; row >= 0; row--) {
    let sum = vector[row] as number;
    for (let k = row + 1; k < size; k++) sum -= (matrix[k * size + row] as number) * (vector[k] as number);
    vector[row] = sum / (matrix[row * size + row] as number);
  }
  return true;
}

/**
 * Column `column` of the factor, from those before it; false when the pivot is not positive. Four rows at a time: their sums do not wait for
 * one another.
 */
function factorColumn(matrix: Float64Array, size: number, column: number): boolean {
  const own = column * size;
  const pivot = lessProducts(matrix, own, own, column);
  if (!(pivot > 0)) return false;
  const root = Math.sqrt(pivot);
  matrix[own + column] = root;
  let row = column + 1;
  for (; row + 3 < size; row += 4) {
    const a = row * size;
    const b = a + size;
    const c = b + size;
    const d = c + size;
    let [sumA, sumB, sumC, sumD] = [
      matrix[a + column] as number,
      matrix[b + column] as number,
      matrix[c + column] as number,
      matrix[d + column] as number,
    ];
    for (let k = 0; k < column; k++) {
      const factor = matrix[own + k] as number;
      sumA -= (matrix[a + k] as number) * factor;
      sumB -= (matrix[b + k] as number) * factor;
      sumC -= (matrix[c + k] as number) * factor;
      sumD -= (matrix[d + k] as number) * factor;
    }
    matrix[a + column] = sumA / root;
    matrix[b + column] = sumB / root;
    matrix[c + column] = sumC / root;
    matrix[d + column] = sumD / root;
  }
  for (; row < size; row++) matrix[row * size + column] = lessProducts(matrix, row * size, own, column) / root;
  return true;
}

/** Element `column` of a row, less the products of its earlier elements with the row at `other`. */
function lessProducts(matrix: Float64Array, at: number, other: number, column: number): number {
  let sum = matrix[at + column] as number;
  for (let k = 0; k < column; k++) sum -= (matrix[at + k] as number) * (matrix[other + k] as number);
  return sum;
}
