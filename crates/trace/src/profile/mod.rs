//! What the threads of the slowest requests executed (a sampled profile) and where they waited, compared with those of
//! all requests.

mod functions;
mod join;
mod sampler;
mod symbols;
mod waits;

use std::io;
use std::time::Duration;

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread;

use crate::layout::Record;
use crate::ProbeCost;
pub use join::ProfileSummary;
use join::{Join, Named, Place};
use sampler::{Sampler, PERIOD_NS};
use symbols::Symbols;
pub use waits::Waits;

/// How long this thread observes itself to measure what a sample costs.
const OBSERVED: Duration = Duration::from_millis(50);
/// Shortest interruption that can be a sample.
const GAP_NS: u64 = 300;
/// Name of the samples among the probes.
const NAME: &str = "sampling";

/// A running profile, ended when dropped.
pub struct Profile {
    sampler: Sampler,
    join: Join,
    symbols: Symbols,
    /// Requests whose samples may still be in the rings.
    pending: Vec<Record>,
}

impl Profile {
    /// Prepare to sample all CPUs.
    ///
    /// # Errors
    /// If perf events are not allowed.
    pub fn open() -> io::Result<Self> {
        let cpus = aya::util::online_cpus().map_err(|(_, error)| error)?;
        Ok(Self {
            sampler: Sampler::open(cpus)?,
            join: Join::default(),
            symbols: Symbols::default(),
            pending: Vec::new(),
        })
    }

    /// Start sampling.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn start(&self) -> io::Result<()> {
        self.sampler.start()
    }

    /// Stop sampling.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn stop(&self) -> io::Result<()> {
        self.sampler.stop()
    }

    pub fn add_request(&mut self, request: Record) {
        self.pending.push(request);
    }

    /// Join the requests that were added with their samples, which are all in the rings by now.
    pub fn join_pending(&mut self) {
        let join = &mut self.join;
        self.sampler.read(|sample| join.add_sample(sample));
        self.pending.drain(..).for_each(|request| join.add_request(&request));
        join.forget_old(MonotonicClock.now().0);
        join.processes().for_each(|process| self.symbols.remember(process));
    }

    /// Count the samples of some time, and measure what one costs.
    ///
    /// # Errors
    /// If the kernel refuses to sample.
    pub fn cost(&mut self, duration: Duration) -> io::Result<ProbeCost> {
        self.sampler.start()?;
        let mut runs = 0;
        self.sampler.read(|_| ());
        std::thread::sleep(duration);
        self.sampler.read(|_| runs += 1);
        let gaps = observe_gaps();
        let own = this_thread::id();
        let mut costs = Vec::new();
        self.sampler.read(|sample| {
            let gap =
                gaps.iter().find(|(from, to)| sample.thread == own && (*from..=*to).contains(&sample.at));
            costs.extend(gap.map(|(from, to)| to - from));
        });
        self.sampler.stop()?;
        costs.sort_unstable();
        let each_ns = costs.get(costs.len() / 2).copied().unwrap_or(0);
        Ok(ProbeCost { probe: NAME, runs, ns: runs * each_ns })
    }

    /// Name the functions, and return the report.
    pub fn finish(mut self) -> ProfileSummary {
        self.join_pending();
        self.symbols.refresh();
        let symbols = &mut self.symbols;
        let summary = self.join.finish(self.sampler.lost, |place| name(symbols, place));
        ProfileSummary { period_us: Some(PERIOD_NS as f64 / 1e3), ..summary }
    }
}

/// Name the functions of a sample: it belongs to the one that was executed.
fn name(symbols: &mut Symbols, place: &Place) -> Named {
    let mut frames = symbols.functions(place.process, &place.stack);
    frames.reverse();
    Named { function: frames.last().cloned(), frames }
}

/// Return the interruptions of this thread while it reads the clock without a break.
fn observe_gaps() -> Vec<(u64, u64)> {
    let end = MonotonicClock.now().0 + OBSERVED.as_nanos() as u64;
    let mut gaps = Vec::new();
    let mut last = MonotonicClock.now().0;
    while last < end {
        let now = MonotonicClock.now().0;
        if now - last > GAP_NS {
            gaps.push((last, now));
        }
        last = now;
    }
    gaps
}
