//! Randomness by purpose: everything follows from two seeds, one for the data and one for the requests, and no draw
//! depends on the order of others.

use rand::Rng;
use rand_pcg::Pcg64;

/// Number of streams reserved for purposes; the streams of requests are numbered after them.
const PURPOSES: u128 = 1 << 64;

/// Purposes of random streams other than requests.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Content built at the start: tables, texts, images.
    Build = 1,
    /// Arrival times in an integrated run.
    Arrivals = 2,
}

/// Return the generator of request `number`: the same for any caller at any time.
pub fn generator_of_request(seed: u64, number: u64) -> Pcg64 {
    Pcg64::new(u128::from(seed), u128::from(number))
}

/// Return the generator of a purpose.
pub fn generator_of_purpose(seed: u64, purpose: Purpose) -> Pcg64 {
    Pcg64::new(u128::from(seed), PURPOSES + purpose as u128)
}

/// Return a number in (0, 1]: 53 random bits, shifted off zero.
pub fn unit(random: &mut Pcg64) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Return a number in `0..bound`; the bias of the multiplication is below `bound` / 2^64.
pub fn below(random: &mut Pcg64, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// Return a number from `low` to `high` with a uniform logarithm: small numbers are as frequent as large ones.
pub fn log_uniform(random: &mut Pcg64, low: f64, high: f64) -> f64 {
    low * (high / low).powf(unit(random))
}

/// Return an index into `weights`, with probability proportional to its weight.
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
