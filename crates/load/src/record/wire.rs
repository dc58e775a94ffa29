//! Records of the stamped requests.

use hindmost_histogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// The result of one answered request's stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Both stamps are known.
    Known {
        /// Wire latency: receive stamp - transmit stamp.
        ns: u64,
        /// Whether the receive stamp also belongs to bytes after the reply.
        shared: bool,
    },
    /// The transmit stamp is missing.
    WithoutOut,
    /// The request was sent on two connections, so its wire latency is undefined.
    Twice,
    /// The receive stamp is missing.
    WithoutIn,
    /// The stamps cannot belong to one request: a clock was set between them.
    Implausible,
}

/// Counts of requested stamps by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StampCounts {
    /// Answered requests that were to be stamped, without resent ones.
    pub requested: u64,
    /// Requests among `requested` with a known wire latency.
    pub received: u64,
    /// Requests among `received` whose receive stamp also belongs to later bytes.
    pub shared: u64,
    /// Requests without a transmit stamp.
    pub without_out: u64,
    /// Requests with a transmit stamp but no receive stamp.
    pub without_in: u64,
    /// Requests with stamps made impossible by a clock step.
    pub implausible: u64,
}

impl StampCounts {
    /// Count one answered request.
    pub fn count(&mut self, wire: Wire) {
        if wire == Wire::Twice {
            return;
        }
        self.requested += 1;
        match wire {
            Wire::Known { shared, .. } => {
                self.received += 1;
                self.shared += u64::from(shared);
            }
            Wire::WithoutOut => self.without_out += 1,
            Wire::WithoutIn => self.without_in += 1,
            Wire::Implausible => self.implausible += 1,
            Wire::Twice => {}
        }
    }

    /// Add the counts of another worker.
    pub fn add(&mut self, other: &Self) {
        self.requested += other.requested;
        self.received += other.received;
        self.shared += other.shared;
        self.without_out += other.without_out;
        self.without_in += other.without_in;
        self.implausible += other.implausible;
    }
}

/// Wire latency of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct WireRecord {
    /// Wire latency: receive stamp - transmit stamp.
    pub wire: Histogram,
    /// Service latency - wire latency of the same requests.
    pub overhead: Histogram,
}

impl WireRecord {
    /// Add the records of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.wire.merge(&other.wire);
        self.overhead.merge(&other.overhead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stamped_request_is_counted_once() {
        let known = |shared| Wire::Known { ns: 5, shared };
        let cases =
            [known(false), known(true), Wire::WithoutOut, Wire::Twice, Wire::WithoutIn, Wire::Implausible];
        let mut counts = StampCounts::default();
        for wire in cases {
            counts.count(wire);
        }
        let expected = StampCounts {
            requested: 5,
            received: 2,
            shared: 1,
            without_out: 1,
            without_in: 1,
            implausible: 1,
        };
        assert_eq!(counts, expected);
        counts.add(&expected);
        assert_eq!((counts.requested, counts.received, counts.implausible), (10, 4, 2));
    }
}
