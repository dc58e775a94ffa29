//! A trace: a thread that reads what the probes leave.

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

use crate::begun::Begun;
use crate::counts::Counts;
use crate::framing::Framing;
use crate::latency_log::LatencyLog;
use crate::layout::KINDS;
use crate::moments::{Block, Sums};
use crate::probes::{Followed, Probes, Ran, Settings, Told};
use crate::records::Records;
use crate::who::{Joiner, Who};
use crate::TraceError;

/// How often the ring is emptied: 100,000 full records a second fill a quarter of it.
const LOOK: Duration = Duration::from_millis(20);
/// A probe that wrote to a bank when it was closed is done long before (they take microseconds).
const SETTLE: Duration = Duration::from_millis(2);
/// How long the probes stay behind the end of a window at most, in its lengths, for requests that came in it.
const GRACE: u64 = 1;
/// So long before a window packets are stamped.
const STAMPED: Duration = Duration::from_millis(30);
/// How often it is looked whether these are done.
const GRACE_LOOK: Duration = Duration::from_millis(2);
/// The probes' own time is taken afterwards, since taking it costs time as well.
const COSTED: Duration = Duration::from_millis(300);

/// What to trace.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The server's TCP port.
    pub port: u16,
    /// What it speaks.
    pub framing: Framing,
    /// Follow one connection in so many; 1: all.
    pub one_connection_in: u32,
    /// Length of a block of sums, and of a window.
    pub block: Nanos,
    /// Follow all for one block in so many, at random places; the probes are gone in between. 1: all the time.
    pub one_window_in: u32,
    /// Keep one request in so many in full, in this file.
    pub records: Option<(u32, PathBuf)>,
    /// Write one latency in so many, as they come, into this log.
    pub log: Option<(u32, PathBuf)>,
    /// Whether to look at the hand-over of responses where the kernel shows it.
    pub handover: bool,
    /// Whether to follow the scheduler, and say who held the server up.
    pub who: bool,
    /// The function with which the server begins a request (e4); without one, a rule says when.
    pub begun: Option<Begun>,
}

/// What one probe took while that was measured, the measuring included.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "ProbeCost")]
pub struct ProbeCost {
    /// Its program's name.
    pub probe: &'static str,
    /// How often it ran.
    pub runs: u64,
    /// CPU time of all runs, in ns.
    pub ns: u64,
}

/// What the trace itself took.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "TraceCost")]
pub struct Cost {
    /// CPU time of the reading thread, in ns, over the whole trace.
    pub reader_ns: u64,
    /// CPU time of all probes in `costed_requests`, in ns, measured after the trace; the measuring included.
    pub probes_ns: u64,
    /// Requests done meanwhile.
    pub costed_requests: u64,
    /// The same by probe.
    pub probes: Vec<ProbeCost>,
}

/// A finished trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Traced {
    /// When it began: `CLOCK_MONOTONIC`, in ns.
    pub began_ns: u64,
    /// How long it took, in ns.
    pub lasted_ns: u64,
    /// `CLOCK_REALTIME` less the clock of all stamps, in ns, at the end.
    pub realtime_ahead_ns: i64,
    /// How long requests were followed that came new, in ns: less than it lasted where there were windows.
    pub followed_ns: u64,
    /// Whether the hand-over of responses (e5) was seen; else e5 is e6.
    pub handover: bool,
    /// Moments, block by block.
    pub blocks: Vec<Block>,
    /// What became of the requests.
    pub counts: Counts,
    /// Full records in the file.
    pub records: u64,
    /// Who held requests up, where that was asked for.
    pub who: Option<Who>,
    /// Its own cost.
    pub cost: Cost,
}

/// A running trace; dropped, it is gone.
pub struct Tracer {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<Traced, TraceError>>>,
}

