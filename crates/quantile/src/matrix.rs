//! Small dense matrices with about twenty rows.

/// A matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    columns: usize,
    entries: Vec<f64>,
}

impl Matrix {
    /// Create a matrix from its entries, row by row.
    ///
    /// # Panics
    /// If the entries do not fill whole rows.
    pub fn new(columns: usize, entries: Vec<f64>) -> Self {
        assert!(columns > 0 && entries.len() % columns == 0, "{} entries, {columns} columns", entries.len());
        Self { columns, entries }
    }

    /// Return the number of rows.
    pub fn rows(&self) -> usize {
        self.entries.len() / self.columns
    }

    /// Return the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Return one row.
    #[inline]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.entries[row * self.columns..(row + 1) * self.columns]
    }

    /// Return some rows, in this order.
    pub(crate) fn gather(&self, rows: &[usize]) -> Self {
        Self { columns: self.columns, entries: rows.iter().flat_map(|&row| self.row(row)).copied().collect() }
    }

    /// Of an inverse: replace one row of the matrix that it inverts, by the formula of Sherman and Morrison. Return
    /// false, without a change, if the new row nearly depends on the others.
    pub(crate) fn replace_row(&mut self, row: usize, new: &[f64]) -> bool {
        let n = self.columns;
        let mut along = vec![0.0; n];
        let mut sizes = 0.0_f64;
        for (entry, of) in new.iter().zip(self.entries.chunks_exact(n)) {
            for (sum, value) in along.iter_mut().zip(of) {
                *sum += entry * value;
            }
            sizes = sizes.max((entry * of[row]).abs());
        }
        if along[row].abs() <= 1e-6 * sizes {
            return false;
        }
        let own = along[row];
        for of in self.entries.chunks_exact_mut(n) {
            let factor = of[row] / own;
            for (value, sum) in of.iter_mut().zip(&along) {
                *value -= factor * sum;
            }
            of[row] = factor;
        }
        true
    }

    fn swap_rows(&mut self, a: usize, b: usize) {
        for column in 0..self.columns {
            self.entries.swap(a * self.columns + column, b * self.columns + column);
        }
    }

    fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.entries[row * self.columns..(row + 1) * self.columns]
    }
}

/// Entries below this count as zero, relative to entries of order one.
const ZERO: f64 = 1e-11;

/// Return the inverse of a square matrix by Gauss-Jordan elimination with row pivots; `None` if it is singular.
pub fn inverse(matrix: &Matrix) -> Option<Matrix> {
    let n = matrix.columns;
    if matrix.rows() != n {
        return None;
    }
    let mut left = matrix.clone();
    let mut right = Matrix::new(n, (0..n * n).map(|i| f64::from(u8::from(i % (n + 1) == 0))).collect());
    let scale = matrix.entries.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&a, &b| left.row(a)[column].abs().total_cmp(&left.row(b)[column].abs()))?;
        let size = left.row(pivot)[column];
        if size.abs() <= ZERO * scale {
            return None;
        }
        left.swap_rows(pivot, column);
        right.swap_rows(pivot, column);
        for entry in left.row_mut(column).iter_mut().chain(right.row_mut(column)) {
            *entry /= size;
        }
        let (of_left, of_right) = (left.row(column).to_vec(), right.row(column).to_vec());
        for row in (0..n).filter(|&row| row != column) {
            let factor = left.row(row)[column];
            if factor != 0.0 {
                subtract(left.row_mut(row), &of_left, factor);
                subtract(right.row_mut(row), &of_right, factor);
            }
        }
    }
    Some(right)
}

fn subtract(row: &mut [f64], other: &[f64], factor: f64) {
    for (entry, &of) in row.iter_mut().zip(other) {
        *entry -= factor * of;
    }
}

/// Return as many independent rows as there are columns, taken from the front of `order`; or the first dependent
/// column.
pub(crate) fn independent_rows(design: &Matrix, order: &[usize]) -> Result<Vec<usize>, usize> {
    let p = design.columns;
    // The chosen rows, reduced: each has a pivot column that is zero in all others.
    let mut reduced: Vec<(usize, Vec<f64>)> = Vec::with_capacity(p);
    let mut chosen = Vec::with_capacity(p);
    for &row in order {
        let mut rest = design.row(row).to_vec();
        let scale = rest.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
        for (pivot, of) in &reduced {
            let factor = rest[*pivot];
            subtract(&mut rest, of, factor);
        }
        let pivot = (0..p).max_by(|&a, &b| rest[a].abs().total_cmp(&rest[b].abs())).unwrap_or(0);
        if rest[pivot].abs() > 1e-9 * scale {
            let size = rest[pivot];
            for entry in &mut rest {
                *entry /= size;
            }
            for (_, of) in &mut reduced {
                let factor = of[pivot];
                subtract(of, &rest, factor);
            }
            reduced.push((pivot, rest));
            chosen.push(row);
            if chosen.len() == p {
                return Ok(chosen);
            }
        }
    }
    // In echelon form by columns from the left, the first column without a pivot depends on the columns before
    // it.
    let mut left: Vec<Vec<f64>> = reduced.into_iter().map(|(_, row)| row).collect();
    for column in 0..p {
        let Some(place) = left.iter().position(|row| row[column].abs() > 1e-9) else {
            return Err(column);
        };
        let row = left.swap_remove(place);
        for other in &mut left {
            let factor = other[column] / row[column];
            subtract(other, &row, factor);
        }
    }
    Err(p - 1)
}

/// Return the scalar product, computed in four independent sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours_of_a, fours_of_b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = fours_of_a.remainder().iter().zip(fours_of_b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in fours_of_a.zip(fours_of_b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Return the magnitude of the terms of a scalar product, given the magnitudes of one side.
pub(crate) fn magnitude(sizes: &[f64], b: &[f64]) -> f64 {
    sizes.iter().zip(b).map(|(size, b)| size * b.abs()).sum()
}

/// Return a matrix times a vector.
pub(crate) fn product(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    (0..matrix.rows()).map(|row| dot(matrix.row(row), vector)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let matrix = Matrix::new(3, vec![0.0, 2.0, 1.0, 1.0, -1.0, 3.0, 4.0, 0.5, 0.0]);
        let found = inverse(&matrix).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let sum: f64 = (0..3).map(|k| matrix.row(i)[k] * found.row(k)[j]).sum();
                assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        assert_eq!(inverse(&Matrix::new(2, vec![1.0, 2.0, 2.0, 4.0])), None);
    }

    #[test]
    fn the_error_names_the_dependent_column() {
        // Third column = first - second.
        let design = Matrix::new(3, vec![1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
        assert_eq!(independent_rows(&design, &[0, 1, 2]), Err(2));
        let full = Matrix::new(2, vec![1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
        assert_eq!(independent_rows(&full, &[0, 1, 2]), Ok(vec![0, 2]));
    }
}
