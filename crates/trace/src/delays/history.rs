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

/// Reason for which a thread sleeps.
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
pub enum OffCpu {
    /// It was runnable and waited in the queue of this CPU.
    Queue { cpu: u16 },
    /// It was being woken, but was not yet in the queue of this CPU, which may have had to wake up itself.
    Woken { cpu: u16 },
    /// It slept until this thread woke it, or [`INTERRUPT`] or [`TIMER`].
    Sleep { reason: Sleep, waker: u32 },
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
        reason: Sleep,
    },
}

pub struct Thread {
    pub name: u32,
    state: State,
    last_cpu: Option<u16>,
    pub off_cpu: VecDeque<Span<OffCpu>>,
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

    pub fn add(&mut self, event: &SchedEvent) {
        self.latest = self.latest.max(event.at);
        match event.kind {
            EventKind::Switch => self.add_switch(event),
            EventKind::Woken => self.thread(event.thread, event).wake(event),
            EventKind::Migrated => self.thread(event.thread, event).migrate(event),
            EventKind::Fault => self.thread(event.thread, event).faults += 1,
            EventKind::SoftIrq | EventKind::HardIrq => {
                let name = match event.kind {
                    EventKind::SoftIrq => format!("softirq {}", softirq(event.call)),
                    _ => format!("interrupt {} ({})", event.call, text(&event.name)),
                };
                let content = self.names.number(&name, 0, Relation::Interrupt);
                let span = Span { from: event.since, to: event.at, content };
                if let Some(thread) = self.threads.get_mut(&event.thread) {
                    keep(&mut thread.interrupts, span);
                }
                keep(&mut self.processor_mut(event.cpu).interrupts, span);
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

    fn add_switch(&mut self, event: &SchedEvent) {
        let relation = match event {
            SchedEvent { thread: 0, .. } => Relation::Idle,
            SchedEvent { thread_is_server: true, .. } => Relation::Own,
            SchedEvent { kernel: true, .. } => Relation::Kernel,
            _ => Relation::Other,
        };
        let own = text(&event.name);
        let content = match relation {
            Relation::Idle => self.names.number("idle", 0, relation),
            _ => self.names.thread(&own, event.process, relation, event.thread),
        };
        keep(&mut self.processor_mut(event.cpu).ran, Span { from: event.since, to: event.at, content });
        if event.thread != 0 {
            self.ran.insert(event.thread, content);
        }
        if event.thread_is_server {
            let thread = self.thread(event.thread, event);
            thread.name = content;
            thread.leave(event);
        }
        if event.other_is_server {
            // Its own name is known when it leaves.
            let unnamed = SchedEvent { name: [0; 16], ..*event };
            self.thread(event.other, &unnamed).arrive(event);
        }
    }

    fn thread(&mut self, number: u32, event: &SchedEvent) -> &mut Thread {
        let Self { names, threads, .. } = self;
        threads.entry(number).or_insert_with(|| {
            Thread::new(
                names.number(&text(&event.name), event.process, Relation::Own),
                State::Unseen { from: 0 },
            )
        })
    }
}

impl Thread {
    fn new(name: u32, state: State) -> Self {
        Self {
            name,
            state,
            last_cpu: None,
            off_cpu: VecDeque::new(),
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

    fn leave(&mut self, event: &SchedEvent) {
        self.state = match event.state {
            0 => State::Waiting { from: event.at },
            _ => State::Sleeping { from: event.at, reason: sleep_reason(event) },
        };
    }

    fn wake(&mut self, event: &SchedEvent) {
        let sleep = match self.state {
            State::Sleeping { from, reason } => Some((from, reason)),
            State::Unseen { from } => Some((from, Sleep::Unseen)),
            State::Running | State::Waiting { .. } => None,
        };
        if let Some((from, reason)) = sleep {
            // The wake-up may have started before the thread left its CPU.
            let since = event.since.max(from).min(event.at);
            self.add_sleep(from, since, reason, event.other);
            if event.at > since {
                self.woken_ns += event.at - since;
                keep(
                    &mut self.off_cpu,
                    Span { from: since, to: event.at, content: OffCpu::Woken { cpu: event.cpu } },
                );
            }
            self.state = State::Waiting { from: event.at };
        }
    }

    fn migrate(&mut self, event: &SchedEvent) {
        match self.state {
            State::Waiting { from } => self.add_wait(from, event.at, event.cpu),
            State::Unseen { from } => {
                keep(
                    &mut self.off_cpu,
                    Span { from, to: event.at, content: OffCpu::Queue { cpu: event.cpu } },
                );
            }
            State::Running | State::Sleeping { .. } => return,
        }
        self.state = State::Waiting { from: event.at };
    }

    fn arrive(&mut self, event: &SchedEvent) {
        match self.state {
            State::Waiting { from } => self.add_wait(from, event.at, event.cpu),
            State::Sleeping { from, reason } => self.add_sleep(from, event.at, reason, 0),
            // It waited for this CPU when tracing started: a wake-up would have caused an event.
            State::Unseen { from } => {
                keep(
                    &mut self.off_cpu,
                    Span { from, to: event.at, content: OffCpu::Queue { cpu: event.cpu } },
                );
            }
            State::Running => {}
        }
        self.migrations += u64::from(self.last_cpu.is_some_and(|last| last != event.cpu));
        self.last_cpu = Some(event.cpu);
        self.state = State::Running;
    }

    fn add_wait(&mut self, from: u64, to: u64, cpu: u16) {
        if to > from {
            self.queued_ns += to - from;
            keep(&mut self.off_cpu, Span { from, to, content: OffCpu::Queue { cpu } });
        }
    }

    fn add_sleep(&mut self, from: u64, to: u64, reason: Sleep, waker: u32) {
        if to > from {
            keep(&mut self.off_cpu, Span { from, to, content: OffCpu::Sleep { reason, waker } });
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
fn sleep_reason(event: &SchedEvent) -> Sleep {
    match (event.call, event.operation) {
        (NO_CALL, _) => Sleep::PageFault,
        // read, readv, recvfrom, recvmsg, accept, poll, select and epoll with their variants
        (0 | 19 | 45 | 47 | 43 | 288 | 7 | 23 | 232 | 270 | 271 | 281 | 441, _) => Sleep::Input,
        (202, 0 | 6 | 13) => Sleep::Lock,
        (202 | 449 | 454 | 455, _) => Sleep::Condition,
        _ => Sleep::Blocked,
    }
}
