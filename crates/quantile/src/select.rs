//! The quantiles of cells without sorting them: what a saturated model needs.
//!
//! Two passes over the samples, and no copy of them. The first counts each sample in a bin of its cell, by the upper
//! bits of the floating-point number, which order positive and negative numbers alike once the sign is folded in. That
//! names the bin in which each wanted order statistic lies. The second pass gathers these bins alone, a few thousandths
//! of all, and selects within.

use crate::rule::ranks;
use crate::QuantileError;

/// Bins of a cell, laid over the range in which a few samples were seen; the outermost ones take all beyond. Sixteen
/// cells' counts fit into a second-level cache.
const BINS: usize = 1 << 12;
/// Samples looked at to find the range.
const LOOKS: usize = 1 << 12;

/// The quantiles of every cell at every level, `result[cell][level]`; each sample counts once.
///
/// # Errors
/// [`QuantileError`] for levels outside of (0, 1), samples that are no numbers, and empty cells.
pub fn cell_quantiles(
    samples: &[f64],
    cell_of: &[u32],
    cells: usize,
    levels: &[f64],
) -> Result<Vec<Vec<f64>>, QuantileError> {
    if let Some(&level) = levels.iter().find(|&&level| !(level > 0.0 && level < 1.0)) {
        return Err(QuantileError::Level(level));
    }
    if cell_of.len() != samples.len() {
        let what = "the list of cells";
        return Err(QuantileError::Length { what, found: cell_of.len(), wanted: samples.len() });
    }
    let bins = Bins::about(samples);
    let mut counts = vec![0_u32; cells * BINS];
    let mut all_finite = true;
    for (index, (&sample, &cell)) in samples.iter().zip(cell_of).enumerate() {
        if cell as usize >= cells {
            return Err(QuantileError::Cell { index, cell: cell as usize, cells });
        }
        all_finite &= sample.is_finite();
        counts[cell as usize * BINS + bins.of(sample)] += 1;
    }
    if !all_finite {
        let index = samples.iter().position(|sample| !sample.is_finite()).unwrap_or(0);
        return Err(QuantileError::NotFinite { what: "sample", index, value: samples[index] });
    }
    let mut wanted = Wanted::new(cells);
    let mut places = Vec::with_capacity(cells);
    for cell in 0..cells {
        let of = &counts[cell * BINS..(cell + 1) * BINS];
        let n: usize = of.iter().map(|&count| count as usize).sum();
        if n == 0 {
            return Err(QuantileError::EmptyCell(cell));
        }
        places.push(
            levels
                .iter()
                .map(|&level| ranks(n, level))
                .map(|(a, b)| (wanted.ask(cell, of, a), wanted.ask(cell, of, b)))
                .collect::<Vec<_>>(),
        );
    }
    wanted.gather(samples, cell_of, &bins);
    let value = |at: Place| wanted.bins[at.bin].samples[at.rank];
    Ok(places
        .into_iter()
        .map(|of| of.into_iter().map(|(a, b)| f64::midpoint(value(a), value(b))).collect())
        .collect())
}

/// Bins over a range of samples: even steps of the ordered bit pattern, hence about even in the logarithm.
struct Bins {
    low: u64,
    shift: u32,
}

impl Bins {
    /// Over the range of a few samples, taken at even distances.
    fn about(samples: &[f64]) -> Self {
        let seen =
            samples.iter().step_by(samples.len().div_ceil(LOOKS).max(1)).map(|&sample| ordered(sample));
        let (low, high) = seen.fold((u64::MAX, 0), |(low, high), bits| (low.min(bits), high.max(bits)));
        let range = high.saturating_sub(low);
        let shift = (u64::BITS - range.leading_zeros()).saturating_sub(BINS.trailing_zeros());
        Self { low, shift }
    }

    #[inline]
    fn of(&self, sample: f64) -> usize {
        (((ordered(sample).saturating_sub(self.low)) >> self.shift) as usize).min(BINS - 1)
    }
}

/// The bits of a number such that a greater number has greater bits (the map of IEEE 754 totalOrder).
#[inline]
fn ordered(sample: f64) -> u64 {
    let bits = (sample + 0.0).to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
}

/// An order statistic: the bin that holds it, and its rank among that bin's samples.
#[derive(Clone, Copy)]
struct Place {
    bin: usize,
    rank: usize,
}

/// The bins that hold wanted order statistics.
struct Wanted {
    bins: Vec<WantedBin>,
    /// For each cell and bin: its number in `bins`, or none.
    number: Vec<u32>,
}

struct WantedBin {
    samples: Vec<f64>,
}

const NONE: u32 = u32::MAX;

impl Wanted {
    fn new(cells: usize) -> Self {
        Self { bins: Vec::new(), number: vec![NONE; cells * BINS] }
    }

    /// Where the order statistic of rank `rank` (from 0) of a cell will be found.
    fn ask(&mut self, cell: usize, counts: &[u32], rank: usize) -> Place {
        let mut left = rank;
        let bin = counts
            .iter()
            .position(|&count| {
                let here = left < count as usize;
                left -= if here { 0 } else { count as usize };
                here
            })
            .expect("a rank below the number of samples");
        let number = &mut self.number[cell * BINS + bin];
        if *number == NONE {
            *number = self.bins.len() as u32;
            self.bins.push(WantedBin { samples: Vec::with_capacity(counts[bin] as usize) });
        }
        Place { bin: *number as usize, rank: left }
    }

    fn gather(&mut self, samples: &[f64], cell_of: &[u32], bins: &Bins) {
        for (&sample, &cell) in samples.iter().zip(cell_of) {
            let number = self.number[cell as usize * BINS + bins.of(sample)];
            if number != NONE {
                self.bins[number as usize].samples.push(sample);
            }
        }
        for bin in &mut self.bins {
            bin.samples.sort_unstable_by(f64::total_cmp);
        }
    }
}
