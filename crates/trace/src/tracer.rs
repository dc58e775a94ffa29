//! A trace: a thread that reads the output of the probes.

use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use aya::sys::Stats;
use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_random::Draws;
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use crate::counts::Counts;
use crate::delays::{Delays, Joiner};
use crate::framing::Framing;
use crate::latency_log::LatencyLog;
use crate::layout::KINDS;
use crate::moments::{Block, Sums};
use crate::probes::{ProbeConfig, ProbeRuns, Probes, RingEntry, Settings};
use crate::profile::{Profile, ProfileSummary, Waits};
use crate::records::Records;
use crate::request_start::RequestStart;
use crate::TraceError;

/// How often the ring buffer is emptied: 100,000 full records per second fill a quarter of it in that time.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Wait for probes that still write to a closed bank; they take microseconds.
const BANK_DELAY: Duration = Duration::from_millis(2);
/// Longest time that the probes stay attached after a window to follow its requests to their end: the slowest would
/// be missing otherwise. If some did not end in that time, the next window waits for its own length only, so that
/// requests that wait for an event do not keep the probes attached.
const GRACE: Duration = Duration::from_secs(1);
/// How long before a window packets are stamped.
const STAMP_LEAD: Duration = Duration::from_millis(30);
/// How often the end of these requests is checked.
const GRACE_INTERVAL: Duration = Duration::from_millis(2);
/// Shortest and longest duration of the measurement of the probes' run time; in between, a hundredth of the trace's. It
/// happens after the trace, because it costs time itself.
const COST_DURATION: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(300)];

/// Parameters of a trace.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// TCP port of the server.
    pub port: u16,
    /// Protocol of the server.
    pub framing: Framing,
    /// Follow one connection in this many; 1: all.
    pub one_connection_in: u32,
    /// Length of a block of sums, and of a window.
    pub block: Nanos,
    /// Follow all connections for one block in this many, at random times, and detach the probes in between; 1: all
    /// the time.
    pub one_window_in: u32,
    /// Write every n-th request in full to this file.
    pub records: Option<(u32, PathBuf)>,
    /// Write every n-th latency to this log at once.
    pub log: Option<(u32, PathBuf)>,
    /// Whether to trace the hand-over of responses if the kernel shows it.
    pub handover: bool,
    /// Whether to follow the scheduler and find out what delays the server.
    pub follow_scheduler: bool,
    /// The function that starts a request in the server (e4). Without it, a rule estimates e4.
    pub request_start: Option<RequestStart>,
}

/// Run time of one probe, measured after the trace; it includes the cost of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "ProbeCost")]
pub struct ProbeCost {
    /// Name of its program.
    pub probe: &'static str,
    /// Number of runs.
    pub runs: u64,
    /// CPU time of all runs in ns.
    pub ns: u64,
}

/// Cost of the trace itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "TraceCost")]
pub struct Cost {
    /// CPU time of the reading thread during the whole trace, in ns.
    pub reader_ns: u64,
    /// How long the probes were attached, in ns.
    pub attached_ns: u64,
    /// CPU time of all probes during `costed_requests`, in ns, measured after the trace; it includes the cost of the
    /// measurement.
    pub probes_ns: u64,
    /// Requests completed during the measurement.
    pub costed_requests: u64,
    /// The same by probe.
    pub probes: Vec<ProbeCost>,
}

/// A finished trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceSummary {
    /// Start of the trace (`CLOCK_MONOTONIC`) in ns.
    pub began_ns: u64,
    /// Duration in ns.
    pub lasted_ns: u64,
    /// `CLOCK_REALTIME` minus the clock of all stamps at the end, in ns.
    pub realtime_ahead_ns: i64,
    /// Total length of the blocks in ns; less than the duration if there were windows.
    pub followed_ns: u64,
    /// Whether the hand-over of responses (e5) was traced; otherwise e5 equals e6.
    pub handover: bool,
    /// Moments of the stages, by block.
    pub blocks: Vec<Block>,
    /// Counts of requests and losses.
    pub counts: Counts,
    /// Full records in the file.
    pub records: u64,
    /// Causes of delay, if requested.
    pub who: Option<Delays>,
    /// What the slowest requests executed, if causes were requested and the kernel permits sampling.
    pub profile: Option<ProfileSummary>,
    /// Why the kernel did not permit sampling.
    pub profile_fault: Option<String>,
    /// Where the slowest requests waited, if causes were requested.
    pub waits: Option<ProfileSummary>,
    /// Cost of the trace.
    pub cost: Cost,
}

