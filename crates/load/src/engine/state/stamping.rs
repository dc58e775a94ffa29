//! Chooses the requests that the kernel stamps, and evaluates their stamps.

use hindmost_host::Nic;

use super::time_of_day::TimeOfDay;
use crate::record::{Row, Wire};
use crate::transport::{Segment, Source, Stamp, Stamper};

/// Tolerance when comparing kernel stamps with the worker's own clock readings, in nanoseconds: the error of
/// the offset between the clocks.
const SLACK_NS: u64 = 1_000;

/// The NIC's stamps before the measurement.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// Requests that were to be stamped.
    asked: u64,
    /// Requests whose stamps gave a wire latency.
    came: u64,
    over: bool,
}

/// A read of bytes that end with stamped replies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Receive stamp of its last byte.
    pub last: Stamp,
    /// Number of its last bytes that were only peeked at.
    pub untaken: usize,
}

/// A worker's summary of its stamps.
#[derive(Clone, Debug, Default)]
pub struct StampSummary {
    /// The source of wire latency; `None` without stamps.
    pub source: Option<Source>,
    /// The interface that leads to the server.
    pub nic: Option<Nic>,
    /// Why stamps are missing although the plan requests them.
    pub refused: Option<String>,
    /// If the NIC stamped too few requests before the measurement: how many it should have stamped, and how
    /// many it did.
    pub card_failed: Option<(u64, u64)>,
    /// Steps of the realtime clock.
    pub time_of_day: TimeOfDay,
}

/// A worker's rule for choosing stamped requests, and its assessment of the stamp sources.
pub struct Stamping {
    /// The kernel stamps one request in this many; 0 for none.
    every: u32,
    turn: u32,
    /// Only requests on this many first connections are sampled and stamped; `u32::MAX` for all.
    pub captured: u32,
    /// The best source of wire latency that works.
    best: Source,
    trial: Trial,
    pub time_of_day: TimeOfDay,
    /// The read being processed.
    pub arrival: Arrival,
}

impl Stamping {
    pub fn new(every: u32, captured: u32, time_of_day: TimeOfDay) -> Self {
        Self {
            every,
            turn: 0,
            captured,
            best: Source::Hardware,
            trial: Trial::default(),
            time_of_day,
            arrival: Arrival::default(),
        }
    }

    /// Whether the kernel stamps the next request, on `slot`: every n-th request of the captured connections.
    #[inline]
    pub fn selects(&mut self, slot: u32) -> bool {
        if self.every == 0 || slot >= self.captured {
            return false;
        }
        self.turn += 1;
        if self.turn < self.every {
            return false;
        }
        self.turn = 0;
        true
    }

    /// Return the best source that works.
    #[inline]
    pub fn source(&self, stamper: &Stamper) -> Source {
        stamper.source().map_or(Source::Software, |source| source.min(self.best))
    }

    /// Fill in the stamps of an answered request and return its wire latency. `measured`: whether it belongs
    /// to the measurement. `ahead`: a new reading of how far the realtime clock is ahead.
    pub fn wire(
        &mut self,
        row: &mut Row,
        (out, last): (Stamp, Segment),
        measured: bool,
        stamper: &Stamper,
        ahead: impl FnOnce() -> i64,
    ) -> Wire {
        let (card, kernel) = (by_card(row, out, last), self.by_kernel(row, out, last, ahead));
        self.evaluate_nic(card, measured, stamper);
        if self.source(stamper) == Source::Hardware {
            card
        } else {
            kernel
        }
    }

    /// Stop using a NIC that stamped less than half of the requests it should have stamped before the
    /// measurement.
    fn evaluate_nic(&mut self, card: Wire, measured: bool, stamper: &Stamper) {
        if !measured {
            self.trial.asked += 1;
            self.trial.came += u64::from(matches!(card, Wire::Known { .. }));
        } else if !self.trial.over {
            self.trial.over = true;
            if self.source(stamper) == Source::Hardware && 2 * self.trial.came < self.trial.asked {
                self.best = Source::Software;
            }
        }
    }

    /// Compute wire latency from software stamps, and convert them to our clock. Stamps outside the request
    /// are dropped: the realtime clock was set in between.
    fn by_kernel(&mut self, row: &mut Row, out: Stamp, last: Segment, ahead: impl FnOnce() -> i64) -> Wire {
        let (out, back) = (out.software_ns, last.stamp.software_ns);
        let wire = match (out, back) {
            (0, _) => return Wire::WithoutOut,
            (_, 0) => return Wire::WithoutIn,
            _ => between(out, back, row.completed_ns.saturating_sub(row.sent_ns)),
        };
        let mut place = self.on_our_clock(row, out, back);
        if place.is_none() {
            self.time_of_day.sample(ahead());
            place = self.on_our_clock(row, out, back);
        }
        let Some(((wire_out_ns, wire_in_ns), ns)) = place.zip(wire) else { return Wire::Implausible };
        (row.wire_out_ns, row.wire_in_ns) = (wire_out_ns, wire_in_ns);
        Wire::Known { ns, shared: last.shared }
    }

