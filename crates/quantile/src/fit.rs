//! The exact fit: a walk over vertices, each of which pins as many samples as there are coefficients.
//!
//! Letting go of one pin moves the fit along a line on which the other pins hold. The slope of the objective along it
//! needs only a count in each cell, by binary search; the best place on the line is where that slope turns, again a
//! sample, which becomes the new pin (Barrodale and Roberts 1973 with the long step, on cells instead of rows).
//!
//! Ties would let the walk turn in circles. So every sample is thought of as a little larger than the one before it
//! in its cell, and each cell as shifted a little. The vertex found is optimal without these shifts, too: a residual
//! that is zero without them allows every multiplier that the sign it has with them needs.

use hindmost_random::{mix, unit};

use crate::matrix::independent_rows;
use crate::{inverse, Cells, Matrix, QuantileError};

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// One a column of the design.
    pub coefficients: Vec<f64>,
    /// Vertices gone through.
    pub pivots: usize,
}

/// Shifts that break ties, relative to the range of the samples; all of them together stay far below the least
/// difference that a sum of `f64` losses could show.
const SHIFT: f64 = 1e-10;
/// A slope of the objective, relative to what was summed up for it, that is rounding and no way down.
const FLAT: f64 = 1e-12;
/// A slope of a fitted value, relative to the steepest, that is rounding.
const STILL: f64 = 1e-11;
/// Samples a cell, on average, up to which the whole line is searched at once.
const FEW: usize = 4;

/// Fits `x'b` to the `tau`-quantile of the samples, where every sample of cell `c` has row `c` of the design.
///
/// The optimum need not be unique; this is one of its vertices. For a saturated design take
/// [`crate::cell_quantiles`] or [`Cells::quantile`], and [`inverse`]: the middle of the optimal face.
///
/// # Errors
/// [`QuantileError`] for a level, a design or cells that cannot be meant, or a design that does not tell its
/// coefficients apart.
pub fn fit(cells: &Cells, design: &Matrix, tau: f64) -> Result<Fit, QuantileError> {
    if !(tau > 0.0 && tau < 1.0) {
        return Err(QuantileError::Level(tau));
    }
    if design.rows() != cells.len() {
        let what = "the design";
        return Err(QuantileError::Length { what, found: design.rows(), wanted: cells.len() });
    }
    let mut walk = Walk::new(cells, design, tau)?;
    // A walk takes some tens of steps for a factorial design, and about as many as samples at the very worst.
    let most = 1_000 + 50 * (cells.len() + design.columns());
    while walk.step()? {
        if walk.pivots > most {
            return Err(QuantileError::Pivots(walk.pivots));
        }
    }
    Ok(walk.end())
}

/// The sum of check losses of a model: what a fit makes least. Goes through all samples, unlike the fit itself.
pub fn objective(cells: &Cells, design: &Matrix, coefficients: &[f64], tau: f64) -> f64 {
    let fitted = (0..cells.len()).map(|cell| dot(design.row(cell), coefficients));
    fitted.enumerate().fold(0.0, |sum, (cell, at)| sum + cells.loss(cell, at, tau))
}

struct Walk<'a> {
    cells: &'a Cells,
    design: &'a Matrix,
    /// Pins: the cell, and the place of the sample in it.
    pins: Vec<(usize, usize)>,
    /// Inverse of the pinned rows.
    basis: Matrix,
    /// Fitted value of each cell.
    fitted: Vec<f64>,
    /// How many samples of each cell lie at or below the fitted value, and strictly below it.
    below: Vec<(usize, usize)>,
    /// `tau` times the weight of each cell.
    wanted: Vec<f64>,
    shift: f64,
    /// Shift of each cell as a whole.
    shift_of: Vec<f64>,
    /// Whether there are few samples, so that a line is searched at once.
    few: bool,
    pivots: usize,
    /// Slopes of the fitted values along the direction looked at.
    slopes: Vec<f64>,
}

/// A sample where the slope turns: how far, how much the slope rises there, and which.
#[derive(Clone, Copy)]
struct Turn {
    at: f64,
    bend: f64,
    cell: usize,
    place: usize,
}

