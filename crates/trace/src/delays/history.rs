//! Recent history of the server's threads and of each CPU, rebuilt from scheduler events.

use std::collections::{HashMap, VecDeque};

use super::event::{EventKind, SchedEvent, NO_CALL};
use super::names::{softirq, text, Names, Relation};

/// Spans kept per thread and CPU: more than a second of a busy one.
const KEPT_SPANS: usize = 1 << 14;

/// Waker number of an interrupt.
pub const INTERRUPT: u32 = 0;
/// Waker number of an expired timer.
pub const TIMER: u32 = u32::MAX;

/// Why a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// It waits for input.
    Input,
    /// It waits for a lock held by another thread.
    Lock,
    /// It waits for a signal of another thread.
    Condition,
    PageFault,
    Blocked,
    /// It slept when tracing started.
    Unseen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// It was runnable and waited in the queue of this CPU.
    Queue { cpu: u16 },
    /// It was being woken, but was not yet in the queue of this CPU, which may have had to wake up itself.
    Woken { cpu: u16 },
    /// It slept until this thread woke it, or [`INTERRUPT`] or [`TIMER`].
    Sleep { why: Sleep, waker: u32 },
}

/// A time span with its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    pub from: u64,
    pub to: u64,
    pub content: T,
}

#[derive(Clone, Copy)]
enum State {
    Running,
    /// No event since then. It ran, unless the next event shows otherwise.
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
    /// Time in a run queue, like the kernel's `run_delay`.
    pub queued_ns: u64,
    /// Time before that: while it was being woken.
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
    /// Names of all threads that were seen running, of the server or not.
    ran: HashMap<u32, u32>,
    processors: Vec<Processor>,
    latest: u64,
}

impl History {
    pub fn processor(&self, cpu: u16) -> Option<&Processor> {
        self.processors.get(usize::from(cpu))
    }

    /// Return the name of a thread; `None` if it was never seen.
    pub fn name(&self, thread: u32) -> Option<u32> {
        self.threads.get(&thread).map(|one| one.name).or_else(|| self.ran.get(&thread).copied())
    }

    pub fn add(&mut self, m: &SchedEvent) {
        self.latest = self.latest.max(m.at);
        match m.kind {
            EventKind::Switch => self.add_switch(m),
            EventKind::Woken => self.thread(m.thread, m).wake(m),
            EventKind::Migrated => self.thread(m.thread, m).migrate(m),
            EventKind::Fault => self.thread(m.thread, m).faults += 1,
            EventKind::SoftIrq | EventKind::HardIrq => {
                let name = match m.kind {
                    EventKind::SoftIrq => format!("softirq {}", softirq(m.call)),
                    _ => format!("interrupt {} ({})", m.call, text(&m.name)),
                };
                let content = self.names.number(&name, 0, Relation::Interrupt);
                let span = Span { from: m.since, to: m.at, content };
                if let Some(thread) = self.threads.get_mut(&m.thread) {
                    keep(&mut thread.interrupts, span);
                }
                keep(&mut self.processor_mut(m.cpu).interrupts, span);
            }
        }
    }

    /// Forget what threads did, after a time without events.
    pub fn forget_states(&mut self) {
        for thread in self.threads.values_mut() {
            thread.state = State::Unseen { from: self.latest };
        }
    }

    /// Register a thread that served a request, even if it was never seen to switch.
    pub fn add_server_thread(&mut self, thread: u32) {
        let Self { names, threads, .. } = self;
        threads
            .entry(thread)
            .or_insert_with(|| Thread::new(names.number("", 0, Relation::Own), State::Running));
    }

    fn processor_mut(&mut self, cpu: u16) -> &mut Processor {
        let cpu = usize::from(cpu);
        if self.processors.len() <= cpu {
            self.processors.resize_with(cpu + 1, Processor::default);
        }
        &mut self.processors[cpu]
    }

    fn add_switch(&mut self, m: &SchedEvent) {
        let relation = match m {
            SchedEvent { thread: 0, .. } => Relation::Idle,
            SchedEvent { left: true, .. } => Relation::Own,
            SchedEvent { kernel: true, .. } => Relation::Kernel,
            _ => Relation::Other,
        };
        let own = text(&m.name);
        let content = match relation {
            Relation::Idle => self.names.number("idle", 0, relation),
            _ => self.names.thread(&own, m.process, relation, m.thread),
        };
        keep(&mut self.processor_mut(m.cpu).ran, Span { from: m.since, to: m.at, content });
        if m.thread != 0 {
            self.ran.insert(m.thread, content);
        }
        if m.left {
            let thread = self.thread(m.thread, m);
            thread.name = content;
            thread.leave(m);
        }
        if m.came {
            // Its own name is known when it leaves.
            let unnamed = SchedEvent { name: [0; 16], ..*m };
            self.thread(m.other, &unnamed).arrive(m);
        }
    }

