//! A transport that only moves bytes, without stamps.

use std::io;

use hindmost_clock::Nanos;
use serde_json::json;

use super::fake::Fake;
use super::{driven, open, plan, run_through, worker};
use crate::protocol::Memcached;
use crate::transport::{Ready, Source, StampedTransport, Stamper, Transport};

struct Plain(Fake);

impl Transport for Plain {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.0.connect(slot)
    }

    fn finish_connect(&mut self, slot: u32) -> io::Result<()> {
        self.0.finish_connect(slot)
    }

    fn local_port(&self, slot: u32) -> u16 {
        self.0.local_port(slot)
    }

    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(slot, bytes)
    }

    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(slot, into)
    }

    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()> {
        self.0.watch_writes(slot, on)
    }

    fn close(&mut self, slot: u32) {
        self.0.close(slot);
    }

    fn wait(&mut self, timeout: Nanos, expected: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.0.wait(timeout, expected, ready)
    }
}

/// It has no stamps.
impl StampedTransport for Plain {}

#[test]
fn a_transport_without_stamps_sends_the_same_requests_and_reports_no_stamps() {
    let plan = plan(3, &open(5_000), &json!({"stamp_every": 1, "preload": true}));
    let mut fake = Fake::new(3, 100_000);
    fake.breaks = vec![(60_000_000, 1)];
    let clock = fake.clock.clone();
    let mut without = worker::<Memcached, _>(&plan, Plain(fake), clock);
    run_through(&mut without, &plan).unwrap();

    let mut stamping = Fake::new(3, 100_000);
    stamping.breaks = vec![(60_000_000, 1)];
    stamping.stamper = Stamper::with_source(Source::Software);
    let stamped = driven(&plan, stamping);

    assert_eq!(without.transport.0.wire, stamped.fake.wire);
    assert_eq!(without.recorder.kinds[0].counts, stamped.recorder.kinds[0].counts);
    assert!(without.recorder.kinds[0].counts.completed > 400);
    assert_eq!((without.recorder.stamps.requested, without.recorder.stamps.received), (0, 0));
    let summary = without.stamp_summary();
    assert!(summary.source.is_none() && summary.refused.is_some());
}
