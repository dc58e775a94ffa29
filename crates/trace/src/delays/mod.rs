//! Causes of delay in the server: scheduler events joined with requests.
//!
//! The probes report switches of the server's threads, and who ran while they waited (`bpf/who.h`). `history` rebuilds
//! what each thread did, and `charges` splits a request's stages. This module keeps sums by block, so that shares of
//! the variance have intervals, and the full charges of the slowest requests.

mod charges;
mod event;
mod history;
mod names;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde::Serialize;

use crate::layout::Record;
use crate::moments::STAGES;
use charges::{charges, Cause, Charge, NonThreads, CAUSES, PARTS, SPLIT};
pub use event::{EventKind, SchedEvent, NO_CALL};
use history::History;
use names::{Name, Relation};

/// Number of slowest requests that are kept in full: 1 % of 400,000.
pub const SLOWEST: usize = 4000;
/// Number of culprits in the report, largest contributions to the variance first.
const CULPRITS: usize = 24;

/// Sums of a block over requests, in µs, of the parts x and of the latency t.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DelayBlock {
    n: u64,
    latency: f64,
    latency_square: f64,
    /// Sums of x, of its square and of x times t; four stages from `tcp_to_read` on, each with all causes.
    parts: Vec<[f64; 3]>,
}

/// The thread with the largest contribution among a culprit's threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Foremost {
    thread: u32,
    /// Share of the culprit's contribution.
    share: f64,
}

/// A culprit for one cause in one stage, with the sums of x, of its square and of x times t by block.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprit {
    stage: &'static str,
    cause: &'static str,
    #[serde(flatten)]
    name: Name,
    requests: u64,
    /// Number of its threads.
    threads: usize,
    foremost: Option<Foremost>,
    blocks: Vec<[f64; 3]>,
}

/// Mean of a part over the slowest requests, in µs.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SlowPart {
    stage: &'static str,
    cause: &'static str,
    #[serde(flatten)]
    name: Option<Name>,
    mean_us: f64,
}

/// The slowest requests: those above `above_us`.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Slowest {
    requests: u64,
    share: f64,
    above_us: f64,
    latency_us: f64,
    network_to_tcp_us: f64,
    parts: Vec<SlowPart>,
}

/// Scheduling of a thread over the whole trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ThreadSums {
    thread: u32,
    name: String,
    process: u32,
    queued_ns: u64,
    woken_ns: u64,
    migrations: u64,
    page_faults: u64,
}

/// Report of what delayed requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Delays {
    causes: [&'static str; CAUSES.len()],
    stages: &'static [&'static str],
    blocks: Vec<DelayBlock>,
    culprits: Vec<Culprit>,
    threads: Vec<ThreadSums>,
    slowest: Option<Slowest>,
}

/// A slow request, ordered by latency alone: latency, time from the network to TCP, and charges.
struct Slow(u64, u64, Vec<Charge>);

impl PartialEq for Slow {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Slow {}
impl PartialOrd for Slow {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Slow {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// Number of requests charged to a culprit, and its sums by block.
type Charged = (u64, Vec<[f64; 3]>);

/// Joins events and requests, which must be added in the order in which they happened.
pub struct Joiner {
    history: History,
    non_threads: NonThreads,
    blocks: Vec<DelayBlock>,
    culprits: HashMap<(u8, Cause, u32), Charged>,
    /// Contributions by thread: sums of x and of x times t.
    threads: HashMap<(u8, Cause, u32), [f64; 2]>,
    slowest: BinaryHeap<Reverse<Slow>>,
}

impl Joiner {
    pub fn new() -> Self {
        let mut history = History::default();
        let non_threads = NonThreads::new(&mut history.names);
        let mut new = Self {
            history,
            non_threads,
            blocks: Vec::new(),
            culprits: HashMap::new(),
            threads: HashMap::new(),
            slowest: BinaryHeap::new(),
        };
        new.next_block();
        new
    }

    pub fn next_block(&mut self) {
        self.blocks.push(DelayBlock {
            n: 0,
            latency: 0.0,
            latency_square: 0.0,
            parts: vec![[0.0; 3]; PARTS],
        });
    }

    /// Start another window, and with it a block.
    pub fn next_window(&mut self) {
        self.history.forget_states();
        self.next_block();
    }

    pub fn event(&mut self, event: &SchedEvent) {
        self.history.add(event);
    }

    pub fn request(&mut self, r: &Record) {
        let charges = charges(&self.history, self.non_threads, r);
        self.history.add_server_thread(r.reader);
        self.history.add_server_thread(r.sender);
        let latency_ns = r.e[5].saturating_sub(r.e[0]);
        let latency = latency_ns as f64 / 1e3;
        let mut parts = [0; PARTS];
        let mut by_culprit: Vec<((u8, Cause, u32), u64)> = Vec::with_capacity(charges.len());
        for charge in &charges {
            parts[charge.part()] += charge.ns;
            let (culprit, thread) = self.history.names.culprit(charge.name);
            if thread != 0 && charge.cause != Cause::Running {
                let us = charge.ns as f64 / 1e3;
                let sums = self.threads.entry((charge.stage, charge.cause, charge.name)).or_default();
                *sums = [sums[0] + us, sums[1] + us * latency];
            }
            let key = (charge.stage, charge.cause, culprit);
            match by_culprit.iter_mut().find(|(other, _)| *other == key) {
                Some((_, ns)) => *ns += charge.ns,
                None => by_culprit.push((key, charge.ns)),
            }
        }
        let at = self.blocks.len() - 1;
        let block = &mut self.blocks[at];
        block.n += 1;
        block.latency += latency;
        block.latency_square += latency * latency;
        for (sums, ns) in block.parts.iter_mut().zip(parts) {
            let us = ns as f64 / 1e3;
            sums[0] += us;
            sums[1] += us * us;
            sums[2] += us * latency;
        }
        for (key, ns) in by_culprit {
            let (requests, blocks) = self.culprits.entry(key).or_default();
            *requests += 1;
            blocks.resize(at + 1, [0.0; 3]);
            let us = ns as f64 / 1e3;
            blocks[at][0] += us;
            blocks[at][1] += us * us;
            blocks[at][2] += us * latency;
        }
        let is_full = self.slowest.len() >= SLOWEST;
        if !is_full || self.slowest.peek().is_some_and(|Reverse(least)| least.0 < latency_ns) {
            self.slowest.push(Reverse(Slow(latency_ns, r.e[1].saturating_sub(r.e[0]), charges)));
            if is_full {
                self.slowest.pop();
            }
        }
    }

