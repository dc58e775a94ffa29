//! Checks whether every connection carried its share of the requests.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::state::connection::{Connection, State};

/// How a worker's measured requests were spread over its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Shares {
    /// Number of connections.
    pub connections: u64,
    /// Requests on the least used connection.
    pub least: u64,
    /// Requests on the most used connection.
    pub most: u64,
    /// Pearson's statistic against equal shares, with `connections - 1` degrees of freedom; absent without
    /// requests.
    pub chi_square: Option<f64>,
    /// Open connections that got requests of the load in any phase and never answered one. A server at its
    /// connection limit leaves such connections in its accept queue.
    pub silent: u64,
}

impl Shares {
    /// Compute the shares of a worker's connections when its load is over.
    #[must_use]
    pub fn new<S>(connections: &[Connection<S>]) -> Self {
        let measured = || connections.iter().map(|one| u64::from(one.measured));
        let (total, count) = (measured().sum::<u64>(), connections.len() as u64);
        let fair = total as f64 / count.max(1) as f64;
        let silent = |one: &&Connection<S>| one.state == State::Open && one.has_requests && one.answered == 0;
        Self {
            connections: count,
            least: measured().min().unwrap_or(0),
            most: measured().max().unwrap_or(0),
            chi_square: (total > 0).then(|| measured().map(|n| (n as f64 - fair).powi(2) / fair).sum()),
            silent: connections.iter().filter(silent).count() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::state::buffers::Buffers;
    use crate::engine::tests::{every_ms, plan};
    use crate::protocol::{Memcached, Protocol};

    fn carrying(counts: &[u32]) -> Vec<Connection> {
        let codec = Memcached::new(&plan(1, &every_ms(), &serde_json::Value::Null));
        counts
            .iter()
            .map(|&n| {
                let mut one = Connection::new(&codec, Buffers { requests: 1, out_bytes: 100, stamped: 0 });
                one.state = State::Open;
                (one.measured, one.has_requests, one.answered) = (n, n > 0, u64::from(n));
                one
            })
            .collect()
    }

    #[test]
    fn the_statistic_is_pearsons() {
        // By hand: (8-10)^2/10 + (12-10)^2/10 + 0 = 0.8.
        let shares = Shares::new(&carrying(&[8, 12, 10]));
        assert_eq!((shares.connections, shares.least, shares.most, shares.silent), (3, 8, 12, 0));
        assert!((shares.chi_square.unwrap() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn no_requests_give_no_statistic() {
        assert_eq!(Shares::new(&carrying(&[0, 0])).chi_square, None);
        assert_eq!(Shares::new::<()>(&[]), Shares::default());
    }

    #[test]
    fn a_connection_that_never_answers_is_counted_unless_it_only_stored_keys() {
        let mut connections = carrying(&[5, 5, 0, 5]);
        connections[0].answered = 0;
        connections[2].request_bytes = 100;
        (connections[3].answered, connections[3].state) = (0, State::Down);
        assert_eq!(Shares::new(&connections).silent, 1);
    }
}
