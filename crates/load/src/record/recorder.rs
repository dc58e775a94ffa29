//! The recorder of one worker, which records requests without allocation.

use hindmost_clock::Nanos;
use hindmost_histogram::{Histogram, UniformSample, Worst};
use hindmost_plan::Keep;
use rand::Rng;

use super::records::SECTIONS;
use super::{
    Connects, EndpointRecord, Gaps, KindRecord, LiveCounters, MessageRecord, Messages, Row, SessionRecord,
    StampCounts, Status, Wire, WireRecord,
};
use crate::protocol::CODES;
use crate::random::Random;
use crate::transport::Handshake;
use crate::workload::Kind;

/// Records of one worker in a run.
pub struct Recorder {
    /// Records by kind.
    pub kinds: Vec<KindRecord>,
    /// Number of this worker's outstanding requests at the arrival of each new request.
    pub outstanding: Histogram,
    /// Latencies of the calibration phase.
    pub calibration: Histogram,
    /// Send delays that write calls alone would cause in an open loop.
    pub ideal_send_delay: Histogram,
    /// Times that requests were held for their batches.
    pub held: Histogram,
    /// Requests per write call.
    pub writes: Histogram,
    /// Times to connect, of attempts started in the measurement.
    pub connect: Histogram,
    /// Times of the TLS handshakes that follow.
    pub handshake: Histogram,
    /// Counts of connection attempts.
    pub connects: Connects,
    /// Records by server, if there are several.
    pub endpoints: Vec<EndpointRecord>,
    /// Gaps between sends.
    pub gaps: Gaps,
    /// Gaps between scheduled times, if their arrival law is not known.
    pub scheduled_gaps: Option<Gaps>,
    /// Sessions, if the requests form any; set after the load.
    pub sessions: Option<SessionRecord>,
    /// Counts of stamps.
    pub stamps: StampCounts,
    /// The uniform sample.
    pub sample: UniformSample<Row>,
    /// The slowest requests. Requests without an answer rank as slowest.
    pub worst: Worst<Row>,
    /// Counters that another process reads during the load.
    live: Option<LiveCounters>,
    random: Random,
    /// Number of first connections whose requests are sampled; `u32::MAX` for all.
    sampled_connections: u32,
    measure_from: u64,
    measure_to: u64,
    section_ns: u64,
}

impl Recorder {
    /// Create a recorder for `kinds` kinds of requests, and map all memory it will use.
    pub fn new(kinds: usize, keep: Keep, random: Random) -> Self {
        let mut recorder = Self {
            kinds: (0..kinds)
                .map(|_| KindRecord { codes: vec![0; CODES], ..KindRecord::default() })
                .collect(),
            outstanding: Histogram::new(),
            calibration: Histogram::new(),
            ideal_send_delay: Histogram::new(),
            held: Histogram::new(),
            writes: Histogram::new(),
            connect: Histogram::new(),
            handshake: Histogram::new(),
            connects: Connects::default(),
            endpoints: Vec::new(),
            gaps: Gaps::default(),
            scheduled_gaps: None,
            sessions: None,
            stamps: StampCounts::default(),
            sample: UniformSample::new(keep.samples as usize),
            worst: Worst::new(keep.worst as usize),
            live: None,
            random,
            sampled_connections: u32::MAX,
            measure_from: u64::MAX,
            measure_to: u64::MAX,
            section_ns: u64::MAX,
        };
        if cfg!(fuzzing) {
            // A fuzz target makes a thousand runs per second and times nothing.
            return recorder;
        }
        for kind in &mut recorder.kinds {
            let WireRecord { wire, overhead } = &mut kind.stamped;
            let histograms = [&mut kind.service, &mut kind.send_delay, wire, overhead];
            kind.latency.iter_mut().chain(histograms).for_each(Histogram::prefault);
        }
        recorder.outstanding.prefault();
        recorder.calibration.prefault();
        recorder.ideal_send_delay.prefault();
        recorder.held.prefault();
        recorder.writes.prefault();
        recorder.connect.prefault();
        recorder.handshake.prefault();
        recorder
    }

    /// Return the memory of the histograms of a recorder for `kinds` kinds, in bytes, with those of `messages`
    /// or without.
    pub fn histogram_bytes(kinds: usize, messages: bool) -> usize {
        // For each kind: its sections, service, send delay, wire and overhead; first messages and their gaps.
        // Shared: outstanding, calibration, ideal send delay, held, writes, connect, handshake, gaps,
        // scheduled gaps.
        (kinds * (SECTIONS + 4 + 2 * usize::from(messages)) + 9) * Histogram::BYTES
    }

