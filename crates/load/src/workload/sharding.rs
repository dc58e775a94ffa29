//! *Where to send*, with several servers: chosen by key, as libmemcached does, or round-robin.

use hindmost_plan::{Plan, Sharding, Workload};

use super::KeySpace;

/// Points per server on the hash ring (libmemcached, `MEMCACHED_POINTS_PER_SERVER_KETAMA`), and points per
/// hash.
const POINTS: u32 = 160;
const POINTS_OF_A_HASH: usize = 4;
/// The port that libmemcached omits from a server's name.
const USUAL_PORT: &str = ":11211";

/// The rule that chooses the server of each request of one worker.
#[derive(Clone, Debug)]
pub enum Shards {
    /// There is one server.
    One,
    /// By the number of the key; computed before the load.
    ByKey(Vec<u16>),
    /// Round-robin: the next server, and the number of servers.
    InTurn(u16, u16),
}

impl Shards {
    /// Create the rule for the plan's servers. Worker `first` of several starts with a different server than
    /// its neighbours.
    pub fn for_worker(plan: &Plan, first: usize) -> Self {
        let target = &plan.target;
        match &plan.workload {
            Workload::KeyValue(mix) => {
                let keys = KeySpace::new(mix);
                let write = |item, out: &mut Vec<u8>| keys.write(item, out);
                Self::new(&target.endpoints, target.sharding, first, keys.keys, write)
            }
            // The plan check has refused sharding by key for requests without keys.
            _ => Self::new(&target.endpoints, Sharding::RoundRobin, first, 0, |_, _| ()),
        }
    }

    /// Create the rule for `endpoints`, with keys that `write` writes by number.
    fn new(
        endpoints: &[String],
        sharding: Sharding,
        first: usize,
        keys: u32,
        write: impl Fn(u32, &mut Vec<u8>),
    ) -> Self {
        let count = endpoints.len() as u16;
        if count < 2 {
            return Self::One;
        }
        let ring = match sharding {
            Sharding::RoundRobin => return Self::InTurn((first % endpoints.len()) as u16, count),
            Sharding::Modulo => Vec::new(),
            Sharding::Ketama => ring(endpoints),
        };
        let mut key = Vec::new();
        let by_key = |item| {
            key.clear();
            write(item, &mut key);
            if sharding == Sharding::Ketama {
                server_on_ring(&ring, &key)
            } else {
                (one_at_a_time(&key) % u32::from(count)) as u16
            }
        };
        Self::ByKey((0..keys).map(by_key).collect())
    }

    /// Return the server of the next request, which is for `item`.
    #[inline]
    pub fn next(&mut self, item: u32) -> u16 {
        match self {
            Self::One => 0,
            Self::ByKey(all) => all.get(item as usize).copied().unwrap_or(0),
            Self::InTurn(next, count) => {
                let this = *next;
                *next = if this + 1 == *count { 0 } else { this + 1 };
                this
            }
        }
    }

    /// Whether server `endpoint` stores `item`. With round-robin, all servers store all items.
    pub fn keeps(&self, endpoint: u16, item: u32) -> bool {
        match self {
            Self::ByKey(all) => all.get(item as usize) == Some(&endpoint),
            Self::One | Self::InTurn(..) => true,
        }
    }
}

/// Return the sorted points of the servers: weighted ketama with equal weights (`update_continuum` in
/// libmemcached's `hosts.cc`). libketama and twemproxy agree with it.
fn ring(endpoints: &[String]) -> Vec<(u32, u16)> {
    let mut points = Vec::new();
    for (server, address) in (0..).zip(endpoints) {
        let name = address.strip_suffix(USUAL_PORT).unwrap_or(address);
        for number in 0..POINTS / POINTS_OF_A_HASH as u32 {
            let hash = md5::compute(format!("{name}-{number}"));
            points.extend(hash.chunks_exact(POINTS_OF_A_HASH).map(|four| (little_endian(four), server)));
        }
    }
    points.sort_unstable();
    points
}

fn server_on_ring(ring: &[(u32, u16)], key: &[u8]) -> u16 {
    let at = little_endian(&md5::compute(key)[..POINTS_OF_A_HASH]);
    ring[ring.partition_point(|&(point, _)| point < at) % ring.len()].1
}

fn little_endian(four: &[u8]) -> u32 {
    four.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte))
}

/// Bob Jenkins's one-at-a-time hash, libmemcached's default.
fn one_at_a_time(key: &[u8]) -> u32 {
    let mixed = key.iter().fold(0_u32, |hash, &byte| {
        let hash = hash.wrapping_add(u32::from(byte));
        let hash = hash.wrapping_add(hash << 10);
        hash ^ (hash >> 6)
    });
    let hash = mixed.wrapping_add(mixed << 3);
    let hash = hash ^ (hash >> 11);
    hash.wrapping_add(hash << 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVERS: [&str; 5] =
        ["10.0.1.1:11211", "10.0.1.2:11211", "127.0.0.1:7000", "127.0.0.1:7001", "cache.example:7002"];

    /// Return the servers of the keys `key-0`, `key-1`, ...
    fn shards(sharding: Sharding) -> String {
        let servers = SERVERS.map(str::to_owned);
        let write = |item: u32, out: &mut Vec<u8>| out.extend_from_slice(format!("key-{item}").as_bytes());
        let mut shards = Shards::new(&servers, sharding, 1, 40, write);
        (0..40).map(|item| shards.next(item).to_string()).collect()
    }

    /// The expected values are from `memcached_generate_hash` of libmemcached 1.1.4 for the same servers and
    /// keys, first with default settings, then with `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`.
    #[test]
    fn keys_go_where_libmemcached_sends_them() {
        assert_eq!(shards(Sharding::Modulo), "1123311334002434423000333222330423431001");
        assert_eq!(shards(Sharding::Ketama), "3404413331220101013132424320204232103242");
    }

    #[test]
    fn hashes_match_libhashkit() {
        assert_eq!(one_at_a_time(b"apple"), 2_297_466_611);
        assert_eq!(little_endian(&md5::compute("apple")[..4]), 3_195_025_439);
    }

    #[test]
    fn a_key_is_stored_where_it_is_requested_and_by_all_with_round_robin() {
        let stored = |sharding| -> String {
            let shards = Shards::new(&SERVERS.map(str::to_owned), sharding, 1, 40, |item, out| {
                out.extend_from_slice(format!("key-{item}").as_bytes());
            });
            let mut all = String::new();
            for item in 0..40 {
                (0..5).filter(|&one| shards.keeps(one, item)).for_each(|one| all += &one.to_string());
            }
            all
        };
        assert_eq!(stored(Sharding::Modulo), shards(Sharding::Modulo));
        assert_eq!(stored(Sharding::Ketama), shards(Sharding::Ketama));
        assert_eq!(stored(Sharding::RoundRobin), "01234".repeat(40));
    }

    #[test]
    fn round_robin_visits_all_servers() {
        assert_eq!(&shards(Sharding::RoundRobin)[..7], "1234012");
    }
}
