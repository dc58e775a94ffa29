//! One seed in the plan, one independent stream for each purpose of each thread.

use rand_pcg::Pcg64;

/// The generator used everywhere in the engine (PCG XSL RR 128/64, O'Neill 2014).
pub type Random = Pcg64;

/// Purpose of a stream. Arrivals and contents have separate streams, so that changing the rate does not change the
/// requested keys.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Gaps between scheduled times.
    Arrivals = 1,
    /// Kinds, keys and sizes.
    Contents = 2,
    /// The connection that carries a request.
    Routing = 3,
    /// The requests kept in the subsample.
    Sampling = 4,
    /// Gaps of an arrival process that all threads draw identically, so that each sends its share of it.
    SharedArrivals = 5,
}

/// Return the stream of one thread (counted over all clients) for one purpose. PCG streams with different
/// increments do not overlap, so clients never run in lock-step.
pub fn stream(seed: u64, client: u32, thread: u32, purpose: Purpose) -> Random {
    let id = (u128::from(client) << 64) | (u128::from(thread) << 32) | purpose as u128;
    Pcg64::new(u128::from(mix(seed)) << 64 | u128::from(mix(!seed)), id)
}

/// Mix with `SplitMix64`'s finaliser (Steele, Lea, Flood 2014): neighbouring seeds give unrelated states.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Convert to a number in `[0, 1)` with 53 random bits.
#[inline]
pub fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Convert to a number below `n` (Lemire's multiplication without rejection: the bias is below `n / 2^64`).
#[inline]
pub fn below(word: u64, n: u32) -> u32 {
    ((u128::from(word) * u128::from(n)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn same_seed_same_stream_and_no_two_alike() {
        let first = |seed, client, thread, purpose| stream(seed, client, thread, purpose).next_u64();
        assert_eq!(first(1, 0, 0, Purpose::Arrivals), first(1, 0, 0, Purpose::Arrivals));
        let mut all: Vec<u64> = [Purpose::Arrivals, Purpose::Contents, Purpose::Routing, Purpose::Sampling]
            .into_iter()
            .flat_map(|p| [(1, 0, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)].map(|(s, i, t)| first(s, i, t, p)))
            .collect();
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }

    #[test]
    fn below_stays_below() {
        assert_eq!(below(0, 7), 0);
        assert_eq!(below(u64::MAX, 7), 6);
        assert!(unit(u64::MAX) < 1.0);
    }
}