    /// Sample only requests of the first `count` connections. `u32::MAX` samples all, including requests
    /// without a connection.
    pub fn sample_connections(&mut self, count: u32) {
        self.sampled_connections = count;
    }

    /// Keep separate records for each of several servers.
    pub fn keep_endpoints(&mut self, count: usize) {
        self.endpoints = vec![EndpointRecord::default(); if count > 1 { count } else { 0 }];
        self.endpoints.iter_mut().for_each(|one| one.latency.prefault());
    }

    /// Also keep the messages of streamed replies.
    pub fn keep_messages(&mut self) {
        self.kinds.iter_mut().for_each(|kind| kind.messages = Some(MessageRecord::new()));
    }

    /// Also count requests of all phases where another process reads them.
    pub fn keep_live(&mut self, live: LiveCounters) {
        self.live = Some(live);
    }

    /// Also keep the gaps between scheduled times.
    pub fn keep_scheduled_gaps(&mut self) {
        self.scheduled_gaps = Some(Gaps::default());
    }

    /// Set the measurement phase. Requests scheduled in `[from, to)` are recorded.
    pub fn set_measurement(&mut self, from: Nanos, to: Nanos) {
        self.measure_from = from.0;
        self.measure_to = to.0;
        self.gaps.begin(from);
        if let Some(scheduled) = &mut self.scheduled_gaps {
            scheduled.begin(from);
        }
        self.section_ns = ((to.0 - from.0) / SECTIONS as u64).max(1);
    }

