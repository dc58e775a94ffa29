//! Windows in which threads pause: disturbances by the clock.

use hindmost_random::{mix, Draws};

use crate::law::Quantile;
use crate::{Disturbance, When};

/// The windows of one disturbance, in order: `(start, length)` in nanoseconds after the server's start. Windows do not
/// overlap; a later one is delayed if necessary.
#[derive(Clone, Debug)]
pub struct Windows {
    when: When,
    length: Quantile,
    seed: u64,
    index: u64,
    clock_ns: f64,
    free_ns: f64,
}

const GAP: u32 = 16;
const LENGTH: u32 = 17;

impl Windows {
    /// Create the windows of disturbance number `place` for one thread (thread 0 for scope `server`).
    pub(crate) fn new(disturbance: &Disturbance, place: usize, seed: u64, thread: u32) -> Self {
        let own = mix(seed ^ mix((place as u64) << 32 | u64::from(thread)));
        let length = Quantile::new(&disturbance.length);
        Self { when: disturbance.when.clone(), length, seed: own, index: 0, clock_ns: 0.0, free_ns: 0.0 }
    }
}

impl Iterator for Windows {
    type Item = (f64, f64);

    fn next(&mut self) -> Option<(f64, f64)> {
        let draws = Draws::new(self.seed, self.index);
        let scheduled = match &self.when {
            When::Chance { .. } => return None,
            When::Poisson { per_second } => {
                self.clock_ns -= (-draws.unit(GAP)).ln_1p() * 1e9 / per_second;
                self.clock_ns
            }
            When::Periodic { every_us, first_us } => (first_us + every_us * self.index as f64) * 1e3,
            When::Once { at_us } => at_us.get(self.index as usize)? * 1e3,
        };
        self.index += 1;
        let begin = scheduled.max(self.free_ns);
        let length = self.length.value_at(draws.unit(LENGTH));
        self.free_ns = begin + length;
        Some((begin, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Law, Scope};

    fn windows(when: When, length_us: f64) -> Windows {
        let length = Law::Deterministic { us: length_us };
        let disturbance =
            Disturbance { name: "pause".to_owned(), scope: Scope::Server, when, length, while_holding: None };
        Windows::new(&disturbance, 0, 7, 0)
    }

    #[test]
    fn windows_are_at_the_documents_times() {
        let periodic = windows(When::Periodic { every_us: 100.0, first_us: 50.0 }, 10.0);
        assert_eq!(periodic.take(3).collect::<Vec<_>>(), [(5e4, 1e4), (1.5e5, 1e4), (2.5e5, 1e4)]);
        let once = windows(When::Once { at_us: vec![1.0, 5.0] }, 10.0);
        assert_eq!(once.collect::<Vec<_>>(), [(1e3, 1e4), (1.1e4, 1e4)]);
        let n = 20_000;
        let last = windows(When::Poisson { per_second: 1e4 }, 1.0).nth(n - 1).unwrap().0;
        assert!((last / (n as f64 * 1e5) - 1.0).abs() < 0.04, "{last}");
    }
}
