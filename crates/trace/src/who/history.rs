//! What threads of the server did, and who ran on each processor: the latest of it, rebuilt from moments.

use std::collections::{HashMap, VecDeque};

use super::moment::{Moment, What, NO_CALL};
use super::names::{softirq, text, Names, Relation};

/// Kept of each thread and processor; more than a second of a busy one.
const KEPT: usize = 1 << 14;

/// In place of the thread that woke another one.
pub const INTERRUPT: u32 = 0;
/// A timer that ran out.
pub const TIMER: u32 = u32::MAX;

/// Why a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Until there is something to read.
    Input,
    /// Until another thread gives a lock back.
    Lock,
    /// Until another thread says so.
    Condition,
    PageFault,
    Blocked,
    /// It slept when we began to look.
    Unseen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// It could run, and waited for this processor.
    Queue { cpu: u16 },
    /// It was being woken, and not yet on this processor's queue: a processor that slept has to be told first.
    Woken { cpu: u16 },
    /// It slept until this thread woke it; [`INTERRUPT`], [`TIMER`]: no thread did.
    Sleep { why: Sleep, waker: u32 },
}

/// From when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    pub from: u64,
    pub to: u64,
    pub of: T,
}

#[derive(Clone, Copy)]
enum State {
    Running,
    /// Nothing was told since then. It ran, unless what is told next says that it did not.
    Unseen {
        from: u64,
    },
    Waiting {
        from: u64,
    },
    Sleeping {
        from: u64,
        why: Sleep,
    },
}

pub struct Thread {
    pub name: u32,
    state: State,
    last_cpu: Option<u16>,
    pub off: VecDeque<Span<Off>>,
    /// Interrupts while it ran.
    pub interrupts: VecDeque<Span<u32>>,
    /// On a queue, as the kernel's own `run_delay` has it.
    pub queued_ns: u64,
    /// Before that: while it was being woken.
    pub woken_ns: u64,
    pub migrations: u64,
    pub faults: u64,
}

#[derive(Default)]
pub struct Processor {
    pub ran: VecDeque<Span<u32>>,
    pub interrupts: VecDeque<Span<u32>>,
}

#[derive(Default)]
pub struct History {
    pub names: Names,
    pub threads: HashMap<u32, Thread>,
    /// Names of all threads that were seen to run, the server's or not.
    ran: HashMap<u32, u32>,
    processors: Vec<Processor>,
    latest: u64,
}

impl History {
    pub fn processor(&self, cpu: u16) -> Option<&Processor> {
        self.processors.get(usize::from(cpu))
    }

    /// Who that thread is; `None` where it was never seen.
    pub fn name(&self, thread: u32) -> Option<u32> {
        self.threads.get(&thread).map(|one| one.name).or_else(|| self.ran.get(&thread).copied())
    }

    pub fn add(&mut self, m: &Moment) {
        self.latest = self.latest.max(m.at);
        match m.what {
            What::Switch => self.switched(m),
            What::Woken => self.thread(m.thread, m).woken(m),
            What::Migrated => self.thread(m.thread, m).moved(m),
            What::Fault => self.thread(m.thread, m).faults += 1,
            What::SoftIrq | What::HardIrq => {
                let name = match m.what {
                    What::SoftIrq => format!("softirq {}", softirq(m.call)),
                    _ => format!("interrupt {} ({})", m.call, text(&m.name)),
                };
                let of = self.names.number(&name, 0, Relation::Interrupt);
                let span = Span { from: m.since, to: m.at, of };
                if let Some(thread) = self.threads.get_mut(&m.thread) {
                    keep(&mut thread.interrupts, span);
                }
                keep(&mut self.at(m.cpu).interrupts, span);
            }
        }
    }

    /// After a time in which nothing was told: what threads did meanwhile is not known.
    pub fn interrupted(&mut self) {
        for thread in self.threads.values_mut() {
            thread.state = State::Unseen { from: self.latest };
        }
    }

    /// A request was served by this thread: from now on it is known, though it was never seen to come or leave.
    pub fn served(&mut self, thread: u32) {
        let Self { names, threads, .. } = self;
        threads
            .entry(thread)
            .or_insert_with(|| Thread::new(names.number("", 0, Relation::Own), State::Running));
    }

    fn at(&mut self, cpu: u16) -> &mut Processor {
        let cpu = usize::from(cpu);
        if self.processors.len() <= cpu {
            self.processors.resize_with(cpu + 1, Processor::default);
        }
        &mut self.processors[cpu]
    }

