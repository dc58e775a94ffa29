//! Where the threads of slow requests waited, compared with those of all requests: the stacks with which threads of the
//! server went to sleep (off-CPU stacks).

use std::collections::HashMap;

use hindmost_clock::{Clock, MonotonicClock};

use super::join::{Join, Named, Place, ProfileSummary};
use super::sampler::Stack;
use super::symbols::{Function, Symbols, KERNEL};
use crate::delays::{EventKind, SchedEvent, NO_CALL};
use crate::layout::Record;

/// The kernel's function of a system call begins with this.
const SYSTEM_CALL: &str = "__x64_sys_";
/// Functions of the kernel outside of the system call, and inside the scheduler.
const ENTRY: [&str; 4] = ["entry_", "do_syscall_", "x64_sys_call", "asm_"];
const SCHEDULER: [&str; 5] = ["bpf_", "__bpf_", "__traceiter_", "__schedule", "schedule"];
/// Libraries whose functions only wrap system calls.
const WRAPPERS: [&str; 5] = ["libc.", "libc-", "libpthread", "ld-linux", "ld-musl"];
const PAGE_FAULT: &str = "page fault";

/// A thread that sleeps.
struct Asleep {
    since: u64,
    place: u32,
}

/// Waits of the server's threads, joined with its requests.
#[derive(Default)]
pub struct Waits {
    join: Join,
    symbols: Symbols,
    asleep: HashMap<u32, Asleep>,
    /// Places by process, system call and stacks.
    places: HashMap<(u32, u16, Option<u32>, Option<u32>), u32>,
    lost: u64,
}

impl Waits {
    /// Add an event; `stack` returns the addresses of a stack by its number.
    pub fn add_event(&mut self, event: &SchedEvent, stack: impl Fn(u32) -> Vec<u64>) {
        match event.kind {
            EventKind::Switch => {
                if event.thread_is_server && event.state != 0 {
                    let place = self.place(event, stack);
                    self.asleep.insert(event.thread, Asleep { since: event.at, place });
                }
                if event.other_is_server {
                    self.wake(event.other, event.at);
                }
            }
            EventKind::Woken => self.wake(event.thread, event.since.min(event.at)),
            _ => (),
        }
    }

    /// Add a request, after all events until its end.
    pub fn add_request(&mut self, request: &Record) {
        self.join.add_request(request);
    }

    /// Forget what threads do, after a time without events.
    pub fn forget_states(&mut self) {
        self.asleep.clear();
    }

    /// Forget what is too old, and remember the programs of the others.
    pub fn clean(&mut self) {
        self.join.forget_old(MonotonicClock.now().0);
        self.join.processes().for_each(|process| self.symbols.remember(process));
    }

    /// Name the functions, and return the report.
    pub fn finish(mut self) -> ProfileSummary {
        self.clean();
        self.symbols.refresh();
        let symbols = &mut self.symbols;
        self.join.finish(self.lost, |place| name(symbols, place))
    }

    /// Return the number of the place where a thread goes to sleep.
    fn place(&mut self, event: &SchedEvent, stack: impl Fn(u32) -> Vec<u64>) -> u32 {
        self.lost += u64::from(event.user_stack.is_none() && event_call(event.call).is_none());
        let SchedEvent { process, call, kernel_stack, user_stack, .. } = *event;
        let join = &mut self.join;
        *self.places.entry((process, call, kernel_stack, user_stack)).or_insert_with(|| {
            let addresses = |number: Option<u32>| number.map_or_else(Vec::new, &stack);
            let stack = Stack { kernel: addresses(kernel_stack), user: addresses(user_stack) };
            join.number_place(Place { process, call: Some(call), stack })
        })
    }

    fn wake(&mut self, thread: u32, at: u64) {
        if let Some(Asleep { since, place }) = self.asleep.remove(&thread) {
            if at > since {
                self.join.add_wait(thread, since, at, place);
            }
        }
    }
}

/// Return the name of a system call that waits for any of several events. The probes take no stacks of these.
fn event_call(number: u16) -> Option<&'static str> {
    Some(match number {
        7 => "poll",
        23 => "select",
        43 => "accept",
        232 => "epoll_wait",
        270 => "pselect6",
        271 => "ppoll",
        281 => "epoll_pwait",
        288 => "accept4",
        441 => "epoll_pwait2",
        _ => return None,
    })
}

