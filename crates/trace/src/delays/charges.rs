//! The stages of one request, split by cause of delay; each part is charged to a culprit.
//!
//! ```text
//!     e2 ───── sleeps ─────┬── waits for a CPU ─────────┬── runs ── e3
//!        woken by          │   charged to who ran       │  minus interrupts
//!        the network, or by a thread of the server: then that thread's waits count instead
//! ```

use std::collections::VecDeque;

use super::history::{History, OffCpu, Sleep, Span, INTERRUPT, TIMER};
use super::names::{Names, Relation};
use crate::layout::Record;

/// Cause of a part of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    Running,
    RunQueue,
    Interrupt,
    HandedOn,
    Wake,
    Lock,
    PageFault,
    Blocked,
    /// It is unknown what the thread did.
    Unseen,
}

pub const CAUSES: [&str; 9] =
    ["running", "run_queue", "interrupt", "handed_on", "wake", "lock", "page_fault", "blocked", "unseen"];
/// Number of stages in which threads take part: e2 to e6.
pub const SPLIT: usize = 4;
pub const PARTS: usize = SPLIT * CAUSES.len();
/// Charged to no culprit.
pub const NO_CULPRIT: u32 = u32::MAX;
/// Longest chain of wake-ups to follow, such as a listener that wakes a worker that wakes another.
const HOPS: u32 = 3;

/// A part of a request's time. `stage` is an index into `STAGES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    pub stage: u8,
    pub cause: Cause,
    pub name: u32,
    pub ns: u64,
}

impl Charge {
    pub fn part(self) -> usize {
        (usize::from(self.stage) - 1) * CAUSES.len() + self.cause as usize
    }
}

/// Culprits that are not threads.
#[derive(Clone, Copy)]
pub struct NonThreads {
    pub unknown: u32,
    pub interrupt: u32,
    pub timer: u32,
}

impl NonThreads {
    pub fn new(names: &mut Names) -> Self {
        Self {
            unknown: names.number("unknown", 0, Relation::Unknown),
            // The interrupt's device is unknown: a network card or a disk.
            interrupt: names.number("network or disk", 0, Relation::Interrupt),
            timer: names.number("timer", 0, Relation::Interrupt),
        }
    }
}

/// Charge a request's whole time from e2 to e6. There may be several charges for one culprit and cause.
pub fn charges(history: &History, non_threads: NonThreads, r: &Record) -> Vec<Charge> {
    let mut out = Split { history, non_threads, stage: 0, charges: Vec::new() };
    let threads = [r.reader, r.sender, r.sender, r.sender];
    for (at, thread) in threads.into_iter().enumerate() {
        out.stage = at as u8 + 1;
        out.span(thread, r.e[at + 1], r.e[at + 2], 0);
    }
    out.charges
}

struct Split<'h> {
    history: &'h History,
    non_threads: NonThreads,
    stage: u8,
    charges: Vec<Charge>,
}

impl Split<'_> {
    fn charge(&mut self, cause: Cause, name: u32, ns: u64) {
        if ns > 0 {
            self.charges.push(Charge { stage: self.stage, cause, name, ns });
        }
    }

    fn span(&mut self, number: u32, from: u64, to: u64, hops: u32) {
        let history = self.history;
        let Some(thread) = history.threads.get(&number) else {
            return self.charge(Cause::Unseen, self.non_threads.unknown, to.saturating_sub(from));
        };
        // The thread ran at the end, so a switch to it is missing.
        let known_until = thread.off_since().map_or(to, |since| since.clamp(from, to.max(from)));
        self.charge(Cause::Unseen, self.non_threads.unknown, to.saturating_sub(known_until));
        let to = known_until;
        let mut runs = to.saturating_sub(from);
        for (begin, end, off_cpu) in within(&thread.off_cpu, from, to) {
            runs -= (end - begin).min(runs);
            match off_cpu {
                OffCpu::Queue { cpu } => self.queue(Cause::RunQueue, cpu, begin, end),
                OffCpu::Woken { cpu } => self.queue(Cause::Wake, cpu, begin, end),
                OffCpu::Sleep { reason, waker } => self.sleep(reason, waker, begin, end, hops),
            }
        }
        for (begin, end, name) in within(&thread.interrupts, from, to) {
            let ns = (end - begin).min(runs);
            runs -= ns;
            self.charge(Cause::Interrupt, name, ns);
        }
        let (cause, name) =
            if hops == 0 { (Cause::Running, NO_CULPRIT) } else { (Cause::HandedOn, thread.name) };
        self.charge(cause, name, runs);
    }

    fn sleep(&mut self, reason: Sleep, waker: u32, begin: u64, end: u64, hops: u32) {
        let culprit = match waker {
            INTERRUPT => self.non_threads.interrupt,
            TIMER => self.non_threads.timer,
            _ => self.history.name(waker).unwrap_or(self.non_threads.unknown),
        };
        let is_server_thread = self.history.threads.contains_key(&waker);
        let cause = match reason {
            Sleep::PageFault => Cause::PageFault,
            Sleep::Blocked => Cause::Blocked,
            Sleep::Lock => Cause::Lock,
            // The input reached this thread through another thread of the server.
            Sleep::Input | Sleep::Condition | Sleep::Unseen
                if self.stage == 1 && is_server_thread && hops < HOPS =>
            {
                return self.span(waker, begin, end, hops + 1);
            }
            Sleep::Condition if self.stage > 1 => Cause::Lock,
            Sleep::Input | Sleep::Condition | Sleep::Unseen => Cause::Wake,
        };
        self.charge(cause, culprit, end - begin);
    }

    /// Charge the time in a run queue to the threads that used the CPU, except for interrupts.
    fn queue(&mut self, cause: Cause, cpu: u16, from: u64, to: u64) {
        let mut left = to - from;
        if let Some(processor) = self.history.processor(cpu) {
            for (begin, end, name) in within(&processor.ran, from, to) {
                let mut ran = end - begin;
                left -= ran.min(left);
                for (begin, end, interrupt) in within(&processor.interrupts, begin, end) {
                    let ns = (end - begin).min(ran);
                    ran -= ns;
                    self.charge(cause, interrupt, ns);
                }
                self.charge(cause, name, ran);
            }
        }
        self.charge(cause, self.non_threads.unknown, left);
    }
}

/// Return the spans that overlap an interval, clipped to it. Spans are sorted by their end.
fn within<T: Copy>(
    spans: &VecDeque<Span<T>>,
    from: u64,
    to: u64,
) -> impl Iterator<Item = (u64, u64, T)> + '_ {
    // A long wait has thousands of spans, each looked up among thousands: a linear search would take seconds per
    // request.
    let first = spans.partition_point(|span| span.to <= from);
    spans
        .range(first..)
        .take_while(move |span| span.from < to)
        .map(move |span| (span.from.max(from), span.to.min(to), span.content))
        .filter(|(begin, end, _)| end > begin)
}
