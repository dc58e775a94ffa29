//! A trace: a thread that reads what the probes leave.

use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use aya::sys::Stats;
use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use crate::counts::Counts;
use crate::framing::Framing;
use crate::latency_log::LatencyLog;
use crate::layout::KINDS;
use crate::moments::{Block, Sums};
use crate::probes::{Followed, Probes, Told};
use crate::records::Records;
use crate::who::{Joiner, Who};
use crate::TraceError;

/// How often the ring is emptied: 100,000 full records a second fill a quarter of it.
const LOOK: Duration = Duration::from_millis(20);
/// A probe that wrote to a bank when it was closed is done long before (they take microseconds).
const SETTLE: Duration = Duration::from_millis(2);
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
    /// Length of a block of sums.
    pub block: Nanos,
    /// Keep one request in so many in full, in this file.
    pub records: Option<(u32, PathBuf)>,
    /// Write one latency in so many, as they come, into this log.
    pub log: Option<(u32, PathBuf)>,
    /// Whether to look at the hand-over of responses where the kernel shows it.
    pub handover: bool,
    /// Whether to follow the scheduler, and say who held the server up.
    pub who: bool,
}

/// What the trace itself took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "TraceCost")]
pub struct Cost {
    /// CPU time of the reading thread, in ns, over the whole trace.
    pub reader_ns: u64,
    /// CPU time of all probes in `costed_requests`, in ns, measured after the trace; the measuring included.
    pub probes_ns: u64,
    /// Requests done meanwhile.
    pub costed_requests: u64,
}

/// A finished trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Traced {
    /// When it began: `CLOCK_MONOTONIC`, in ns.
    pub began_ns: u64,
    /// How long it took, in ns.
    pub lasted_ns: u64,
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
        probes.set(MonotonicClock.realtime_ahead(), 0, told)?;
        probes.attach()?;
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
        let block = asked.block;
        let (end, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("hindmost-trace".to_owned())
            .spawn(move || reader.read(block, &ended))
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
    fn read(mut self, block: Nanos, ended: &Receiver<()>) -> Result<Traced, TraceError> {
        let began = MonotonicClock.now();
        let since = || MonotonicClock.now().0 - began.0;
        let mut blocks = Vec::new();
        let mut from = 0;
        loop {
            let left = Duration::from_nanos((from + block.0).saturating_sub(since()));
            let end = ended.recv_timeout(left.min(LOOK)) != Err(RecvTimeoutError::Timeout);
            self.take_records()?;
            if let Some(log) = &mut self.log {
                log.flush()?;
            }
            if end || since() >= from + block.0 {
                let to = since();
                blocks.push(Block::of(from, to, self.framing, &self.turn()?));
                from = to;
                if let (Some(joiner), false) = (&mut self.joiner, end) {
                    joiner.next_block();
                }
            }
            if end {
                break;
            }
        }
        self.take_records()?;
        let counts = self.probes.counts()?;
        let reader_ns = this_thread::cpu_time_ns();
        let handover = self.probes.handover();
        let (probes_ns, costed_requests) = self.cost(counts.done)?;
        let records = self.records.map_or(Ok(0), Records::finish)?;
        let who = self.joiner.map(Joiner::finish);
        let cost = Cost { reader_ns, probes_ns, costed_requests };
        Ok(Traced { began_ns: began.0, lasted_ns: from, handover, blocks, counts, records, who, cost })
    }

    /// Lets the probes write to the other bank, and says what the present one got.
    fn turn(&mut self) -> Result<[Sums; KINDS], TraceError> {
        let bank = self.bank;
        self.bank = 1 - bank;
        self.probes.set(MonotonicClock.realtime_ahead(), self.bank, self.every)?;
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

    /// CPU time of the probes, and for how many requests.
    fn cost(&mut self, done: u64) -> Result<(u64, u64), TraceError> {
        if done == 0 {
            return Ok((0, 0));
        }
        let Ok(_timed) = aya::sys::enable_stats(Stats::RunTime) else { return Ok((0, 0)) };
        let before = self.probes.run_time_ns();
        let done = self.probes.counts()?.done.max(done);
        std::thread::sleep(COSTED);
        Ok((self.probes.run_time_ns() - before, self.probes.counts()?.done - done))
    }
}