    /// Add the records of another worker of the same client.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.merge(theirs);
        }
        self.outstanding.merge(&other.outstanding);
        self.calibration.merge(&other.calibration);
        self.ideal_send_delay.merge(&other.ideal_send_delay);
        self.held.merge(&other.held);
        self.writes.merge(&other.writes);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.connects.add(&other.connects);
        for (mine, theirs) in self.endpoints.iter_mut().zip(&other.endpoints) {
            mine.counts.add(&theirs.counts);
            mine.latency.merge(&theirs.latency);
        }
        self.gaps.merge(&other.gaps);
        if let (Some(mine), Some(theirs)) = (&mut self.scheduled_gaps, &other.scheduled_gaps) {
            mine.merge(theirs);
        }
        if let Some(theirs) = &other.sessions {
            self.sessions.get_or_insert_with(SessionRecord::default).merge(theirs);
        }
        self.stamps.add(&other.stamps);
        self.sample.merge(&other.sample);
        self.worst.merge(&other.worst);
    }

    #[inline]
    fn is_measured(&self, scheduled_ns: u64) -> bool {
        scheduled_ns >= self.measure_from && scheduled_ns < self.measure_to
    }

    #[inline]
    fn section(&self, scheduled_ns: u64) -> usize {
        (((scheduled_ns - self.measure_from) / self.section_ns) as usize).min(SECTIONS - 1)
    }

    /// Record a request that was sent `send_delay_ns` late. In an open loop, an ideal client would have sent it
    /// `ideal_ns` late. Return whether the request is measured.
    #[inline]
    pub fn record_send(
        &mut self,
        kind: Kind,
        scheduled_ns: u64,
        send_delay_ns: u64,
        ideal_ns: Option<u64>,
    ) -> bool {
        if let Some(live) = &self.live {
            live.count_sent();
        }
        let measured = self.is_measured(scheduled_ns);
        if measured {
            self.kinds[usize::from(kind.0)].send_delay.record(send_delay_ns);
            if let Some(ideal_ns) = ideal_ns {
                self.ideal_send_delay.record(ideal_ns);
            }
        }
        measured
    }

    /// Record that a scheduled request was sent, or put into its batch, at `at_ns`. Call in the order of
    /// sends.
    #[inline]
    pub fn record_gap(&mut self, scheduled_ns: u64, at_ns: u64) {
        if self.is_measured(scheduled_ns) {
            self.gaps.record_send(at_ns, self.random.next_u64());
        }
    }

    /// Record that a request was held for its batch until `until_ns`.
    #[inline]
    pub fn record_hold(&mut self, scheduled_ns: u64, until_ns: u64) {
        if self.is_measured(scheduled_ns) {
            self.held.record(until_ns - scheduled_ns);
        }
    }

    /// Record a write call with `requests` requests, the first of which was scheduled at `scheduled_ns`.
    #[inline]
    pub fn record_write(&mut self, scheduled_ns: u64, requests: u64) {
        if self.is_measured(scheduled_ns) {
            self.writes.record(requests);
        }
    }

    /// Record a scheduled request, whatever its outcome. Call in scheduled order.
    #[inline]
    pub fn record_scheduled(&mut self, scheduled_ns: u64) {
        if self.is_measured(scheduled_ns) {
            if let Some(gaps) = &mut self.scheduled_gaps {
                gaps.record(scheduled_ns);
            }
        }
    }

    /// Record that a request found `others` outstanding requests of this worker.
    #[inline]
    pub fn record_outstanding(&mut self, scheduled_ns: u64, others: u64) {
        if self.is_measured(scheduled_ns) {
            self.outstanding.record(others);
        }
    }

    /// Record a connection opened in `took_ns`. `at_ns` is the scheduled time of its request, or else the
    /// start of the attempt.
    pub fn record_connect(&mut self, at_ns: u64, took_ns: u64) {
        self.connects.all += 1;
        if self.is_measured(at_ns) {
            self.connects.made += 1;
            self.connect.record(took_ns);
        }
    }

    /// Record the TLS handshake that followed, of `took_ns`.
    pub fn record_handshake(&mut self, at_ns: u64, took_ns: u64, handshake: Handshake) {
        self.connects.count_handshake(handshake);
        if self.is_measured(at_ns) {
            self.handshake.record(took_ns);
        }
    }

    /// Record a failed connection attempt.
    pub fn record_refusal(&mut self, at_ns: u64) {
        self.connects.failed += u64::from(self.is_measured(at_ns));
    }

    /// Record the status code of a reply within the timeout, for a request of `kind` scheduled at `scheduled_ns`.
    #[inline]
    pub fn record_code(&mut self, kind: Kind, scheduled_ns: u64, code: u16) {
        if self.is_measured(scheduled_ns) {
            if let Some(count) = self.kinds[usize::from(kind.0)].codes.get_mut(usize::from(code)) {
                *count += 1;
            }
        }
    }

    /// Record messages of the reply to a request of `kind` scheduled at `scheduled_ns`.
    #[inline]
    pub fn record_messages(&mut self, kind: Kind, scheduled_ns: u64, messages: Messages) {
        if self.is_measured(scheduled_ns) {
            if let Some(record) = &mut self.kinds[usize::from(kind.0)].messages {
                record.record(scheduled_ns, messages);
            }
        }
    }

    /// Record a latency of the calibration phase.
    #[inline]
    pub fn record_calibration(&mut self, latency_ns: u64) {
        self.calibration.record(latency_ns);
    }

    /// Record the end of a request that was to be stamped. If stamping works (`are`), a timeout is censored
    /// in wire latency too. An error reply has no wire latency.
    pub fn record_stamped(&mut self, row: Row, wire: Wire, are: bool) {
        if self.is_measured(row.scheduled_ns) {
            let stamped = &mut self.kinds[usize::from(row.kind.0)].stamped;
            match row.status {
                Status::Hit | Status::Miss => {
                    self.stamps.count(wire);
                    if let Wire::Known { ns, .. } = wire {
                        stamped.wire.record(ns);
                        stamped.overhead.record((row.completed_ns - row.sent_ns).saturating_sub(ns));
                    }
                }
                Status::Timeout if are => stamped.wire.add_censored(1),
                Status::Timeout | Status::Error | Status::Lost | Status::Unsent => {}
            }
        }
        self.record(row);
    }

    /// Record the end of a request with `row.status`. Only requests scheduled in the measurement phase count.
    #[inline]
    pub fn record(&mut self, row: Row) {
        if let Some(live) = &self.live {
            live.count(&row);
        }
        if !self.is_measured(row.scheduled_ns) {
            return;
        }
        let section = self.section(row.scheduled_ns);
        let record = &mut self.kinds[usize::from(row.kind.0)];
        record.counts.count(row.status);
        if let Some(messages) = &mut record.messages {
            messages.record_end(&row);
        }
        if let Some(endpoint) = self.endpoints.get_mut(usize::from(row.endpoint)) {
            endpoint.record(&row);
        }
        let rank = match row.status {
            Status::Hit | Status::Miss => {
                let latency = row.completed_ns - row.scheduled_ns;
                record.latency[section].record(latency);
                record.service.record(row.completed_ns - row.sent_ns);
                Some(latency)
            }
            Status::Error | Status::Lost => None,
            Status::Timeout => {
                record.latency[section].add_censored(1);
                record.service.add_censored(1);
                Some(u64::MAX)
            }
            Status::Unsent => {
                record.latency[section].add_censored(1);
                record.send_delay.add_censored(1);
                Some(u64::MAX)
            }
        };
        if self.sampled_connections == u32::MAX || row.connection < self.sampled_connections {
            self.sample.offer(self.random.next_u64(), row);
        }
        if let Some(rank) = rank {
            self.worst.offer(rank, row);
        }
    }
}
