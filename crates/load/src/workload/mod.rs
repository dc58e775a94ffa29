//! *What*: which request comes next. Drawn ahead of the due time, from streams of its own.

mod keys;
mod popularity;
mod size;

use hindmost_arrivals::Part;
use hindmost_plan::Workload;
use rand::Rng;

pub use keys::KeySpace;
pub use popularity::Popularity;
pub use size::SizeLaw;

use crate::random::{below, unit, Random};

/// The kind of a request: its place in [`Mix::kinds`](hindmost_plan::Mix).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u8);

impl Kind {
    /// Reads a key (memcached, redis) or a path (HTTP).
    pub const GET: Self = Self(0);
    /// Stores a key.
    pub const SET: Self = Self(1);
}

/// One request, before it has a due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub kind: Kind,
    /// The number of its key, or of its path.
    pub item: u32,
    /// How many bytes it stores; 0 for reads.
    pub value_bytes: u32,
}

/// An endless stream of requests.
pub struct Requests {
    get_ratio: f64,
    popularity: Popularity,
    value_bytes: SizeLaw,
    random: Random,
}

impl Requests {
    /// The requests of `workload` for worker `part` of all workers, drawn from `random`.
    pub fn new(workload: &Workload, part: Part, random: Random) -> Self {
        match workload {
            Workload::KeyValue(mix) => Self {
                get_ratio: mix.get_ratio,
                popularity: Popularity::new(&mix.popularity, mix.keys, part),
                value_bytes: SizeLaw::new(&mix.value_bytes),
                random,
            },
            Workload::Http(mix) => Self {
                get_ratio: 1.0,
                popularity: Popularity::uniform(mix.paths.len() as u32),
                value_bytes: SizeLaw::new(&hindmost_plan::Size::Fixed(0)),
                random,
            },
        }
    }

    /// The next request.
    #[inline]
    pub fn draw(&mut self) -> Request {
        let item = self.popularity.draw(&mut self.random);
        if unit(self.random.next_u64()) < self.get_ratio {
            return Request { kind: Kind::GET, item, value_bytes: 0 };
        }
        let value_bytes = self.value_bytes.at(unit(self.random.next_u64()));
        Request { kind: Kind::SET, item, value_bytes }
    }

    /// A connection for the next request, uniformly out of `n`: random splitting keeps each
    /// connection's arrivals Poisson, where taking turns would make them smoother than real users.
    #[inline]
    pub fn pick(random: &mut Random, n: u32) -> u32 {
        below(random.next_u64(), n)
    }
}

#[cfg(test)]
mod tests {
    use hindmost_plan::KeyValue;

    use super::*;
    use crate::random::{stream, Purpose};

    #[test]
    fn the_mix_is_the_one_asked_for() {
        let mix = KeyValue { get_ratio: 0.7, keys: 10, ..KeyValue::default() };
        let mut requests =
            Requests::new(&Workload::KeyValue(mix), Part::WHOLE, stream(3, 0, 0, Purpose::Contents));
        let gets = (0..100_000).filter(|_| requests.draw().kind == Kind::GET).count();
        // Five standard deviations of a binomial share: 5 * sqrt(.7 * .3 / 1e5) = 0.0072.
        assert!((gets as f64 / 1e5 - 0.7).abs() < 0.0073, "{gets}");
    }

    #[test]
    fn same_seed_same_requests() {
        let draw = || {
            let mut requests =
                Requests::new(&Workload::default(), Part::WHOLE, stream(5, 1, 2, Purpose::Contents));
            (0..100).map(|_| requests.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
    }
}
