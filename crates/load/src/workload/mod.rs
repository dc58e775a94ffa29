//! *What to send*: the stream of requests, drawn ahead of their scheduled times from separate random streams.

mod keys;
mod popularity;
mod sharding;
mod size;
mod template;
mod values;

use hindmost_arrivals::Part;
use hindmost_plan::{Plan, Workload};
use rand::Rng;

pub use keys::KeySpace;
pub use popularity::Popularity;
pub use sharding::Shards;
pub use size::SizeLaw;
pub use template::Template;
pub use values::{List, Values};

use crate::random::{below, unit, Random};

/// The kind of a request: its index in [`Workload::kinds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub u8);

impl Kind {
    /// Reads a key (memcached, Redis).
    pub const GET: Self = Self(0);
    /// Stores a key.
    pub const SET: Self = Self(1);
    /// Removes a key; used only by the clean-up after the load.
    pub const REMOVED: Self = Self(u8::MAX);
}

/// A request without its scheduled time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Kind of the request.
    pub kind: Kind,
    /// Number of its key; in a list of requests, number of the request over all clients.
    pub item: u32,
    /// Number of bytes that it stores; 0 for reads.
    pub value_bytes: u32,
}

/// An endless stream of requests.
pub enum Requests {
    /// Gets and sets of keys.
    Keys {
        /// Fraction of gets.
        get_ratio: f64,
        /// Law of the keys.
        popularity: Popularity,
        /// Law of the value sizes.
        value_bytes: SizeLaw,
        /// The random stream of the draws.
        random: Random,
    },
    /// Requests of a list by number, of which this worker has every `step`-th.
    Listed {
        /// The list.
        list: List,
        /// Number of the next request, or session.
        next: u32,
        /// Number of workers of all clients.
        step: u32,
    },
}

impl Requests {
    /// Create the requests of the plan for worker `part` of all workers. Keys are drawn from `random`.
    pub fn new(plan: &Plan, part: Part, random: Random) -> Self {
        match &plan.workload {
            Workload::KeyValue(mix) => Self::Keys {
                get_ratio: mix.get_ratio,
                popularity: Popularity::new(&mix.popularity, mix.keys, part),
                value_bytes: SizeLaw::new(&mix.value_bytes),
                random,
            },
            Workload::Dns(dns) => Self::Listed {
                list: List::new(plan.seed, &dns.weighted_kinds(), dns.data.as_ref()).in_turn(dns.in_turn()),
                next: part.index,
                step: part.of,
            },
            listed => {
                let (list, data) = listed.weighted_kinds().unwrap_or_default();
                let list = List::new(plan.seed, &list, data).in_sessions(listed.session().is_some());
                Self::Listed { list, next: part.index, step: part.of }
            }
        }
    }

    /// Return request number `item` of a list.
    #[inline]
    pub fn listed(&self, item: u32) -> Request {
        let kind = if let Self::Listed { list, .. } = self { list.kind(item) } else { Kind::GET };
        Request { kind, item, value_bytes: 0 }
    }

    /// Draw the next request, or the first request of the next session.
    #[inline]
    pub fn draw(&mut self) -> Request {
        match self {
            Self::Keys { get_ratio, popularity, value_bytes, random } => {
                let item = popularity.draw(random);
                if unit(random.next_u64()) < *get_ratio {
                    return Request { kind: Kind::GET, item, value_bytes: 0 };
                }
                let value_bytes = value_bytes.quantile(unit(random.next_u64()));
                Request { kind: Kind::SET, item, value_bytes }
            }
            Self::Listed { list, next, step } => {
                let item = next.wrapping_mul(list.session_length());
                *next = next.wrapping_add(*step);
                Request { kind: list.kind(item), item, value_bytes: 0 }
            }
        }
    }

    /// Choose one of `n` connections uniformly for the next request. Random splitting keeps each connection's
    /// arrivals Poisson; round-robin would make them smoother than with real users.
    #[inline]
    pub fn pick(random: &mut Random, n: u32) -> u32 {
        below(random.next_u64(), n)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::tests::{every_ms, plan};
    use crate::random::{stream, Purpose};

    #[test]
    fn the_mix_has_the_planned_get_ratio() {
        let workload = json!({"workload": {"kind": "key-value", "get_ratio": 0.7, "keys": 10}});
        let plan = plan(1, &every_ms(), &workload);
        let mut requests = Requests::new(&plan, Part::WHOLE, stream(3, 0, 0, Purpose::Contents));
        let gets = (0..100_000).filter(|_| requests.draw().kind == Kind::GET).count();
        // Five standard deviations of a binomial share: 5 * sqrt(.7 * .3 / 1e5) = 0.0072.
        assert!((gets as f64 / 1e5 - 0.7).abs() < 0.0073, "{gets}");
    }

    #[test]
    fn same_seed_same_requests() {
        let plan = plan(1, &every_ms(), &json!({}));
        let draw = || {
            let mut requests = Requests::new(&plan, Part::WHOLE, stream(5, 1, 2, Purpose::Contents));
            (0..100).map(|_| requests.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
    }

    #[test]
    fn request_numbers_are_unique_over_workers() {
        let mut all = Vec::new();
        for index in 0..3 {
            let changes = json!({
                "client": {"index": index, "of": 3}, "threads": [{}, {}], "workload": {"kind": "http"},
                "target": {"protocol": "http", "address": "127.0.0.1:1"},
            });
            let plan = plan(2, &every_ms(), &changes);
            for thread in 0..2 {
                let mut requests = Requests::new(
                    &plan,
                    Part { index: index * 2 + thread, of: 6 },
                    stream(5, index, thread, Purpose::Contents),
                );
                all.extend((0..50).map(|_| requests.draw().item));
            }
        }
        all.sort_unstable();
        assert_eq!(all, (0..300).collect::<Vec<_>>());
    }
}
