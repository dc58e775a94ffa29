use rand::Rng;
use rand_distr::{Distribution, Zipf};

use crate::random::{below, Random};

/// How often each item is asked for.
pub enum Popularity {
    /// All alike.
    Uniform(u32),
    /// Zipf's law over ranks, drawn by rejection-inversion (Hoermann and Derflinger 1996).
    Zipf(Zipf<f64>),
}

impl Popularity {
    /// The law of the plan over `items` items.
    pub fn new(law: hindmost_plan::Popularity, items: u32) -> Self {
        match law {
            hindmost_plan::Popularity::Uniform => Self::uniform(items),
            // The plan has checked the exponent; a law that cannot be built is the uniform one.
            hindmost_plan::Popularity::Zipf(s) => {
                Zipf::new(f64::from(items), s).map_or(Self::uniform(items), Self::Zipf)
            }
        }
    }

    /// All of `items` alike.
    pub fn uniform(items: u32) -> Self {
        Self::Uniform(items)
    }

    /// The number of the next item, counted from 0; under Zipf's law 0 is the most wanted.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        match self {
            Self::Uniform(items) => below(random.next_u64(), *items),
            Self::Zipf(law) => law.sample(random) as u32 - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{stream, Purpose};

    #[test]
    fn zipf_ranks_fall_as_a_power() {
        let law = Popularity::new(hindmost_plan::Popularity::Zipf(1.0), 1000);
        let mut random = stream(11, 0, 0, Purpose::Contents);
        let mut seen = vec![0u32; 1000];
        for _ in 0..200_000 {
            seen[law.draw(&mut random) as usize] += 1;
        }
        let harmonic: f64 = (1..=1000).map(|r| 1.0 / f64::from(r)).sum();
        for rank in [1u32, 2, 4, 8] {
            let expected = 200_000.0 / f64::from(rank) / harmonic;
            let got = f64::from(seen[rank as usize - 1]);
            assert!((got - expected).abs() < 6.0 * expected.sqrt(), "rank {rank}: {got} for {expected}");
        }
    }
}