    fn thread(&mut self, number: u32, m: &SchedEvent) -> &mut Thread {
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

    /// Return since when it does not run, as far as known.
    pub fn off_since(&self) -> Option<u64> {
        match self.state {
            State::Running | State::Unseen { .. } => None,
            State::Waiting { from } | State::Sleeping { from, .. } => Some(from),
        }
    }

    fn leave(&mut self, m: &SchedEvent) {
        self.state = match m.state {
            0 => State::Waiting { from: m.at },
            _ => State::Sleeping { from: m.at, why: sleep_reason(m) },
        };
    }

    fn wake(&mut self, m: &SchedEvent) {
        let sleep = match self.state {
            State::Sleeping { from, why } => Some((from, why)),
            State::Unseen { from } => Some((from, Sleep::Unseen)),
            State::Running | State::Waiting { .. } => None,
        };
        if let Some((from, why)) = sleep {
            // The wake-up may have started before the thread left its CPU.
            let since = m.since.max(from).min(m.at);
            self.add_sleep(from, since, why, m.other);
            if m.at > since {
                self.woken_ns += m.at - since;
                keep(&mut self.off, Span { from: since, to: m.at, content: Off::Woken { cpu: m.cpu } });
            }
            self.state = State::Waiting { from: m.at };
        }
    }

    fn migrate(&mut self, m: &SchedEvent) {
        match self.state {
            State::Waiting { from } => self.add_wait(from, m.at, m.cpu),
            State::Unseen { from } => {
                keep(&mut self.off, Span { from, to: m.at, content: Off::Queue { cpu: m.cpu } });
            }
            State::Running | State::Sleeping { .. } => return,
        }
        self.state = State::Waiting { from: m.at };
    }

    fn arrive(&mut self, m: &SchedEvent) {
        match self.state {
            State::Waiting { from } => self.add_wait(from, m.at, m.cpu),
            State::Sleeping { from, why } => self.add_sleep(from, m.at, why, 0),
            // It waited for this CPU when tracing started: a wake-up would have caused an event.
            State::Unseen { from } => {
                keep(&mut self.off, Span { from, to: m.at, content: Off::Queue { cpu: m.cpu } });
            }
            State::Running => {}
        }
        self.migrations += u64::from(self.last_cpu.is_some_and(|last| last != m.cpu));
        self.last_cpu = Some(m.cpu);
        self.state = State::Running;
    }

    fn add_wait(&mut self, from: u64, to: u64, cpu: u16) {
        if to > from {
            self.queued_ns += to - from;
            keep(&mut self.off, Span { from, to, content: Off::Queue { cpu } });
        }
    }

    fn add_sleep(&mut self, from: u64, to: u64, why: Sleep, waker: u32) {
        if to > from {
            keep(&mut self.off, Span { from, to, content: Off::Sleep { why, waker } });
        }
    }
}

fn keep<T>(spans: &mut VecDeque<T>, span: T) {
    if spans.len() == KEPT_SPANS {
        spans.pop_front();
    }
    spans.push_back(span);
}

/// Return why a thread sleeps, by its system call on x86-64. A mutex waits with `FUTEX_WAIT` or `FUTEX_LOCK_PI`, a
/// condition variable with `FUTEX_WAIT_BITSET` (glibc's nptl).
fn sleep_reason(m: &SchedEvent) -> Sleep {
    match (m.call, m.operation) {
        (NO_CALL, _) => Sleep::PageFault,
        // read, readv, recvfrom, recvmsg, accept, poll, select and epoll with their variants
        (0 | 19 | 45 | 47 | 43 | 288 | 7 | 23 | 232 | 270 | 271 | 281 | 441, _) => Sleep::Input,
        (202, 0 | 6 | 13) => Sleep::Lock,
        (202 | 449 | 454 | 455, _) => Sleep::Condition,
        _ => Sleep::Blocked,
    }
}
