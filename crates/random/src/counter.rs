//! Counter-based draws: a hash of seed, item and purpose without state.

use crate::mix;

/// The golden ratio times 2^64, made odd: steps of this size visit every word once (Weyl sequence).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random numbers of one item (a request, a window) under one seed.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    base: u64,
}

impl Draws {
    /// Return the numbers of item `index` under `seed`.
    #[inline]
    pub fn new(seed: u64, index: u64) -> Self {
        Self { base: mix(mix(seed) ^ index.wrapping_mul(STEP)) }
    }

    /// Return 64 random bits for one purpose; the same purpose gives the same bits.
    #[inline]
    pub fn word(self, purpose: u32) -> u64 {
        mix(self.base.wrapping_add(u64::from(purpose).wrapping_mul(STEP)))
    }

    /// Return a number in the open interval `(0, 1)`, so that every quantile function of it is finite.
    #[inline]
    pub fn unit(self, purpose: u32) -> f64 {
        ((self.word(purpose) >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_seed_item_and_purpose_alone() {
        assert_eq!(Draws::new(3, 9).word(1), Draws::new(3, 9).word(1));
        let mut all: Vec<u64> = (0..4)
            .flat_map(|seed| (0..64).map(move |item| (seed, item)))
            .flat_map(|(seed, item)| (0..4).map(move |purpose| Draws::new(seed, item).word(purpose)))
            .collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }

    #[test]
    fn units_are_uniform_over_items_purposes_and_seeds() {
        // Chi-squared over 64 bins with 63 degrees of freedom: above 126 once in 5 million.
        let check = |name: &str, draw: &dyn Fn(u64) -> f64| {
            let mut bins = [0_u32; 64];
            for i in 0..64_000 {
                let u = draw(i);
                assert!(u > 0.0 && u < 1.0);
                bins[(u * 64.0) as usize] += 1;
            }
            let chi: f64 = bins.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi < 126.0, "{name}: {chi}");
        };
        check("items", &|i| Draws::new(1, i).unit(0));
        check("purposes", &|i| Draws::new(1, 1).unit(i as u32));
        check("seeds", &|i| Draws::new(i, 1).unit(0));
    }

    #[test]
    fn neighbouring_items_and_purposes_are_not_correlated() {
        let n = 100_000;
        let correlation = |other: &dyn Fn(u64) -> f64| {
            let sum: f64 = (0..n).map(|i| (Draws::new(5, i).unit(0) - 0.5) * (other(i) - 0.5)).sum();
            12.0 * sum / n as f64
        };
        // The standard error is 1/sqrt(n) = 0.0032; five of them.
        assert!(correlation(&|i| Draws::new(5, i + 1).unit(0)).abs() < 0.016);
        assert!(correlation(&|i| Draws::new(5, i).unit(1)).abs() < 0.016);
        assert!(correlation(&|i| Draws::new(6, i).unit(0)).abs() < 0.016);
    }
}
