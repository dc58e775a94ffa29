use hindmost_clock::Nanos;
use rand::Rng;
use rand_pcg::Pcg64;

use crate::ServiceTime;

/// Draws the service times of one thread.
pub(crate) struct Sampler {
    law: Law,
    random: Pcg64,
}

#[derive(Clone, Copy)]
enum Law {
    Constant(Nanos),
    Exponential { mean_ns: f64 },
}

impl Sampler {
    pub(crate) fn new(service: ServiceTime, seed: u64, thread: usize) -> Self {
        let law = match service {
            ServiceTime::Zero => Law::Constant(Nanos::ZERO),
            ServiceTime::Deterministic { mean_us } => Law::Constant(Nanos::from_secs_f64(mean_us / 1e6)),
            ServiceTime::Exponential { mean_us } => Law::Exponential { mean_ns: mean_us * 1e3 },
        };
        Self { law, random: Pcg64::new(u128::from(seed), thread as u128) }
    }

    /// Whether every service takes no time at all, so that nothing has to be waited for.
    pub(crate) fn is_zero(&self) -> bool {
        matches!(self.law, Law::Constant(Nanos::ZERO))
    }

    /// The service time of the next request.
    pub(crate) fn draw(&mut self) -> Nanos {
        match self.law {
            Law::Constant(span) => span,
            Law::Exponential { mean_ns } => {
                // 53 random bits, moved off zero: u lies in (0, 1], so the logarithm is finite.
                let u = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                Nanos((-u.ln() * mean_ns).round() as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(service: ServiceTime, seed: u64, thread: usize, count: usize) -> Vec<f64> {
        let mut sampler = Sampler::new(service, seed, thread);
        (0..count).map(|_| sampler.draw().0 as f64).collect()
    }

    #[test]
    fn exponential_times_have_the_mean_and_the_quantiles_of_the_law() {
        let mut times = draws(ServiceTime::Exponential { mean_us: 200.0 }, 7, 0, 200_000);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean / 200_000.0 - 1.0).abs() < 0.01, "{mean}");
        times.sort_by(f64::total_cmp);
        for q in [0.5_f64, 0.9, 0.99] {
            let found = times[(q * times.len() as f64) as usize];
            let expected = -(1.0 - q).ln() * 200_000.0;
            assert!((found / expected - 1.0).abs() < 0.02, "{q}: {found} against {expected}");
        }
    }

    #[test]
    fn deterministic_times_do_not_vary() {
        assert!(draws(ServiceTime::Deterministic { mean_us: 12.5 }, 1, 0, 100)
            .iter()
            .all(|t| (t - 12_500.0).abs() < 0.5));
        assert!(Sampler::new(ServiceTime::Zero, 1, 0).is_zero());
    }

    #[test]
    fn a_seed_repeats_its_times_and_threads_differ() {
        let law = ServiceTime::Exponential { mean_us: 50.0 };
        assert_eq!(draws(law, 3, 1, 50), draws(law, 3, 1, 50));
        assert_ne!(draws(law, 3, 0, 50), draws(law, 3, 1, 50));
        assert_ne!(draws(law, 3, 0, 50), draws(law, 4, 0, 50));
    }
}
