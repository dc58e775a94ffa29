//! A simplex walk over vertices, each of which pins as many samples as there are coefficients.
//!
//! Releasing one pin moves the fit along a line on which the other pins hold. The slope of the objective along it
//! needs only one count per cell, by binary search. The best place on the line is where the slope changes its sign,
//! again at a sample, which becomes the new pin (Barrodale and Roberts 1973 with the long step, on cells instead of
//! rows).
//!
//! Ties could make the walk cycle. Every sample is therefore treated as slightly larger than the one before it in
//! its cell, and each cell as slightly shifted. The vertex that is found is optimal without these shifts, too: a
//! residual that is zero without them admits every multiplier that its sign with them requires.

use crate::matrix::{dot, magnitude};
use crate::problem::{Pin, Problem, SHIFT};
use crate::{Matrix, QuantileError};

/// Slopes of the objective below this, relative to the summed terms, are rounding errors and not a descent.
const FLAT: f64 = 1e-12;
/// Slopes of a fitted value below this, relative to the steepest, are rounding errors.
const STILL: f64 = 1e-11;
/// Pivots after which everything is computed anew, because updates add up rounding errors.
const RENEWED: usize = 40;

/// Walk from these pins to the optimum; return its pins and the number of pivots.
pub(crate) fn walk(problem: &Problem, pins: Vec<Pin>) -> Result<(Vec<Pin>, usize), QuantileError> {
    let mut walk = Walk::new(problem, pins);
    // A walk takes some tens of steps for a factorial design, and in the worst case about as many as there
    // are samples.
    let most = 1_000 + 50 * (problem.cells.len() + problem.design.columns());
    while walk.step()? {
        if walk.pivots > most {
            return Err(QuantileError::Pivots(walk.pivots));
        }
    }
    Ok((walk.pins, walk.pivots))
}

struct Walk<'a> {
    problem: &'a Problem<'a>,
    pins: Vec<Pin>,
    /// Inverse of the pinned rows.
    basis: Matrix,
    /// Fitted value of each cell.
    fitted: Vec<f64>,
    /// How many samples of each cell are at or below the fitted value, and strictly below it.
    below: Vec<(usize, usize)>,
    /// Gradient of the objective without the pins, by coefficient.
    gradient: Vec<f64>,
    /// Magnitudes of the terms of the gradient.
    summed: Vec<f64>,
    pivots: usize,
    /// Pivots since everything was computed anew.
    updates: usize,
    /// Slopes of the fitted values along the present direction.
    slopes: Vec<f64>,
    /// Slope of the objective of the cells that are left out.
    slope_outside: f64,
}