/// A running trace, removed when dropped.
pub struct Tracer {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<TraceSummary, TraceError>>>,
}

impl Tracer {
    /// Load and attach the probes.
    ///
    /// # Errors
    /// If the probes cannot be loaded, or the file of records cannot be created.
    pub fn start(request: &TraceRequest) -> Result<Self, TraceError> {
        let mut probes = Probes::load(ProbeConfig {
            port: request.port,
            framing: request.framing,
            one_connection_in: request.one_connection_in,
            handover: request.handover,
            follow_scheduler: request.follow_scheduler,
            keep_heads: request.records.is_some() && request.framing != Framing::Exchange,
            request_start: request.request_start.clone(),
        })?;
        let records = match &request.records {
            Some((_, path)) => Some(Records::create(path, request.framing)?),
            None => None,
        };
        let log = match &request.log {
            Some((_, path)) => Some(LatencyLog::create(path)?),
            None => None,
        };
        let (profile, profile_fault) = match request.follow_scheduler.then(Profile::open) {
            Some(Ok(profile)) => (Some(profile), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        let output = request.records.as_ref().or(request.log.as_ref());
        let every = output.map_or(0, |(every, _)| *every);
        // Joining requests with scheduler events needs all requests.
        let recorded = if request.follow_scheduler { 1 } else { every };
        probes.set(Settings { bank: 0, every: recorded, since_ns: 0, until_ns: u64::MAX, window: 1 })?;
        let mut reader = Reader {
            probes,
            profile,
            profile_fault,
            records,
            log,
            joiner: request.follow_scheduler.then(Joiner::new),
            waits: request.follow_scheduler.then(Waits::default),
            framing: request.framing,
            every: recorded,
            one_in: if request.follow_scheduler { every.max(1) } else { 1 },
            requests: 0,
            attached_since: None,
            attached_ns: 0,
            bank: 0,
            last: Default::default(),
        };
        let (block, one_in) = (request.block, request.one_window_in);
        if one_in == 1 {
            reader.attach()?;
        }
        let (end, end_signal) = channel();
        let thread = std::thread::Builder::new()
            .name("hindmost-trace".to_owned())
            .spawn(move || reader.read(block, one_in, &end_signal))
            .map_err(TraceError::Thread)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }

    /// End the trace, and return its summary.
    ///
    /// # Errors
    /// If the probes' maps or the file of records failed.
    pub fn end(mut self) -> Result<TraceSummary, TraceError> {
        self.end = None;
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Err(TraceError::Thread(std::io::ErrorKind::NotFound.into())),
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the reading thread.
struct Reader {
    probes: Probes,
    profile: Option<Profile>,
    profile_fault: Option<String>,
    records: Option<Records>,
    log: Option<LatencyLog>,
    joiner: Option<Joiner>,
    waits: Option<Waits>,
    framing: Framing,
    /// The probes record every n-th request.
    every: u32,
    /// Every n-th of those is written.
    one_in: u32,
    requests: u64,
    /// When the probes were last attached, and how long they were before that.
    attached_since: Option<Nanos>,
    attached_ns: u64,
    /// The bank that the probes write, and both banks as last read.
    bank: u32,
    last: [[Sums; KINDS]; 2],
}

impl Reader {
    fn read(
        mut self,
        block: Nanos,
        one_in: u32,
        end_signal: &Receiver<()>,
    ) -> Result<TraceSummary, TraceError> {
        let start = MonotonicClock.now();
        let blocks = if one_in == 1 {
            self.read_all(start, block, end_signal)?
        } else {
            self.read_windows(start, block, u64::from(one_in), end_signal)?
        };
        let lasted_ns = MonotonicClock.now().0 - start.0;
        self.count_attached();
        self.read_ring()?;
        let counts = self.probes.counts()?;
        let reader_ns = this_thread::cpu_time_ns();
        let handover = self.probes.handover();
        let attached_ns = self.attached_ns;
        let cost_duration = Duration::from_nanos(lasted_ns / 100).clamp(COST_DURATION[0], COST_DURATION[1]);
        let cost = Cost { reader_ns, attached_ns, ..self.cost(counts.done, cost_duration)? };
        let records = self.records.map_or(Ok(0), Records::finish)?;
        let delays = self.joiner.map(Joiner::finish);
        let followed_ns = blocks.iter().map(Block::length_ns).sum();
        Ok(TraceSummary {
            began_ns: start.0,
            lasted_ns,
            realtime_ahead_ns: MonotonicClock.realtime_ahead(),
            followed_ns,
            handover,
            blocks,
            counts,
            records,
            who: delays,
            profile: self.profile.map(Profile::finish),
            profile_fault: self.profile_fault,
            waits: self.waits.map(Waits::finish),
            cost,
        })
    }

    /// Attach the probes, and start to sample.
    fn attach(&mut self) -> Result<(), TraceError> {
        if let Some(Err(error)) = self.profile.as_ref().map(Profile::start) {
            self.profile = None;
            self.profile_fault = Some(error.to_string());
        }
        self.attached_since = Some(MonotonicClock.now());
        self.probes.attach()
    }

    /// Detach the probes, and stop sampling.
    fn detach(&mut self) -> Result<(), TraceError> {
        if let Some(Err(error)) = self.profile.as_ref().map(Profile::stop) {
            self.profile = None;
            self.profile_fault = Some(error.to_string());
        }
        self.probes.detach()?;
        self.count_attached();
        Ok(())
    }

    /// Add the time since the probes were attached.
    fn count_attached(&mut self) {
        let now = MonotonicClock.now().0;
        self.attached_ns += self.attached_since.take().map_or(0, |since| now - since.0);
    }

    /// Trace all the time, block by block.
    fn read_all(
        &mut self,
        start: Nanos,
        block: Nanos,
        end_signal: &Receiver<()>,
    ) -> Result<Vec<Block>, TraceError> {
        let elapsed_ns = || MonotonicClock.now().0 - start.0;
        let mut blocks = Vec::new();
        let mut from = 0;
        loop {
            let end =
                self.poll(Duration::from_nanos((from + block.0).saturating_sub(elapsed_ns())), end_signal)?;
            if end || elapsed_ns() >= from + block.0 {
                let to = elapsed_ns();
                blocks.push(Block::new(from, to, self.framing, &self.switch_banks(self.settings(1))?));
                from = to;
                self.probes.follow_batches()?;
                if let (Some(joiner), false) = (&mut self.joiner, end) {
                    joiner.next_block();
                }
            }
            if end {
                return Ok(blocks);
            }
        }
    }

    /// Trace one window in each stretch of `one_in` blocks, at a random place, so that periodic events are neither
    /// always nor never met.
    fn read_windows(
        &mut self,
        start: Nanos,
        block: Nanos,
        one_in: u64,
        end_signal: &Receiver<()>,
    ) -> Result<Vec<Block>, TraceError> {
        let elapsed_ns = || MonotonicClock.now().0 - start.0;
        let mut blocks = Vec::new();
        // Requests of earlier windows that never completed.
        let mut open = 0;
        let mut grace_ns = GRACE.as_nanos() as u64;
        for window in 0.. {
            let offset = Draws::new(start.0, window).unit(0) * ((one_in - 1) * block.0) as f64;
            let window_start = window * one_in * block.0 + offset as u64;
            if self.wait_until(start.0 + window_start, end_signal)? {
                break;
            }
            self.probes.stamp()?;
            if self.wait_until(MonotonicClock.now().0 + STAMP_LEAD.as_nanos() as u64, end_signal)? {
                break;
            }
            let mut settings = self.settings(window as u32 + 1);
            self.probes.set(Settings { until_ns: 0, ..settings })?;
            self.attach()?;
            let from = elapsed_ns();
            let until_ns = start.0 + from + block.0;
            settings.since_ns = start.0 + from;
            settings.until_ns = until_ns;
            self.probes.set(settings)?;
            let end = self.wait_until(until_ns, end_signal)?;
            let to = elapsed_ns().min(from + block.0);
            // A shortened window must not take requests after its end either.
            settings.until_ns = start.0 + to;
            self.probes.set(settings)?;
            let complete = self.finish_window(open, until_ns + grace_ns)?;
            grace_ns = if complete { GRACE.as_nanos() as u64 } else { block.0 };
            self.probes.follow_batches()?;
            self.detach()?;
            self.probes.clear_processors()?;
            self.read_ring()?;
            self.joiner.iter_mut().for_each(Joiner::next_window);
            self.waits.iter_mut().for_each(Waits::forget_states);
            open = self.probes.counts()?.open();
            blocks.push(Block::new(from, to, self.framing, &self.switch_banks(settings)?));
            if end {
                break;
            }
        }
        Ok(blocks)
    }

    /// Follow the requests of a window to their end: otherwise long ones would be under-represented. Return whether
    /// all have ended.
    fn finish_window(&mut self, open: u64, latest: u64) -> Result<bool, TraceError> {
        while self.probes.counts()?.open() > open {
            if MonotonicClock.now().0 >= latest {
                return Ok(false);
            }
            std::thread::sleep(GRACE_INTERVAL);
            self.read_ring()?;
        }
        Ok(true)
    }

    /// Wait until a time. Return whether the trace is to end.
    fn wait_until(&mut self, until_ns: u64, end_signal: &Receiver<()>) -> Result<bool, TraceError> {
        loop {
            let left = until_ns.saturating_sub(MonotonicClock.now().0);
            if left == 0 {
                return Ok(false);
            }
            if self.poll(Duration::from_nanos(left), end_signal)? {
                return Ok(true);
            }
        }
    }

    /// Wait for at most `left`, and process the ring buffer. Return whether the trace is to end.
    fn poll(&mut self, left: Duration, end_signal: &Receiver<()>) -> Result<bool, TraceError> {
        let end = end_signal.recv_timeout(left.min(POLL_INTERVAL)) != Err(RecvTimeoutError::Timeout);
        self.read_ring()?;
        if let Some(log) = &mut self.log {
            log.flush()?;
        }
        Ok(end)
    }

    /// Return settings for all requests from now on, in the current bank.
    fn settings(&self, window: u32) -> Settings {
        Settings { bank: self.bank, every: self.every, since_ns: 0, until_ns: u64::MAX, window }
    }

    /// Switch the probes to the other bank, and return the growth of the current one.
    fn switch_banks(&mut self, settings: Settings) -> Result<[Sums; KINDS], TraceError> {
        let bank = self.bank;
        self.bank = 1 - bank;
        self.probes.set(Settings { bank: self.bank, ..settings })?;
        std::thread::sleep(BANK_DELAY);
        let now = self.probes.sums(bank)?;
        let before = std::mem::replace(&mut self.last[bank as usize], now.clone());
        Ok(std::array::from_fn(|kind| now[kind].since(&before[kind])))
    }

    /// Process all entries up to now, then the samples: those of these requests were taken before.
    fn read_ring(&mut self) -> Result<(), TraceError> {
        self.read_entries()?;
        self.profile.iter_mut().for_each(Profile::join_pending);
        self.waits.iter_mut().for_each(Waits::clean);
        Ok(())
    }

    /// Process all entries up to now: on a busy host, new ones could keep coming forever.
    fn read_entries(&mut self) -> Result<(), TraceError> {
        let now = MonotonicClock.now().0;
        while let Some(entry) = self.probes.next_entry() {
            let (record, head) = match entry {
                RingEntry::Event(event) => {
                    self.joiner.iter_mut().for_each(|joiner| joiner.event(&event));
                    let stack = |number| self.probes.stack(number);
                    self.waits.iter_mut().for_each(|waits| waits.add_event(&event, stack));
                    if event.at > now {
                        return Ok(());
                    }
                    continue;
                }
                RingEntry::Request(record, head) => (record, head),
            };
            self.joiner.iter_mut().for_each(|joiner| joiner.request(&record));
            self.waits.iter_mut().for_each(|waits| waits.add_request(&record));
            self.profile.iter_mut().for_each(|profile| profile.add_request(record));
            if self.requests % u64::from(self.one_in) == 0 {
                if let Some(records) = &mut self.records {
                    records.add(record, head)?;
                }
                if let Some(log) = &mut self.log {
                    log.add(&record)?;
                }
            }
            self.requests += 1;
            if record.e[5] > now {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Measure the cost of the probes for a while; the reader's cost is not included.
    fn cost(&mut self, done: u64, duration: Duration) -> Result<Cost, TraceError> {
        if done == 0 {
            return Ok(Cost::default());
        }
        let Ok(_stats) = aya::sys::enable_stats(Stats::RunTime) else { return Ok(Cost::default()) };
        self.probes.set(self.settings(u32::MAX))?;
        self.probes.attach()?;
        let before = self.probes.run_counts();
        let done = self.probes.counts()?.done.max(done);
        std::thread::sleep(duration);
        let mut probes: Vec<_> = (self.probes.run_counts().iter().zip(&before))
            .map(|(now, then): (&ProbeRuns, &ProbeRuns)| ProbeCost {
                probe: now.name,
                runs: now.runs - then.runs,
                ns: now.ns - then.ns,
            })
            .collect();
        let costed_requests = self.probes.counts()?.done - done;
        probes.extend(self.profile.as_mut().and_then(|profile| profile.cost(duration).ok()));
        let probes_ns = probes.iter().map(|one| one.ns).sum();
        Ok(Cost { probes_ns, costed_requests, probes, ..Cost::default() })
    }
}