    fn switched(&mut self, m: &Moment) {
        let relation = match m {
            Moment { thread: 0, .. } => Relation::Idle,
            Moment { left: true, .. } => Relation::Own,
            Moment { kernel: true, .. } => Relation::Kernel,
            _ => Relation::Other,
        };
        let own = text(&m.name);
        let of = match relation {
            Relation::Idle => self.names.number("idle", 0, relation),
            _ => self.names.thread(&own, m.process, relation, m.thread),
        };
        keep(&mut self.at(m.cpu).ran, Span { from: m.since, to: m.at, of });
        if m.thread != 0 {
            self.ran.insert(m.thread, of);
        }
        if m.left {
            let thread = self.thread(m.thread, m);
            thread.name = of;
            thread.left(m);
        }
        if m.came {
            // Its own name is told when it leaves.
            let unnamed = Moment { name: [0; 16], ..*m };
            self.thread(m.other, &unnamed).came(m);
        }
    }

    fn thread(&mut self, number: u32, m: &Moment) -> &mut Thread {
        let Self { names, threads, .. } = self;
        threads.entry(number).or_insert_with(|| {
            Thread::new(names.number(&text(&m.name), m.process, Relation::Own), State::Unseen { from: 0 })
        })
    }
}

impl Thread {
    fn new(name: u32, state: State) -> Self {
        Self {
            name,
            state,
            last_cpu: None,
            off: VecDeque::new(),
            interrupts: VecDeque::new(),
            queued_ns: 0,
            woken_ns: 0,
            migrations: 0,
            faults: 0,
        }
    }

    /// Since when it does not run, as far as was told.
    pub fn off_since(&self) -> Option<u64> {
        match self.state {
            State::Running | State::Unseen { .. } => None,
            State::Waiting { from } | State::Sleeping { from, .. } => Some(from),
        }
    }

    fn left(&mut self, m: &Moment) {
        self.state = match m.state {
            0 => State::Waiting { from: m.at },
            _ => State::Sleeping { from: m.at, why: why(m) },
        };
    }

    fn woken(&mut self, m: &Moment) {
        let slept = match self.state {
            State::Sleeping { from, why } => Some((from, why)),
            State::Unseen { from } => Some((from, Sleep::Unseen)),
            State::Running | State::Waiting { .. } => None,
        };
        if let Some((from, why)) = slept {
            // It may have begun before the thread had left its processor.
            let since = m.since.max(from).min(m.at);
            self.slept(from, since, why, m.other);
            if m.at > since {
                self.woken_ns += m.at - since;
                keep(&mut self.off, Span { from: since, to: m.at, of: Off::Woken { cpu: m.cpu } });
            }
            self.state = State::Waiting { from: m.at };
        }
    }

    fn moved(&mut self, m: &Moment) {
        match self.state {
            State::Waiting { from } => self.waited(from, m.at, m.cpu),
            State::Unseen { from } => {
                keep(&mut self.off, Span { from, to: m.at, of: Off::Queue { cpu: m.cpu } });
            }
            State::Running | State::Sleeping { .. } => return,
        }
        self.state = State::Waiting { from: m.at };
    }

    fn came(&mut self, m: &Moment) {
        match self.state {
            State::Waiting { from } => self.waited(from, m.at, m.cpu),
            State::Sleeping { from, why } => self.slept(from, m.at, why, 0),
            // It waited for this processor when we began to look: a wake-up would have been told.
            State::Unseen { from } => {
                keep(&mut self.off, Span { from, to: m.at, of: Off::Queue { cpu: m.cpu } });
            }
            State::Running => {}
        }
        self.migrations += u64::from(self.last_cpu.is_some_and(|last| last != m.cpu));
        self.last_cpu = Some(m.cpu);
        self.state = State::Running;
    }

    fn waited(&mut self, from: u64, to: u64, cpu: u16) {
        if to > from {
            self.queued_ns += to - from;
            keep(&mut self.off, Span { from, to, of: Off::Queue { cpu } });
        }
    }

    fn slept(&mut self, from: u64, to: u64, why: Sleep, waker: u32) {
        if to > from {
            keep(&mut self.off, Span { from, to, of: Off::Sleep { why, waker } });
        }
    }
}

fn keep<T>(spans: &mut VecDeque<T>, span: T) {
    if spans.len() == KEPT {
        spans.pop_front();
    }
    spans.push_back(span);
}

/// By the system call, on x86-64. A mutex waits with `FUTEX_WAIT` or `FUTEX_LOCK_PI`, a condition with
/// `FUTEX_WAIT_BITSET` (glibc's nptl).
fn why(m: &Moment) -> Sleep {
    match (m.call, m.operation) {
        (NO_CALL, _) => Sleep::PageFault,
        // read, readv, recvfrom, recvmsg, accept, poll, select and epoll in their forms
        (0 | 19 | 45 | 47 | 43 | 288 | 7 | 23 | 232 | 270 | 271 | 281 | 441, _) => Sleep::Input,
        (202, 0 | 6 | 13) => Sleep::Lock,
        (202 | 449 | 454 | 455, _) => Sleep::Condition,
        _ => Sleep::Blocked,
    }
}