    /// Convert the software stamps to our clock. Return `None` if they lie outside the request's send and
    /// completion times.
    fn on_our_clock(&self, row: &Row, out: u64, back: u64) -> Option<(u64, u64)> {
        let (out, back) = (self.time_of_day.to_monotonic(out), self.time_of_day.to_monotonic(back));
        (out + SLACK_NS >= row.sent_ns && back <= row.completed_ns + SLACK_NS).then_some((out, back))
    }

    /// Summarise the stamps at the end of the load.
    pub fn summary(&self, stamper: &Stamper) -> StampSummary {
        let failed = self.best == Source::Software;
        StampSummary {
            source: stamper.source().map(|_| self.source(stamper)),
            nic: stamper.nic().cloned(),
            refused: stamper.refusal().map(str::to_owned),
            card_failed: failed.then_some((self.trial.asked, self.trial.came)),
            time_of_day: self.time_of_day,
        }
    }
}

/// Compute wire latency from hardware stamps.
fn by_card(row: &mut Row, out: Stamp, last: Segment) -> Wire {
    let back = last.stamp.hardware_ns;
    let wire = match (out.hardware_ns, back) {
        (0, _) => return Wire::WithoutOut,
        (_, 0) => return Wire::WithoutIn,
        (out, back) => between(out, back, row.completed_ns.saturating_sub(row.sent_ns)),
    };
    row.card_wire_ns = wire.unwrap_or(0);
    wire.map_or(Wire::Implausible, |ns| Wire::Known { ns, shared: last.shared })
}

/// Return the time from `out` to `back` in nanoseconds, if it is plausible for a request that took
/// `service_ns`.
fn between(out: u64, back: u64, service_ns: u64) -> Option<u64> {
    back.checked_sub(out).filter(|&wire| wire <= service_ns + SLACK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Place, Status};
    use crate::workload::Kind;

    fn row() -> Row {
        Row {
            scheduled_ns: 1_000,
            sent_ns: 1_000,
            wire_out_ns: 0,
            wire_in_ns: 0,
            card_wire_ns: 0,
            completed_ns: 90_000,
            place: Place::default(),
            kind: Kind::GET,
            status: Status::Hit,
            has_message: false,
            connection: 0,
            endpoint: 0,
            thread: 0,
        }
    }

    fn both(software_ns: u64, hardware_ns: u64) -> Stamp {
        Stamp { software_ns, hardware_ns }
    }

    fn stamping() -> Stamping {
        Stamping::new(3, 2, TimeOfDay::new(0))
    }

    #[test]
    fn every_nth_request_of_captured_connections_is_stamped() {
        let mut stamping = stamping();
        let turns: Vec<bool> = [0, 1, 5, 0, 1, 1, 1].map(|slot| stamping.selects(slot)).to_vec();
        assert_eq!(turns, [false, false, false, true, false, false, true]);
        assert!(!Stamping::new(0, u32::MAX, TimeOfDay::new(0)).selects(0));
    }

    #[test]
    fn a_nic_that_stamped_less_than_half_before_the_measurement_is_not_used() {
        let stamper = Stamper::with_source(Source::Hardware);
        for (came, source) in [(1, Source::Software), (2, Source::Hardware)] {
            let mut stamping = stamping();
            for n in 0..4 {
                let card = if n < came { 20_000 } else { 0 };
                let stamps = (both(5_000, card), Segment { stamp: both(45_000, card * 3), shared: false });
                stamping.wire(&mut row(), stamps, false, &stamper, || 0);
            }
            let stamps = (both(5_000, 20_000), Segment { stamp: both(45_000, 70_000), shared: false });
            let wire = stamping.wire(&mut row(), stamps, true, &stamper, || 0);
            let ns = if source == Source::Hardware { 50_000 } else { 40_000 };
            assert_eq!(wire, Wire::Known { ns, shared: false }, "{came}");
            assert_eq!(stamping.summary(&stamper).source, Some(source));
            assert_eq!(stamping.summary(&stamper).card_failed.is_some(), source == Source::Software);
        }
    }

    #[test]
    fn a_stamp_outside_its_request_triggers_a_new_clock_reading() {
        let (mut stamping, mut row) = (stamping(), row());
        let stamps = (both(3_000_005_000, 0), Segment { stamp: both(3_000_045_000, 0), shared: true });
        let wire =
            stamping.wire(&mut row, stamps, true, &Stamper::with_source(Source::Software), || 3_000_000_000);
        assert_eq!(wire, Wire::Known { ns: 40_000, shared: true });
        assert_eq!((row.wire_out_ns, row.wire_in_ns, stamping.time_of_day.steps), (5_000, 45_000, 1));
    }

    #[test]
    fn implausible_stamps_give_no_latency() {
        for (out, back, service, wire) in [
            (100, 150, 60, Some(50)),
            (100, 100, 60, Some(0)),
            (100, 99, 60, None),
            (100, 100 + 60 + SLACK_NS, 60, Some(60 + SLACK_NS)),
            (100, 101 + 60 + SLACK_NS, 60, None),
        ] {
            assert_eq!(between(out, back, service), wire);
        }
    }
}