impl<'a> Walk<'a> {
    fn new(cells: &'a Cells, design: &'a Matrix, tau: f64) -> Result<Self, QuantileError> {
        let n = cells.len();
        let samples: usize = (0..n).map(|cell| cells.samples(cell).len()).sum();
        let few = samples <= FEW * n;
        // Full cells first: their quantiles are known best. Cells of few samples are taken as they come.
        let mut order: Vec<usize> = (0..n).filter(|&cell| cells.total(cell) > 0.0).collect();
        if !few {
            order.sort_by(|&a, &b| cells.total(b).total_cmp(&cells.total(a)));
        }
        let chosen = independent_rows(design, &order).map_err(|column| QuantileError::Rank {
            rank: rank(design, &order),
            columns: design.columns(),
            column,
        })?;
        let pins: Vec<(usize, usize)> = chosen
            .into_iter()
            .map(|cell| {
                let wanted = tau * cells.total(cell);
                let count = cells.samples(cell).len();
                let place = partition(count, |i| cells.weight(cell, i + 1) < wanted).min(count - 1);
                (cell, place)
            })
            .collect();
        let ends = order.iter().map(|&cell| cells.samples(cell));
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), samples| {
            (low.min(samples[0]), high.max(samples[samples.len() - 1]))
        });
        let shift = SHIFT * (high - low).max(f64::MIN_POSITIVE);
        let mut walk = Self {
            cells,
            design,
            basis: Matrix::new(1, vec![1.0]),
            pins,
            fitted: vec![0.0; n],
            below: vec![(0, 0); n],
            wanted: (0..n).map(|cell| tau * cells.total(cell)).collect(),
            shift,
            shift_of: (0..n).map(|cell| 2.0 * shift * unit(mix(cell as u64))).collect(),
            few,
            pivots: 0,
            slopes: vec![0.0; n],
        };
        walk.settle();
        Ok(walk)
    }

    /// A sample as the walk sees it: shifted by its place and its cell.
    #[inline]
    fn sample(&self, cell: usize, place: usize) -> f64 {
        let samples = self.cells.samples(cell);
        let within = if place == 0 { 0.0 } else { self.shift * place as f64 / samples.len() as f64 };
        samples[place] + (within + self.shift_of[cell])
    }

    /// How many samples of a cell lie below `at`.
    #[inline]
    fn count_below(&self, cell: usize, at: f64) -> usize {
        partition(self.cells.samples(cell).len(), |place| self.sample(cell, place) < at)
    }

    /// Finds the fit of the pins, and what lies below it.
    fn settle(&mut self) {
        let p = self.design.columns();
        let rows = self.pins.iter().flat_map(|&(cell, _)| self.design.row(cell).iter().copied()).collect();
        self.basis = inverse(&Matrix::new(p, rows)).expect("pinned rows are independent");
        let pinned: Vec<f64> = self.pins.iter().map(|&(cell, place)| self.sample(cell, place)).collect();
        let coefficients = product(&self.basis, &pinned);
        for cell in 0..self.cells.len() {
            let fitted = dot(self.design.row(cell), &coefficients);
            let below = self.count_below(cell, fitted);
            self.fitted[cell] = fitted;
            self.below[cell] = (below, below);
        }
        for (&(cell, place), fitted) in self.pins.iter().zip(pinned) {
            // Exactly the pinned sample, whatever rounding says.
            self.fitted[cell] = fitted;
            self.below[cell] = (place + 1, place);
        }
    }

    /// Goes down the steepest line from here; false where there is none.
    fn step(&mut self) -> Result<bool, QuantileError> {
        let p = self.design.columns();
        let (gradient, summed) = self.gradient();
        let (mut steepest, mut way) = (0.0, None);
        for pin in 0..p {
            let cell = self.pins[pin].0;
            let column: Vec<f64> = (0..p).map(|row| self.basis.row(row)[pin]).collect();
            let (others, rounding) = (dot(&gradient, &column), magnitude(&summed, &column));
            for (sign, below) in [(1.0, self.below[cell].0), (-1.0, self.below[cell].1)] {
                // The pin moves by one, the other pins hold.
                let own = self.cells.weight(cell, below) - self.wanted[cell];
                let slope = sign * (others + own);
                if slope < steepest && slope < -FLAT * (rounding + own.abs()) {
                    (steepest, way) = (slope, Some((pin, sign)));
                }
            }
        }
        let Some((pin, sign)) = way else {
            return Ok(false);
        };
        let direction: Vec<f64> = (0..p).map(|row| sign * self.basis.row(row)[pin]).collect();
        self.aim(&direction, pin);
        let turn = self.line_search(steepest).ok_or(QuantileError::Pivots(self.pivots))?;
        self.pins[pin] = (turn.cell, turn.place);
        self.pivots += 1;
        self.settle();
        Ok(true)
    }

    /// Gradient of the objective without the pins, by coefficient; and the sizes of what was summed up.
    fn gradient(&self) -> (Vec<f64>, Vec<f64>) {
        let p = self.design.columns();
        let (mut gradient, mut summed) = (vec![0.0; p], vec![0.0; p]);
        for cell in 0..self.cells.len() {
            let (at_or_below, below) = self.below[cell];
            if at_or_below != below {
                continue; // a pin
            }
            let excess = self.cells.weight(cell, below) - self.wanted[cell];
            for (column, entry) in self.design.row(cell).iter().enumerate() {
                gradient[column] += excess * entry;
                summed[column] += (excess * entry).abs();
            }
        }
        (gradient, summed)
    }

    /// Slopes of all fitted values along a direction, those of the pins that hold exactly zero.
    fn aim(&mut self, direction: &[f64], pin: usize) {
        let mut fastest = 0.0_f64;
        for cell in 0..self.cells.len() {
            let slope = dot(self.design.row(cell), direction);
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

    /// How many samples of a cell lie below its fitted value just beyond `t` along the line: on leaving the vertex, a
    /// sample on the fit falls behind it where the fit moves up, and stays above where it moves down.
    #[inline]
    fn counted(&self, cell: usize, t: f64) -> usize {
        let slope = self.slopes[cell];
        if t > 0.0 {
            self.count_below(cell, self.fitted[cell] + t * slope)
        } else if slope > 0.0 {
            self.below[cell].0
        } else {
            self.below[cell].1
        }
    }

    fn moving(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.cells.len()).filter(|&cell| self.slopes[cell] != 0.0)
    }

    /// Slope of the objective just beyond `t` along the line.
    fn slope_at(&self, t: f64) -> f64 {
        self.moving().fold(0.0, |sum, cell| {
            let below = self.cells.weight(cell, self.counted(cell, t));
            sum + self.slopes[cell] * (below - self.wanted[cell])
        })
    }

    /// Where the slope of the objective along the line turns from falling to rising: brackets it, then selects among
    /// the few samples in between. `None` where rounding hides it. At the vertex the slope is `steepest`.
    fn line_search(&self, steepest: f64) -> Option<Turn> {
        let (mut slope, mut turns) = if self.few {
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

    /// Two places on the line between which the slope turns, with few samples in between.
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

    /// A distance along the line to begin with: the fastest cell moves by a millionth of the samples' range.
    fn first_guess(&self) -> f64 {
        let fastest = self.slopes.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
        (self.shift / SHIFT) * 1e-6 / fastest
    }

    /// Places of the samples of a cell that the fit passes between `low` and `high` along the line.
    fn range(&self, cell: usize, low: f64, high: f64) -> std::ops::Range<usize> {
        let (a, b) = (self.counted(cell, low), self.counted(cell, high));
        a.min(b)..b.max(a)
    }

    fn between(&self, low: f64, high: f64) -> usize {
        self.moving().map(|cell| self.range(cell, low, high).len()).sum()
    }

    fn turns(&self, low: f64, high: f64) -> Vec<Turn> {
        let mut found = Vec::with_capacity(self.cells.len());
        for cell in self.moving() {
            let (fitted, slope) = (self.fitted[cell], self.slopes[cell]);
            for place in self.range(cell, low, high) {
                let weight = self.cells.weight(cell, place + 1) - self.cells.weight(cell, place);
                let at = (self.sample(cell, place) - fitted) / slope;
                found.push(Turn { at, bend: slope.abs() * weight, cell, place });
            }
        }
        found
    }

    fn end(self) -> Fit {
        let pinned: Vec<f64> =
            self.pins.iter().map(|&(cell, place)| self.cells.samples(cell)[place]).collect();
        Fit { coefficients: product(&self.basis, &pinned), pivots: self.pivots }
    }
}

/// The first of `0..n` for which `before` no longer holds.
#[inline]
pub(crate) fn partition(n: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn rank(design: &Matrix, order: &[usize]) -> usize {
    // As many columns, from the left, as are linearly independent.
    (1..=design.columns())
        .rev()
        .find(|&columns| {
            let rows = (0..design.rows()).flat_map(|row| design.row(row)[..columns].to_vec()).collect();
            independent_rows(&Matrix::new(columns, rows), order).is_ok()
        })
        .unwrap_or(0)
}

/// The scalar product, in four sums that do not wait for each other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
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

/// The size of what a scalar product sums up, where the sizes of one side are known.
fn magnitude(sizes: &[f64], b: &[f64]) -> f64 {
    sizes.iter().zip(b).map(|(size, b)| size * b.abs()).sum()
}

fn product(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    (0..matrix.rows()).map(|row| dot(matrix.row(row), vector)).collect()
}
