//! Random numbers of decisions: a `SplitMix64` sequence, which Java reproduces in five lines.

use hindmost_random::{below, mix, unit};

/// Increment of the state: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of draws from one seed (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct Sequence {
    state: u64,
}

impl Sequence {
    /// Start the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Return the next 64 bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        let word = mix(self.state);
        self.state = self.state.wrapping_add(STEP);
        word
    }

    /// Return a number below `n`.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        below(self.word(), n as u32) as usize
    }

    /// Return a number in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.word())
    }

    /// Return an index in proportion to non-negative weights; None if all are 0.
    pub fn weighted(&mut self, weights: &[f64]) -> Option<usize> {
        let total: f64 = weights.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let mut left = self.unit() * total;
        for (at, weight) in weights.iter().enumerate() {
            if *weight > 0.0 && left < *weight {
                return Some(at);
            }
            left -= weight;
        }
        // Rounding exceeded the total: return the last index that has a weight.
        weights.iter().rposition(|weight| *weight > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_splitmix64() {
        // The reference implementation's first outputs under seed 1234567.
        let mut sequence = Sequence::new(1_234_567);
        let words: Vec<u64> = (0..3).map(|_| sequence.word()).collect();
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_are_proportional_to_weights_and_zero_weights_give_none() {
        let mut sequence = Sequence::new(1);
        let mut counts = [0_u32; 4];
        for _ in 0..40_000 {
            counts[sequence.weighted(&[1.0, 0.0, 3.0, 0.0]).unwrap()] += 1;
        }
        assert_eq!((counts[1], counts[3]), (0, 0));
        // The standard error of the share is 0.0022; the limit is five of them.
        assert!((f64::from(counts[2]) / 40_000.0 - 0.75).abs() < 0.011, "{counts:?}");
        assert_eq!(sequence.weighted(&[0.0, 0.0]), None);
        assert_eq!(sequence.weighted(&[]), None);
    }
}
