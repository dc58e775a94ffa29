//! Quantiles of cells without sorting: all that a saturated model needs.
//!
//! The samples are read twice and never copied as a whole. The first pass counts each sample in a bin of its cell,
//! given by the upper bits of the floating-point number, which order numbers correctly once the sign is folded in.
//! This gives the bin of each wanted order statistic. The second pass gathers these bins only, a few thousandths of
//! the samples, and selects within them.

use crate::rule::ranks;
use crate::QuantileError;

/// Bins per cell, over the range of a few probed samples; the outermost bins take everything beyond. The counts of
/// sixteen cells fit into a second-level cache.
const BINS: usize = 1 << 12;
/// Samples probed to find the range.
const PROBES: usize = 1 << 12;

/// Return the quantiles of every cell at every level, `result[cell][level]`; each sample counts once.
///
/// # Errors
/// [`QuantileError`] for levels outside (0, 1), samples that are not finite, and empty cells.
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
    let bins = Bins::spanning(samples);
    let mut counts = vec![0_u32; cells * BINS];
    let mut all_finite = true;
    for (index, (&sample, &cell)) in samples.iter().zip(cell_of).enumerate() {
        if cell as usize >= cells {
            return Err(QuantileError::Cell { index, cell: cell as usize, cells });
        }
        all_finite &= sample.is_finite();
        counts[cell as usize * BINS + bins.index_of(sample)] += 1;
    }
    if !all_finite {
        let index = samples.iter().position(|sample| !sample.is_finite()).unwrap_or(0);
        return Err(QuantileError::NotFinite { what: "sample", index, value: samples[index] });
    }
    let mut wanted = WantedBins::new(cells);
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
                .map(|(a, b)| (wanted.register(cell, of, a), wanted.register(cell, of, b)))
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

/// Bins over a range of samples: even steps of the ordered bit pattern, hence approximately even in the logarithm.
struct Bins {
    low: u64,
    shift: u32,
}

impl Bins {
    /// Create bins over the range of a few samples, taken at even distances.
    fn spanning(samples: &[f64]) -> Self {
        let seen = samples
            .iter()
            .step_by(samples.len().div_ceil(PROBES).max(1))
            .map(|&sample| order_preserving_bits(sample));
        let (low, high) = seen.fold((u64::MAX, 0), |(low, high), bits| (low.min(bits), high.max(bits)));
        let range = high.saturating_sub(low);
        let shift = (u64::BITS - range.leading_zeros()).saturating_sub(BINS.trailing_zeros());
        Self { low, shift }
    }

    #[inline]
    fn index_of(&self, sample: f64) -> usize {
        (((order_preserving_bits(sample).saturating_sub(self.low)) >> self.shift) as usize).min(BINS - 1)
    }
}

/// Map a number to bits that preserve the order (the map of IEEE 754 totalOrder).
#[inline]
fn order_preserving_bits(sample: f64) -> u64 {
    let bits = (sample + 0.0).to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
}

/// Position of an order statistic: its bin, and its rank among the samples of the bin.
#[derive(Clone, Copy)]
struct Place {
    bin: usize,
    rank: usize,
}

/// The bins that contain wanted order statistics.
struct WantedBins {
    bins: Vec<WantedBin>,
    /// For each cell and bin: its index in `bins`, or `NONE`.
    number: Vec<u32>,
}

struct WantedBin {
    samples: Vec<f64>,
}

const NONE: u32 = u32::MAX;

impl WantedBins {
    fn new(cells: usize) -> Self {
        Self { bins: Vec::new(), number: vec![NONE; cells * BINS] }
    }

    /// Register the order statistic of rank `rank` (from 0) of a cell and return its position.
    fn register(&mut self, cell: usize, counts: &[u32], rank: usize) -> Place {
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
            let number = self.number[cell as usize * BINS + bins.index_of(sample)];
            if number != NONE {
                self.bins[number as usize].samples.push(sample);
            }
        }
        for bin in &mut self.bins {
            bin.samples.sort_unstable_by(f64::total_cmp);
        }
    }
}