/// Name the functions of a wait: it belongs to the program's own function that made the system call.
fn name(symbols: &mut Symbols, place: &Place) -> Named {
    let mut kernel = symbols.functions(place.process, &place.stack);
    let mut program = kernel.split_off(place.stack.kernel.len());
    let number = place.call.unwrap_or(NO_CALL);
    let call = kernel.iter().find_map(|one| one.function.strip_prefix(SYSTEM_CALL)).or(event_call(number));
    let call = call.or((number == NO_CALL).then_some(PAGE_FAULT)).map(str::to_owned);
    let is_wrapper = |one: &&Function| starts_with_any(&one.module, &WRAPPERS);
    let caller = program.iter().find(|one| !is_wrapper(one)).or(program.first());
    let function = match caller {
        Some(caller) => Function { call, ..caller.clone() },
        None => Function { function: call.unwrap_or_default(), module: KERNEL.to_owned(), call: None },
    };
    kernel.retain(|one| !starts_with_any(&one.function, &ENTRY));
    let inner = kernel.iter().take_while(|one| starts_with_any(&one.function, &SCHEDULER)).count();
    program.reverse();
    program.extend(kernel.drain(inner..).rev());
    if program.is_empty() {
        program.push(function.clone());
    }
    Named { function: Some(function), frames: program }
}

fn starts_with_any(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(at: u64, from: u32, to: u32, call: u16, user_stack: Option<u32>) -> SchedEvent {
        SchedEvent {
            at,
            since: 0,
            thread: from,
            process: std::process::id(),
            other: to,
            cpu: 0,
            call,
            kind: EventKind::Switch,
            thread_is_server: from != 0,
            other_is_server: to != 0,
            kernel: false,
            state: u8::from(from != 0),
            operation: 0,
            kernel_stack: None,
            user_stack,
            name: [0; 16],
        }
    }

    fn request(from: u64, to: u64) -> Record {
        Record {
            cookie: 1,
            e: [from, from, from, from, to, to],
            rx_end: 0,
            tx_end: 0,
            reader: 3,
            sender: 3,
            cpus: [0; 4],
            port: 1,
            batch: 1,
            kind: 0,
        }
    }

    #[inline(never)]
    fn own_function() -> u64 {
        std::hint::black_box(own_function as *const () as u64)
    }

    #[test]
    fn a_wait_belongs_to_the_function_that_made_the_system_call() {
        let mut waits = Waits::default();
        let stack = |number| if number == 5 { vec![own_function() + 1] } else { vec![] };
        waits.add_event(&switch(100_000, 3, 0, 35, Some(5)), stack);
        waits.add_event(&switch(600_000, 0, 3, 0, None), stack);
        waits.add_event(&switch(700_000, 3, 0, 232, None), stack);
        waits.add_event(
            &SchedEvent { kind: EventKind::Woken, since: 800_000, ..switch(810_000, 3, 0, 0, None) },
            stack,
        );
        waits.add_request(&request(0, 1_000_000));
        let found = waits.finish();
        assert_eq!((found.all.requests, found.all.samples, found.lost), (1, 2, 0));
        let [own, event] = &found.functions[..] else { panic!("two functions") };
        assert!(own.function.function.contains("own_function"), "{own:?}");
        assert_eq!((own.all_us, event.all_us), (500.0, 100.0));
        assert_eq!(event.function.function, "epoll_wait");
        assert_eq!(found.stacks[1].frames, ["epoll_wait"]);
    }

    #[test]
    fn a_wait_without_its_beginning_counts_for_nothing() {
        let mut waits = Waits::default();
        waits.add_event(&switch(100_000, 3, 0, 35, None), |_| vec![]);
        waits.forget_states();
        waits.add_event(&switch(600_000, 0, 3, 0, None), |_| vec![]);
        waits.add_request(&request(0, 1_000_000));
        let found = waits.finish();
        assert_eq!((found.all.samples, found.lost), (0, 1));
    }
}