/// A sample where the slope changes: its distance, the increase of the slope, and its position.
#[derive(Clone, Copy)]
struct Turn {
    at: f64,
    bend: f64,
    cell: usize,
    place: usize,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem<'a>, pins: Vec<Pin>) -> Self {
        let (n, p) = (problem.cells.len(), problem.design.columns());
        let mut walk = Self {
            problem,
            basis: Matrix::new(1, vec![1.0]),
            pins,
            fitted: vec![0.0; n],
            below: vec![(0, 0); n],
            gradient: vec![0.0; p],
            summed: vec![0.0; p],
            pivots: 0,
            updates: 0,
            slopes: vec![0.0; n],
            slope_outside: 0.0,
        };
        walk.renew();
        walk
    }

    /// Compute the fit of the pins, the counts below it and the gradient anew.
    fn renew(&mut self) {
        let problem = self.problem;
        self.basis = problem.basis(&self.pins);
        let coefficients = problem.coefficients(&self.pins);
        for cell in 0..self.fitted.len() {
            let fitted = dot(problem.design.row(cell), &coefficients);
            let below = problem.count_below(cell, fitted);
            self.fitted[cell] = fitted;
            self.below[cell] = (below, below);
        }
        for pin in 0..self.pins.len() {
            self.settle(pin);
        }
        self.gradient.copy_from_slice(&problem.outside);
        for (summed, outside) in self.summed.iter_mut().zip(&problem.outside) {
            *summed = outside.abs();
        }
        for cell in 0..self.fitted.len() {
            let excess = self.excess(cell);
            if excess != 0.0 {
                for (column, entry) in problem.design.row(cell).iter().enumerate() {
                    self.gradient[column] += excess * entry;
                    self.summed[column] += (excess * entry).abs();
                }
            }
        }
        self.updates = 0;
    }

    /// Set the exact value of a pinned sample, free of rounding.
    fn settle(&mut self, pin: usize) {
        let (cell, place) = self.pins[pin];
        self.fitted[cell] = self.problem.sample(cell, place);
        self.below[cell] = (place + 1, place);
    }

    /// Return what a cell contributes to the gradient; a pin contributes nothing.
    #[inline]
    fn excess(&self, cell: usize) -> f64 {
        let (at_or_below, below) = self.below[cell];
        if at_or_below == below {
            self.problem.excess(cell, below)
        } else {
            0.0
        }
    }

    /// Replace a pin by the sample at a turn of the line, and update everything by what changes.
    fn pivot(&mut self, pin: usize, turn: &Turn) {
        let problem = self.problem;
        self.pins[pin] = (turn.cell, turn.place);
        self.pivots += 1;
        self.updates += 1;
        if self.updates >= RENEWED || !self.basis.replace_row(pin, problem.design.row(turn.cell)) {
            return self.renew();
        }
        for cell in 0..self.fitted.len() {
            let slope = self.slopes[cell];
            if slope == 0.0 {
                continue;
            }
            let before = self.excess(cell);
            if cell == turn.cell {
                self.settle(pin);
            } else {
                self.fitted[cell] += turn.at * slope;
                let below = problem.count_below(cell, self.fitted[cell]);
                self.below[cell] = (below, below);
            }
            let change = self.excess(cell) - before;
            if change != 0.0 {
                for (gradient, entry) in self.gradient.iter_mut().zip(problem.design.row(cell)) {
                    *gradient += change * entry;
                }
            }
        }
    }

    /// Move down the steepest line from here; return false if there is none.
    fn step(&mut self) -> Result<bool, QuantileError> {
        let mut way = self.steepest();
        if way.is_none() && self.updates > 0 {
            self.renew();
            way = self.steepest();
        }
        let Some((slope, pin, sign)) = way else {
            return Ok(false);
        };
        let direction: Vec<f64> = (0..self.pins.len()).map(|row| sign * self.basis.row(row)[pin]).collect();
        self.aim(&direction, pin);
        let turn = self.line_search(slope).ok_or(QuantileError::Pivots(self.pivots))?;
        self.pivot(pin, &turn);
        Ok(true)
    }

    /// Return the slope of the steepest descent, the pin that is released, and its direction.
    fn steepest(&self) -> Option<(f64, usize, f64)> {
        let p = self.pins.len();
        let (mut steepest, mut way) = (0.0, None);
        for pin in 0..p {
            let cell = self.pins[pin].0;
            let column: Vec<f64> = (0..p).map(|row| self.basis.row(row)[pin]).collect();
            let (others, rounding) = (dot(&self.gradient, &column), magnitude(&self.summed, &column));
            for (sign, below) in [(1.0, self.below[cell].0), (-1.0, self.below[cell].1)] {
                // The pin moves by one; the other pins hold.
                let own = self.problem.excess(cell, below);
                let slope = sign * (others + own);
                if slope < steepest && slope < -FLAT * (rounding + own.abs()) {
                    (steepest, way) = (slope, Some((slope, pin, sign)));
                }
            }
        }
        way
    }

    /// Set the slopes of all fitted values along a direction; those of held pins are exactly zero.
    fn aim(&mut self, direction: &[f64], pin: usize) {
        let mut fastest = 0.0_f64;
        self.slope_outside = dot(&self.problem.outside, direction);
        for cell in 0..self.fitted.len() {
            let slope = dot(self.problem.design.row(cell), direction);
            fastest = fastest.max(slope.abs());
            self.slopes[cell] = slope;
        }
        for slope in &mut self.slopes {
            if slope.abs() < STILL * fastest {
                *slope = 0.0;
            }
        }
        for (other, &(cell, _)) in self.pins.iter().enumerate() {
            if other != pin {
                self.slopes[cell] = 0.0;
            }
        }
    }

    /// Return how many samples of a cell are below its fitted value just beyond `t` along the line. On leaving
    /// the vertex, a sample on the fit is below it if the fit moves up, and above it if the fit moves down.
    #[inline]
    fn count_beyond(&self, cell: usize, t: f64) -> usize {
        let slope = self.slopes[cell];
        if t > 0.0 {
            self.problem.count_below(cell, self.fitted[cell] + t * slope)
        } else if slope > 0.0 {
            self.below[cell].0
        } else {
            self.below[cell].1
        }
    }

    fn moving(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.fitted.len()).filter(|&cell| self.slopes[cell] != 0.0)
    }

    /// Return the slope of the objective just beyond `t` along the line.
    fn slope_at(&self, t: f64) -> f64 {
        self.moving().fold(self.slope_outside, |sum, cell| {
            sum + self.slopes[cell] * self.problem.excess(cell, self.count_beyond(cell, t))
        })
    }

    /// Find where the objective along the line stops falling: bracket it, then select among the few samples in
    /// between. `None` if rounding hides it. At the vertex the slope is `steepest`.
    fn line_search(&self, steepest: f64) -> Option<Turn> {
        let (mut slope, mut turns) = if self.problem.few {
            (steepest, self.turns(0.0, f64::INFINITY))
        } else {
            let (low, high) = self.bracket();
            (self.slope_at(low), self.turns(low, high))
        };
        let mut left = turns.as_mut_slice();
        while left.len() > 1 {
            let middle = (left.len() - 1) / 2;
            left.select_nth_unstable_by(middle, |a, b| a.at.total_cmp(&b.at));
            let nearer: f64 = left[..=middle].iter().map(|turn| turn.bend).sum();
            if slope + nearer >= 0.0 {
                left = &mut left[..=middle];
            } else {
                slope += nearer;
                left = &mut left[middle + 1..];
            }
        }
        left.first().copied()
    }

    /// Return two places on the line between which the slope changes its sign, with few samples in between.
    fn bracket(&self) -> (f64, f64) {
        let mut low = 0.0;
        let mut high = self.first_guess();
        while self.slope_at(high) < 0.0 && high < f64::INFINITY {
            low = high;
            high *= 4.0;
        }
        while self.between(low, high) > 64 {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.slope_at(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low, high)
    }

    /// Return an initial distance along the line: the fastest cell moves by a millionth of the samples' range.
    fn first_guess(&self) -> f64 {
        let fastest = self.slopes.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
        (self.problem.shift / SHIFT) * 1e-6 / fastest
    }

    /// Return the indices of the samples of a cell that the fit passes between `low` and `high` along the line.
    fn range(&self, cell: usize, low: f64, high: f64) -> std::ops::Range<usize> {
        let (a, b) = (self.count_beyond(cell, low), self.count_beyond(cell, high));
        a.min(b)..b.max(a)
    }

    fn between(&self, low: f64, high: f64) -> usize {
        self.moving().map(|cell| self.range(cell, low, high).len()).sum()
    }

    fn turns(&self, low: f64, high: f64) -> Vec<Turn> {
        let cells = &self.problem.cells;
        let mut found = Vec::with_capacity(self.fitted.len());
        for cell in self.moving() {
            let (fitted, slope) = (self.fitted[cell], self.slopes[cell]);
            for place in self.range(cell, low, high) {
                let weight = cells.weight(cell, place + 1) - cells.weight(cell, place);
                let at = (self.problem.sample(cell, place) - fitted) / slope;
                found.push(Turn { at, bend: slope.abs() * weight, cell, place });
            }
        }
        found
    }
}
