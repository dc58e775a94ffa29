use hindmost_clock::{Nanos, Rate};

use crate::{Arrivals, Entry, Part};

/// Parts take turns. What a part's gaps are compared with would be one number, which no clock reading is.
pub const LAW: Entry =
    Entry { part: |rate, part, _| Box::new(Deterministic::new(rate, part)), dispersion: 0.0, gaps: None };

/// Equal gaps; the parts interleave, so that all workers together keep the gap of the whole.
#[derive(Debug)]
struct Deterministic {
    gap_ns: f64,
    next: u64,
    step: u64,
}

impl Deterministic {
    /// `part` of the process with `rate` over all parts.
    fn new(rate: Rate, part: Part) -> Self {
        Self { gap_ns: rate.mean_gap_ns(), next: u64::from(part.index) + 1, step: u64::from(part.of.max(1)) }
    }
}

impl Arrivals for Deterministic {
    #[inline]
    fn next_due(&mut self) -> Nanos {
        // A product, not a sum: no rounding accumulates.
        let due = Nanos((self.next as f64 * self.gap_ns).round() as u64);
        self.next += self.step;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_parts_keep_the_gap_of_the_whole() {
        let rate = Rate::per_second(3e6).unwrap();
        let mut dues: Vec<u64> = (0..3)
            .flat_map(|index| {
                let mut part = Deterministic::new(rate, Part { index, of: 3 });
                (0..1000).map(move |_| part.next_due().0)
            })
            .collect();
        dues.sort_unstable();
        assert_eq!(dues.last(), Some(&1_000_000));
        assert!(dues.windows(2).all(|w| (333..=334).contains(&(w[1] - w[0]))));
    }
}
