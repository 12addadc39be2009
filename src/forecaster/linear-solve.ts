/** Symmetric positive definite systems for ridge regression, in place on typed arrays and without allocation. */

/**
 * Solves (A + diagonal) x = b by Cholesky. `matrix` is row-major p×p, its lower triangle is read and overwritten;
 * `vector` holds b and then x. Returns false when the matrix is not positive definite.
 */
export function solveSymmetric(matrix: Float64Array, vector: Float64Array, size: number): boolean {
  for (let row = 0; row < size; row++) {
    const rowAt = row * size;
    for (let column = 0; column <= row; column++) {
      const columnAt = column * size;
      let sum = matrix[rowAt + column] ?? 0;
      for (let k = 0; k < column; k++) sum -= (matrix[rowAt + k] ?? 0) * (matrix[columnAt + k] ?? 0);
      if (row === column) {
        if (!(sum > 0)) return false;
        matrix[rowAt + row] = Math.sqrt(sum);
      } else {
        matrix[rowAt + column] = sum / (matrix[columnAt + column] ?? 1);
      }
    }
  }
  for (let row = 0; row < size; row++) {
    let sum = vector[row] ?? 0;
    for (let k = 0; k < row; k++) sum -= (matrix[row * size + k] ?? 0) * (vector[k] ?? 0);
    vector[row] = sum / (matrix[row * size + row] ?? 1);
  }
  for (let row = size - 1; row >= 0; row--) {
    let sum = vector[row] ?? 0;
    for (let k = row + 1; k < size; k++) sum -= (matrix[k * size + row] ?? 0) * (vector[k] ?? 0);
    vector[row] = sum / (matrix[row * size + row] ?? 1);
  }
  return true;
}
