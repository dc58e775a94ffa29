//! Fits of many cells with few samples each, by way of a few of them (Portnoy and Koenker 1997, section 4).
//!
//! ```text
//!  some cells at random --fit--> on which side of the fit is each cell, and how far?
//!  close to it or straddling:  visited by a walk
//!  the others:                 their loss is linear there; they act by the sum of their gradients
//!  --walk--> is each of the others still on its side? the ones that are not are visited, too
//! ```
//!
//! The optimum of the visited cells is that of all cells as soon as the others are on their sides, so the result is
//! exact.

use hindmost_random::{mix, unit};

use crate::matrix::dot;
use crate::problem::{Pin, Problem};
use crate::walk::walk;
use crate::QuantileError;

/// A walk over fewer cells is quick.
const LEAST: usize = 2_000;
/// Most times that the sides of all cells are judged anew.
const ROUNDS: usize = 12;
/// Width of the band of visited cells around the first fit, in standard errors of a fitted value.
const WIDTH: f64 = 6.0;

/// Return the pins of the optimum and the number of pivots; `None` if this way does not pay or does not end.
///
/// # Errors
/// [`QuantileError::Rank`]
pub(crate) fn solve(problem: &Problem) -> Result<Option<(Vec<Pin>, usize)>, QuantileError> {
    let cells = problem.weighty();
    if !problem.few || parts(cells.len(), problem.design.columns(), problem.tau).is_none() {
        return Ok(None);
    }
    let anchors = problem.pins_of(&cells)?;
    Ok(solve_some(problem, &cells, &anchors, 1))
}

/// Return how many of `n` cells to fit first, and how many to visit then; `None` if all may be visited at once.
fn parts(n: usize, columns: usize, tau: f64) -> Option<(usize, usize)> {
    let (n_, p) = (n as f64, columns as f64);
    let first = p.sqrt() * n_.powf(2.0 / 3.0);
    let visited = WIDTH * (tau * (1.0 - tau)).sqrt() * (p / first).sqrt() * n_ + 10.0 * p;
    (n > LEAST && 2.0 * (first + visited) < n_).then_some((first as usize, visited as usize))
}

/// Solve the problem of some cells. `anchors` are pins with independent rows, so that every part determines a fit;
/// `round` varies the random draws.
fn solve_some(problem: &Problem, cells: &[usize], anchors: &[Pin], round: u64) -> Option<(Vec<Pin>, usize)> {
    let Some((first, mut most)) = parts(cells.len(), problem.design.columns(), problem.tau) else {
        let outside = vec![0.0; problem.design.columns()];
        return walk_over(problem, cells, outside, None);
    };
    let share = first as f64 / cells.len() as f64;
    let mut drawn: Vec<usize> =
        cells.iter().copied().filter(|&cell| unit(mix(cell as u64 ^ round << 48)) < share).collect();
    drawn.extend(anchors.iter().map(|pin| pin.0));
    drawn.sort_unstable();
    drawn.dedup();
    let (mut pins, mut pivots) = solve_some(problem, &drawn, anchors, round + 1)?;
    let mut margins = vec![0.0; cells.len()];
    let mut visited = vec![false; cells.len()];
    let mut is_new = true;
    for _ in 0..ROUNDS {
        let coefficients = problem.coefficients(&pins);
        let mut astray = 0;
        for (place, &cell) in cells.iter().enumerate() {
            let margin = margin(problem, cell, &coefficients);
            if !is_new && !visited[place] && (margin == 0.0 || (margin < 0.0) != (margins[place] < 0.0)) {
                visited[place] = true;
                astray += 1;
            }
            margins[place] = margin;
        }
        if !is_new && astray == 0 {
            return Some((pins, pivots));
        }
        if is_new || astray > most / 10 {
            // The sides were judged by a fit that was too far off: judge them by the present one.
            most *= if is_new { 1 } else { 2 };
            close_to_fit(&margins, most, &mut visited);
        }
        is_new = false;
        for pin in &pins {
            visited[cells.binary_search(&pin.0).expect("cells have the pins")] = true;
        }
        let mut outside = vec![0.0; problem.design.columns()];
        for (place, &cell) in cells.iter().enumerate().filter(|&(place, _)| !visited[place]) {
            let below = if margins[place] < 0.0 { problem.cells.samples(cell).len() } else { 0 };
            let excess = problem.excess(cell, below);
            for (sum, entry) in outside.iter_mut().zip(problem.design.row(cell)) {
                *sum += excess * entry;
            }
        }
        let some: Vec<usize> =
            (0..cells.len()).filter(|&place| visited[place]).map(|place| cells[place]).collect();
        let (found, more) = walk_over(problem, &some, outside, Some(&pins))?;
        (pins, pivots) = (found, pivots + more);
    }
    None
}

/// Return how far the samples of a cell are from its fitted value: negative if all are below, 0 if they straddle it.
fn margin(problem: &Problem, cell: usize, coefficients: &[f64]) -> f64 {
    let fitted = dot(problem.design.row(cell), coefficients);
    let last = problem.cells.samples(cell).len() - 1;
    let (low, high) = (problem.sample(cell, 0) - fitted, problem.sample(cell, last) - fitted);
    if high < 0.0 {
        high
    } else {
        low.max(0.0)
    }
}

/// Mark the `most` cells that are closest to their fitted values.
fn close_to_fit(margins: &[f64], most: usize, visited: &mut [bool]) {
    let mut order: Vec<usize> = (0..margins.len()).collect();
    let most = most.min(order.len());
    if most < order.len() {
        order.select_nth_unstable_by(most, |&a, &b| margins[a].abs().total_cmp(&margins[b].abs()));
    }
    visited.fill(false);
    for &place in &order[..most] {
        visited[place] = true;
    }
}

/// Walk over some cells, from these pins or from pins near a plane; return the pins by their numbers in the whole
/// problem.
fn walk_over(
    problem: &Problem,
    cells: &[usize],
    outside: Vec<f64>,
    pins: Option<&[Pin]>,
) -> Option<(Vec<Pin>, usize)> {
    let some = problem.of_cells(cells, outside);
    let number = |cell| cells.binary_search(&cell).expect("pinned cells are visited");
    let start = match pins {
        Some(pins) => pins.iter().map(|&(cell, place)| (number(cell), place)).collect(),
        None => some.near_pins().ok()?,
    };
    let (found, pivots) = walk(&some, start).ok()?;
    Some((found.into_iter().map(|(cell, place)| (cells[cell], place)).collect(), pivots))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cells, Matrix};

    #[test]
    fn many_rows_are_solved_by_way_of_some() {
        let n = 20_000;
        let draw = |i: u32, j: u64| unit(mix(u64::from(i) << 8 | j));
        let entries = (0..n).flat_map(|i| [1.0, draw(i, 0), draw(i, 1)]).collect();
        let y: Vec<f64> = (0..n).map(|i| draw(i, 0) - draw(i, 1) - (1.0 - draw(i, 2)).ln()).collect();
        let cells = Cells::new(&y, &(0..n).collect::<Vec<_>>(), n as usize, None).unwrap();
        let design = Matrix::new(3, entries);
        for tau in [0.05, 0.5, 0.95] {
            let found = solve(&Problem::new(&cells, &design, tau)).unwrap();
            assert!(found.is_some(), "the rounds at {tau} did not end");
        }
    }
}
