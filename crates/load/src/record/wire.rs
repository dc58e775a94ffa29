//! What is kept of the requests that the kernel stamped.

use hindmost_histogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// What the stamps of one answered request tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// So long it was on its way.
    Known {
        /// wire-in - wire-out.
        ns: u64,
        /// The receive stamp is also that of bytes behind the reply.
        shared: bool,
    },
    /// No transmit stamp came.
    WithoutOut,
    /// It was sent again on another connection, so there is no one way.
    Twice,
    /// No receive stamp came.
    WithoutIn,
    /// The stamps cannot be those of one request: a clock was set between them.
    Implausible,
}

/// What became of the stamps that were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StampCounts {
    /// Answered requests that were to be stamped, but those that were sent again.
    pub asked: u64,
    /// Of these, those whose wire latency is known.
    pub came: u64,
    /// Of those that came, replies whose stamp is also that of bytes behind them.
    pub shared: u64,
    /// Without a transmit stamp.
    pub without_out: u64,
    /// With a transmit stamp and without a receive stamp.
    pub without_in: u64,
    /// With stamps that a clock made impossible.
    pub implausible: u64,
}

impl StampCounts {
    /// Counts one answered request.
    pub fn count(&mut self, wire: Wire) {
        if wire == Wire::Twice {
            return;
        }
        self.asked += 1;
        match wire {
            Wire::Known { shared, .. } => {
                self.came += 1;
                self.shared += u64::from(shared);
            }
            Wire::WithoutOut => self.without_out += 1,
            Wire::WithoutIn => self.without_in += 1,
            Wire::Implausible => self.implausible += 1,
            Wire::Twice => {}
        }
    }

    /// Adds what another worker counted.
    pub fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.came += other.came;
        self.shared += other.shared;
        self.without_out += other.without_out;
        self.without_in += other.without_in;
        self.implausible += other.implausible;
    }
}

/// Wire latency of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct WireRecord {
    /// wire-in - wire-out.
    pub wire: Histogram,
    /// Of the same requests: service latency - wire latency.
    pub overhead: Histogram,
}

impl WireRecord {
    /// Adds what another worker kept.
    pub fn merge(&mut self, other: &Self) {
        self.wire.merge(&other.wire);
        self.overhead.merge(&other.overhead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_that_was_asked_for_is_accounted_for() {
        let known = |shared| Wire::Known { ns: 5, shared };
        let cases =
            [known(false), known(true), Wire::WithoutOut, Wire::Twice, Wire::WithoutIn, Wire::Implausible];
        let mut counts = StampCounts::default();
        for wire in cases {
            counts.count(wire);
        }
        let expected =
            StampCounts { asked: 5, came: 2, shared: 1, without_out: 1, without_in: 1, implausible: 1 };
        assert_eq!(counts, expected);
        counts.add(&expected);
        assert_eq!((counts.asked, counts.came, counts.implausible), (10, 4, 2));
    }
}