impl Tracer {
    /// Loads and attaches the probes.
    ///
    /// # Errors
    /// Where they cannot be had, or the file of records cannot be made.
    pub fn start(asked: &Asked) -> Result<Self, TraceError> {
        let mut probes = Probes::load(Followed {
            port: asked.port,
            framing: asked.framing,
            one_connection_in: asked.one_connection_in,
            handover: asked.handover,
            who: asked.who,
            begun: asked.begun.clone(),
        })?;
        let records = match &asked.records {
            Some((_, path)) => Some(Records::create(path, asked.framing)?),
            None => None,
        };
        let log = match &asked.log {
            Some((_, path)) => Some(LatencyLog::create(path)?),
            None => None,
        };
        let wanted = asked.records.as_ref().or(asked.log.as_ref());
        let every = wanted.map_or(0, |(every, _)| *every);
        // Whoever joins requests to moments needs them all.
        let told = if asked.who { 1 } else { every };
        probes.set(Settings { bank: 0, every: told, since_ns: 0, until_ns: u64::MAX, window: 1 })?;
        if asked.one_window_in == 1 {
            probes.attach()?;
        }
        let reader = Reader {
            probes,
            records,
            log,
            joiner: asked.who.then(Joiner::new),
            framing: asked.framing,
            every: told,
            one_in: if asked.who { every.max(1) } else { 1 },
            requests: 0,
            bank: 0,
            last: Default::default(),
        };
        let (block, one_in) = (asked.block, asked.one_window_in);
        let (end, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("hindmost-trace".to_owned())
            .spawn(move || reader.read(block, one_in, &ended))
            .map_err(TraceError::Thread)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }

    /// Ends it, and says what it saw.
    ///
    /// # Errors
    /// Where the probes' memory or the file of records failed.
    pub fn end(mut self) -> Result<Traced, TraceError> {
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

/// The thread's own.
struct Reader {
    probes: Probes,
    records: Option<Records>,
    log: Option<LatencyLog>,
    joiner: Option<Joiner>,
    framing: Framing,
    /// One request in so many is told.
    every: u32,
    /// One in so many of those is written.
    one_in: u32,
    requests: u64,
    /// Which bank is written; both as they were when last read.
    bank: u32,
    last: [[Sums; KINDS]; 2],
}

impl Reader {
    fn read(mut self, block: Nanos, one_in: u32, ended: &Receiver<()>) -> Result<Traced, TraceError> {
        let began = MonotonicClock.now();
        let blocks = if one_in == 1 {
            self.read_all(began, block, ended)?
        } else {
            self.read_windows(began, block, u64::from(one_in), ended)?
        };
        let lasted_ns = MonotonicClock.now().0 - began.0;
        self.take_records()?;
        let counts = self.probes.counts()?;
        let reader_ns = this_thread::cpu_time_ns();
        let handover = self.probes.handover();
        let cost = Cost { reader_ns, ..self.cost(counts.done)? };
        let records = self.records.map_or(Ok(0), Records::finish)?;
        let who = self.joiner.map(Joiner::finish);
        let followed_ns = blocks.iter().map(Block::length_ns).sum();
        Ok(Traced {
            began_ns: began.0,
            lasted_ns,
            realtime_ahead_ns: MonotonicClock.realtime_ahead(),
            followed_ns,
            handover,
            blocks,
            counts,
            records,
            who,
            cost,
        })
    }

    /// All the time, block after block.
    fn read_all(
        &mut self,
        began: Nanos,
        block: Nanos,
        ended: &Receiver<()>,
    ) -> Result<Vec<Block>, TraceError> {
        let since = || MonotonicClock.now().0 - began.0;
        let mut blocks = Vec::new();
        let mut from = 0;
        loop {
            let end = self.look(Duration::from_nanos((from + block.0).saturating_sub(since())), ended)?;
            if end || since() >= from + block.0 {
                let to = since();
                blocks.push(Block::of(from, to, self.framing, &self.turn(self.settings(1))?));
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

    /// A window somewhere in each stretch of so many: at random places, so that nothing periodic is met always or never.
    fn read_windows(
        &mut self,
        began: Nanos,
        block: Nanos,
        one_in: u64,
        ended: &Receiver<()>,
    ) -> Result<Vec<Block>, TraceError> {
        let since = || MonotonicClock.now().0 - began.0;
        let mut blocks = Vec::new();
        // Open for ever: those of windows before.
        let mut open = 0;
        for window in 0.. {
            let offset = Draws::of(began.0, window).unit(0) * ((one_in - 1) * block.0) as f64;
            let start = window * one_in * block.0 + offset as u64;
            if self.pass(began.0 + start, ended)? {
                break;
            }
            self.probes.stamp()?;
            if self.pass(MonotonicClock.now().0 + STAMPED.as_nanos() as u64, ended)? {
                break;
            }
            let mut settings = self.settings(window as u32 + 1);
            self.probes.set(Settings { until_ns: 0, ..settings })?;
            self.probes.attach()?;
            let from = since();
            let until_ns = began.0 + from + block.0;
            settings.since_ns = began.0 + from;
            settings.until_ns = until_ns;
            self.probes.set(settings)?;
            let end = self.pass(until_ns, ended)?;
            let to = since().min(from + block.0);
            // Cut short, it takes no more either.
            settings.until_ns = began.0 + to;
            self.probes.set(settings)?;
            self.finish_window(open, until_ns + GRACE * block.0)?;
            self.probes.follow_batches()?;
            self.probes.detach()?;
            self.probes.forget()?;
            self.take_records()?;
            self.joiner.iter_mut().for_each(Joiner::next_window);
            open = self.probes.counts()?.open();
            blocks.push(Block::of(from, to, self.framing, &self.turn(settings)?));
            if end {
                break;
            }
        }
        Ok(blocks)
    }

    /// Requests that came in the window are followed to their end, or a long one would seem rarer than it is.
    fn finish_window(&mut self, open: u64, latest: u64) -> Result<(), TraceError> {
        while self.probes.counts()?.open() > open && MonotonicClock.now().0 < latest {
            std::thread::sleep(GRACE_LOOK);
            self.take_records()?;
        }
        Ok(())
    }

    /// Lets time pass until then; whether the trace is to end.
    fn pass(&mut self, until_ns: u64, ended: &Receiver<()>) -> Result<bool, TraceError> {
        loop {
            let left = until_ns.saturating_sub(MonotonicClock.now().0);
            if left == 0 {
                return Ok(false);
            }
            if self.look(Duration::from_nanos(left), ended)? {
                return Ok(true);
            }
        }
    }

    /// Waits a while, not longer than `left`, and takes what was told; whether the trace is to end.
    fn look(&mut self, left: Duration, ended: &Receiver<()>) -> Result<bool, TraceError> {
        let end = ended.recv_timeout(left.min(LOOK)) != Err(RecvTimeoutError::Timeout);
        self.take_records()?;
        if let Some(log) = &mut self.log {
            log.flush()?;
        }
        Ok(end)
    }

    /// All requests from now on, into the present bank.
    fn settings(&self, window: u32) -> Settings {
        Settings { bank: self.bank, every: self.every, since_ns: 0, until_ns: u64::MAX, window }
    }

    /// Lets the probes write to the other bank, and says what the present one got.
    fn turn(&mut self, settings: Settings) -> Result<[Sums; KINDS], TraceError> {
        let bank = self.bank;
        self.bank = 1 - bank;
        self.probes.set(Settings { bank: self.bank, ..settings })?;
        std::thread::sleep(SETTLE);
        let now = self.probes.sums(bank)?;
        let before = std::mem::replace(&mut self.last[bank as usize], now.clone());
        Ok(std::array::from_fn(|kind| now[kind].since(&before[kind])))
    }

    /// All that was told up to now: whatever comes meanwhile could go on for ever on a busy host.
    fn take_records(&mut self) -> Result<(), TraceError> {
        let now = MonotonicClock.now().0;
        while let Some(told) = self.probes.next_told() {
            let record = match told {
                Told::Moment(moment) => {
                    self.joiner.iter_mut().for_each(|joiner| joiner.moment(&moment));
                    if moment.at > now {
                        return Ok(());
                    }
                    continue;
                }
                Told::Request(record) => record,
            };
            self.joiner.iter_mut().for_each(|joiner| joiner.request(&record));
            if self.requests % u64::from(self.one_in) == 0 {
                if let Some(records) = &mut self.records {
                    records.add(record)?;
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

    /// What the probes take, measured for a while; nothing of the reader's.
    fn cost(&mut self, done: u64) -> Result<Cost, TraceError> {
        if done == 0 {
            return Ok(Cost::default());
        }
        let Ok(_timed) = aya::sys::enable_stats(Stats::RunTime) else { return Ok(Cost::default()) };
        self.probes.set(self.settings(u32::MAX))?;
        self.probes.attach()?;
        let before = self.probes.ran();
        let done = self.probes.counts()?.done.max(done);
        std::thread::sleep(COSTED);
        let probes: Vec<_> = (self.probes.ran().iter().zip(&before))
            .map(|(now, then): (&Ran, &Ran)| ProbeCost {
                probe: now.name,
                runs: now.runs - then.runs,
                ns: now.ns - then.ns,
            })
            .collect();
        Ok(Cost {
            reader_ns: 0,
            probes_ns: probes.iter().map(|one| one.ns).sum(),
            costed_requests: self.probes.counts()?.done - done,
            probes,
        })
    }
}
