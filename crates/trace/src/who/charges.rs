//! The stages of one request, split into what held it up, and each part charged to somebody.
//!
//! ```text
//!     e2 ───── sleeps ─────┬── waits for a processor ──┬── runs ── e3
//!        woken by          │   charged to whoever ran   │  less interrupts
//!        the network, or by a thread of the server: then that thread's waits count in its place
//! ```

use std::collections::VecDeque;

use super::history::{History, Off, Sleep, Span, INTERRUPT, TIMER};
use super::names::{Names, Relation};
use crate::layout::Record;

/// What a part of a stage was.
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
    /// It was not seen what the thread did.
    Unseen,
}

pub const CAUSES: [&str; 9] =
    ["running", "run_queue", "interrupt", "handed_on", "wake", "lock", "page_fault", "blocked", "unseen"];
/// Stages that threads have a part in: those from e2 to e6.
pub const SPLIT: usize = 4;
pub const PARTS: usize = SPLIT * CAUSES.len();
/// Nobody's.
pub const NOBODY: u32 = u32::MAX;
/// A listener that wakes a worker that wakes another: more are not followed.
const HOPS: u32 = 3;

/// So many nanoseconds of a request. `stage` is one of `STAGES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    pub stage: u8,
    pub cause: Cause,
    pub who: u32,
    pub ns: u64,
}

impl Charge {
    pub fn part(self) -> usize {
        (usize::from(self.stage) - 1) * CAUSES.len() + self.cause as usize
    }
}

/// Culprits without a thread.
#[derive(Clone, Copy)]
pub struct Faceless {
    pub unknown: u32,
    pub interrupt: u32,
    pub timer: u32,
}

impl Faceless {
    pub fn new(names: &mut Names) -> Self {
        Self {
            unknown: names.number("unknown", 0, Relation::Unknown),
            // It is not told which one: the network's card, a disk.
            interrupt: names.number("network or disk", 0, Relation::Interrupt),
            timer: names.number("timer", 0, Relation::Interrupt),
        }
    }
}

/// All of a request's time from e2 to e6; charges to one culprit for one cause may come in pieces.
pub fn charges(history: &History, others: Faceless, r: &Record) -> Vec<Charge> {
    let mut out = Split { history, others, stage: 0, charges: Vec::new() };
    let threads = [r.reader, r.sender, r.sender, r.sender];
    for (at, thread) in threads.into_iter().enumerate() {
        out.stage = at as u8 + 1;
        out.span(thread, r.e[at + 1], r.e[at + 2], 0);
    }
    out.charges
}

struct Split<'h> {
    history: &'h History,
    others: Faceless,
    stage: u8,
    charges: Vec<Charge>,
}

impl Split<'_> {
    fn charge(&mut self, cause: Cause, who: u32, ns: u64) {
        if ns > 0 {
            self.charges.push(Charge { stage: self.stage, cause, who, ns });
        }
    }

    fn span(&mut self, number: u32, from: u64, to: u64, hops: u32) {
        let history = self.history;
        let Some(thread) = history.threads.get(&number) else {
            return self.charge(Cause::Unseen, self.others.unknown, to.saturating_sub(from));
        };
        // It ran at the end, which says that its coming was not told.
        let told = thread.off_since().map_or(to, |since| since.clamp(from, to.max(from)));
        self.charge(Cause::Unseen, self.others.unknown, to.saturating_sub(told));
        let to = told;
        let mut runs = to.saturating_sub(from);
        for (begin, end, off) in within(&thread.off, from, to) {
            runs -= (end - begin).min(runs);
            match off {
                Off::Queue { cpu } => self.queue(Cause::RunQueue, cpu, begin, end),
                Off::Woken { cpu } => self.queue(Cause::Wake, cpu, begin, end),
                Off::Sleep { why, waker } => self.sleep(why, waker, begin, end, hops),
            }
        }
        for (begin, end, who) in within(&thread.interrupts, from, to) {
            let ns = (end - begin).min(runs);
            runs -= ns;
            self.charge(Cause::Interrupt, who, ns);
        }
        let (cause, who) = if hops == 0 { (Cause::Running, NOBODY) } else { (Cause::HandedOn, thread.name) };
        self.charge(cause, who, runs);
    }

    fn sleep(&mut self, why: Sleep, waker: u32, begin: u64, end: u64, hops: u32) {
        let known = match waker {
            INTERRUPT => self.others.interrupt,
            TIMER => self.others.timer,
            _ => self.history.name(waker).unwrap_or(self.others.unknown),
        };
        let of_server = self.history.threads.contains_key(&waker);
        let cause = match why {
            Sleep::PageFault => Cause::PageFault,
            Sleep::Blocked => Cause::Blocked,
            Sleep::Lock => Cause::Lock,
            // On its way to a thread of the server it went through another one.
            Sleep::Input | Sleep::Condition | Sleep::Unseen
                if self.stage == 1 && of_server && hops < HOPS =>
            {
                return self.span(waker, begin, end, hops + 1);
            }
            Sleep::Condition if self.stage > 1 => Cause::Lock,
            Sleep::Input | Sleep::Condition | Sleep::Unseen => Cause::Wake,
        };
        self.charge(cause, known, end - begin);
    }

    /// Whoever had the processor while a thread waited for it, interrupts apart.
    fn queue(&mut self, cause: Cause, cpu: u16, from: u64, to: u64) {
        let mut left = to - from;
        if let Some(processor) = self.history.processor(cpu) {
            for (begin, end, who) in within(&processor.ran, from, to) {
                let mut ran = end - begin;
                left -= ran.min(left);
                for (begin, end, interrupt) in within(&processor.interrupts, begin, end) {
                    let ns = (end - begin).min(ran);
                    ran -= ns;
                    self.charge(cause, interrupt, ns);
                }
                self.charge(cause, who, ran);
            }
        }
        self.charge(cause, self.others.unknown, left);
    }
}

/// Spans between two times, cut to them, in their order: they are kept by their ends.
fn within<T: Copy>(
    spans: &VecDeque<Span<T>>,
    from: u64,
    to: u64,
) -> impl Iterator<Item = (u64, u64, T)> + '_ {
    // A long wait has thousands of spans, each looked up in thousands: one by one would take seconds by request.
    let first = spans.partition_point(|span| span.to <= from);
    spans
        .range(first..)
        .take_while(move |span| span.from < to)
        .map(move |span| (span.from.max(from), span.to.min(to), span.of))
        .filter(|(begin, end, _)| end > begin)
}