    pub fn finish(mut self) -> Delays {
        let total: u64 = self.blocks.iter().map(|block| block.n).sum();
        let slowest = self.slowest(total);
        let mean = self.blocks.iter().map(|block| block.latency).sum::<f64>() / total.max(1) as f64;
        let covariance = |blocks: &[[f64; 3]]| blocks.iter().map(|[x, _, xt]| xt - x * mean).sum::<f64>();
        let mut charged: Vec<_> =
            self.culprits.into_iter().filter(|((_, cause, _), _)| *cause != Cause::Running).collect();
        charged.sort_by(|(_, (_, a)), (_, (_, b))| covariance(b).total_cmp(&covariance(a)));
        // The unknown culprit is never left out.
        let unknown = self.non_threads.unknown;
        let mut reported = 0..CULPRITS;
        charged.retain(|((_, _, name), _)| *name == unknown || reported.next().is_some());
        let names = &self.history.names;
        let mut threads: HashMap<(u8, Cause, u32), Vec<(u32, f64)>> = HashMap::new();
        for ((stage, cause, name), [x, xt]) in self.threads {
            let (culprit, thread) = names.culprit(name);
            threads.entry((stage, cause, culprit)).or_default().push((thread, xt - x * mean));
        }
        let count = self.blocks.len();
        let culprits = charged.into_iter().filter_map(|((stage, cause, number), (requests, mut blocks))| {
            blocks.resize(count, [0.0; 3]);
            let name = names.get(number).cloned().unwrap_or_else(unknown_name);
            let own = threads.get(&(stage, cause, number)).map_or(&[][..], Vec::as_slice);
            let (stage, cause) = (STAGES.get(usize::from(stage))?, CAUSES[cause as usize]);
            let foremost = foremost(own);
            Some(Culprit { stage, cause, name, requests, threads: own.len(), foremost, blocks })
        });
        let culprits = culprits.collect();
        let mut threads: Vec<_> = self
            .history
            .threads
            .iter()
            .map(|(thread, sums)| {
                let name = names.get(sums.name).cloned().unwrap_or_else(unknown_name);
                ThreadSums {
                    thread: *thread,
                    name: name.text,
                    process: name.process,
                    queued_ns: sums.queued_ns,
                    woken_ns: sums.woken_ns,
                    migrations: sums.migrations,
                    page_faults: sums.faults,
                }
            })
            .collect();
        threads.sort_by_key(|one| (Reverse(one.queued_ns), one.thread));
        Delays { causes: CAUSES, stages: &STAGES[1..=SPLIT], blocks: self.blocks, culprits, threads, slowest }
    }

    /// Return the slowest 1 %, or as many of them as were kept.
    fn slowest(&mut self, total: u64) -> Option<Slowest> {
        let mut slow: Vec<Slow> =
            std::mem::take(&mut self.slowest).into_iter().map(|Reverse(one)| one).collect();
        slow.sort_by(|a, b| b.cmp(a));
        slow.truncate(total.div_ceil(100) as usize);
        let least = slow.last()?.0;
        let count = slow.len() as f64;
        let mean = |sum: u64| sum as f64 / count / 1e3;
        let mut sums: HashMap<(u8, Cause, u32), u64> = HashMap::new();
        for charge in slow.iter().flat_map(|one| &one.2) {
            let (culprit, _) = self.history.names.culprit(charge.name);
            *sums.entry((charge.stage, charge.cause, culprit)).or_default() += charge.ns;
        }
        let mut parts: Vec<SlowPart> = sums
            .into_iter()
            .map(|((stage, cause, number), ns)| SlowPart {
                stage: STAGES[usize::from(stage)],
                cause: CAUSES[cause as usize],
                name: self.history.names.get(number).cloned(),
                mean_us: mean(ns),
            })
            .collect();
        parts.sort_by(|a, b| b.mean_us.total_cmp(&a.mean_us));
        parts.truncate(CULPRITS);
        Some(Slowest {
            requests: slow.len() as u64,
            share: count / total as f64,
            above_us: least as f64 / 1e3,
            latency_us: mean(slow.iter().map(|one| one.0).sum()),
            network_to_tcp_us: mean(slow.iter().map(|one| one.1).sum()),
            parts,
        })
    }
}

/// Return the thread with the largest covariance among several.
fn foremost(threads: &[(u32, f64)]) -> Option<Foremost> {
    let whole: f64 = threads.iter().map(|one| one.1).sum();
    let (thread, own) = threads.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (threads.len() > 1 && whole > 0.0).then_some(Foremost { thread, share: own / whole })
}

fn unknown_name() -> Name {
    Name { text: String::new(), process: 0, relation: Relation::Unknown }
}
