//! Randomness by purpose: everything follows from two seeds, one of the data and one of the requests, and no draw
//! depends on another's order.

use rand::Rng;
use rand_pcg::Pcg64;

/// Streams of the generator below the contents of requests, which have their numbers.
const PURPOSES: u128 = 1 << 64;

/// What a stream of random numbers is for, beside requests.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// What is built at the start: tables, texts, images.
    Build = 1,
    /// When requests come, in an integrated run.
    Arrivals = 2,
}

/// The generator of request `number`: the same whoever asks for it, and when.
pub fn of_request(seed: u64, number: u64) -> Pcg64 {
    Pcg64::new(u128::from(seed), u128::from(number))
}

/// The generator of a purpose.
pub fn of(seed: u64, purpose: Purpose) -> Pcg64 {
    Pcg64::new(u128::from(seed), PURPOSES + purpose as u128)
}

/// A number in (0, 1]: 53 random bits, moved off zero.
pub fn unit(random: &mut Pcg64) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// A number in `0..bound`; the bias of the multiplication is below `bound` / 2^64.
pub fn below(random: &mut Pcg64, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// A number from `low` to `high` whose logarithm is uniform: small ones are as frequent as great ones.
pub fn log_uniform(random: &mut Pcg64, low: f64, high: f64) -> f64 {
    low * (high / low).powf(unit(random))
}

/// An index into `weights`, each as likely as its share of their sum.
pub fn choose(random: &mut Pcg64, weights: &[f64]) -> usize {
    let mut left = unit(random) * weights.iter().sum::<f64>();
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left <= 0.0 {
            return index;
        }
    }
    weights.len() - 1
}
