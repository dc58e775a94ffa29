//! The core: dispatch in turns, a window that two threads halve, issue of the oldest that are ready, retirement in order.

use hindmost_random::{mix, unit};

use crate::cache::Memory;
use crate::program::{Program, BRANCH, KINDS, LOAD, NOTHING, PORTS, STORE};

const WIDTH: usize = 6;
const WINDOW: usize = 64;
/// Ticks that a missed branch costs after it is known.
const FLUSH: u64 = 12;
const UNKNOWN: u64 = u64::MAX;

/// An instruction in the window.
#[derive(Clone, Copy)]
struct Entry {
    kind: usize,
    /// The number of the instruction that it waits for.
    waits_for: u64,
    /// When its result is there; unknown before it is issued.
    ready_at: u64,
    line: u64,
    missed: bool,
}

/// One hardware thread.
struct Thread<'a> {
    program: &'a Program,
    cumulative: [f64; KINDS],
    state: u64,
    /// Entries by number modulo the window; `first..next` are in it.
    entries: Vec<Entry>,
    first: u64,
    next: u64,
    stalled_until: u64,
    /// Where streams are in each region.
    places: Vec<u64>,
    /// Keeps lines of two threads apart.
    base: u64,
}

impl<'a> Thread<'a> {
    fn new(program: &'a Program, number: u64, seed: u64) -> Self {
        let mut sum = 0.0;
        let cumulative = program.mix.map(|share| {
            sum += share;
            sum
        });
        let none = Entry { kind: NOTHING, waits_for: UNKNOWN, ready_at: 0, line: 0, missed: false };
        Self {
            program,
            cumulative,
            state: mix(seed ^ number),
            entries: vec![none; WINDOW],
            first: 0,
            next: 0,
            stalled_until: 0,
            places: vec![0; program.regions.len()],
            base: number << 40,
        }
    }

    fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        unit(mix(self.state))
    }

    fn line(&mut self) -> u64 {
        let at = self.draw();
        let mut sum = 0.0;
        let last = self.program.regions.len() - 1;
        let region = self
            .program
            .regions
            .iter()
            .position(|(_, share)| {
                sum += share;
                at < sum
            })
            .unwrap_or(last);
        let lines = self.program.regions[region].0 as u64;
        let place = if self.program.streams {
            self.places[region] += 1;
            self.places[region] % lines
        } else {
            (self.draw() * lines as f64) as u64
        };
        self.base + ((region as u64) << 32) + place
    }

    fn dispatch(&mut self, now: u64) {
        let at = self.draw();
        let kind = self.cumulative.iter().position(|&sum| at < sum).unwrap_or(NOTHING);
        let back = 1 + (-self.program.distance * (1.0 - self.draw()).ln()) as u64;
        let line = if kind == LOAD || kind == STORE { self.line() } else { 0 };
        let missed = kind == BRANCH && self.draw() < self.program.misses;
        let waits_for = if self.next >= back { self.next - back } else { UNKNOWN };
        let at = (self.next % WINDOW as u64) as usize;
        self.entries[at] = Entry { kind, waits_for, ready_at: UNKNOWN, line, missed };
        self.next += 1;
        if missed {
            // Nothing follows before it is known where to.
            self.stalled_until = UNKNOWN;
        } else if self.program.pause > 0 {
            self.stalled_until = now + self.program.pause;
        }
    }

    fn waits(&self, entry: &Entry, now: u64) -> bool {
        let for_whom = entry.waits_for;
        for_whom != UNKNOWN
            && for_whom >= self.first
            && self.entries[(for_whom % WINDOW as u64) as usize].ready_at > now
    }

    fn retire(&mut self, now: u64) {
        for _ in 0..WIDTH {
            if self.first == self.next || self.entries[(self.first % WINDOW as u64) as usize].ready_at > now {
                return;
            }
            self.first += 1;
        }
    }
}

/// Instructions a tick of each of one or two programs, counted from `warm` on.
pub fn run(programs: &[&Program], seed: u64, warm: u64, ticks: u64) -> Vec<f64> {
    let mut memory = Memory::new();
    let mut threads: Vec<Thread<'_>> =
        (1..).zip(programs).map(|(number, one)| Thread::new(one, number, seed)).collect();
    let room = (WINDOW / threads.len()) as u64;
    let mut before = vec![0; threads.len()];
    for now in 0..warm + ticks {
        if now == warm {
            before = threads.iter().map(|thread| thread.first).collect();
        }
        // Who goes first alternates: neither is starved of ports, nor of dispatch.
        let turn = (now % threads.len() as u64) as usize;
        let mut free_ports: u16 = 0b111_1111_1111;
        let mut accesses = 3;
        for k in 0..threads.len() {
            let at = (turn + k) % threads.len();
            threads[at].retire(now);
            issue(&mut threads[at], &mut memory, &mut free_ports, &mut accesses, now);
        }
        let mut slots = WIDTH;
        for k in 0..threads.len() {
            let count = threads.len();
            let thread = &mut threads[(turn + k) % count];
            while slots > 0 && thread.next - thread.first < room && thread.stalled_until <= now {
                thread.dispatch(now);
                slots -= 1;
            }
        }
    }
    threads.iter().zip(before).map(|(thread, began)| (thread.first - began) as f64 / ticks as f64).collect()
}

fn issue(thread: &mut Thread<'_>, memory: &mut Memory, free: &mut u16, accesses: &mut usize, now: u64) {
    for number in thread.first..thread.next {
        let at = (number % WINDOW as u64) as usize;
        let entry = thread.entries[at];
        if entry.ready_at != UNKNOWN || thread.waits(&entry, now) {
            continue;
        }
        let (ports, ticks) = PORTS[entry.kind];
        let ready_at = match entry.kind {
            NOTHING => now + ticks,
            LOAD | STORE => {
                if *accesses == 0 {
                    continue;
                }
                *accesses -= 1;
                let there = memory.load(entry.line, now);
                if entry.kind == LOAD {
                    there
                } else {
                    now + ticks
                }
            }
            _ => {
                let open = *free & ports;
                if open == 0 {
                    continue;
                }
                // Of the ports that are open, the last: a shuffle leaves the first to multiplications.
                *free &= !(1 << (open.ilog2()));
                now + ticks
            }
        };
        thread.entries[at].ready_at = ready_at;
        if entry.missed {
            thread.stalled_until = ready_at + FLUSH;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(name: &str) -> Program {
        Program::rulers().into_iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn rulers_alone_reach_what_their_ports_allow() {
        let rates = [
            ("fp_mul", 2.0),
            ("fp_add", 2.0),
            ("int_add", 4.0),
            ("int_mul", 1.0),
            ("branch", 2.0),
            ("load", 3.0),
        ];
        for (name, rate) in rates {
            let seen = run(&[&ruler(name)], 1, 500, 4000)[0];
            assert!((seen / rate - 1.0).abs() < 0.02, "{name}: {seen} of {rate}");
        }
    }

    #[test]
    fn the_same_port_is_halved_and_another_is_not() {
        let beside = |a: &str, b: &str| {
            let (a, b) = (ruler(a), ruler(b));
            run(&[&a, &b], 1, 500, 4000)[0] / run(&[&a], 1, 500, 4000)[0]
        };
        assert!((beside("fp_mul", "fp_mul") - 0.5).abs() < 0.02);
        assert!((beside("fp_mul", "fp_add") - 1.0).abs() < 0.02);
        assert!((beside("int_mul", "branch") - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_same_seed_gives_the_same_ticks() {
        let (a, b) = (Program::random(3, 1), Program::random(3, 2));
        assert_eq!(run(&[&a, &b], 5, 100, 2000), run(&[&a, &b], 5, 100, 2000));
        assert_ne!(run(&[&a, &b], 5, 100, 2000), run(&[&a, &b], 6, 100, 2000));
    }
}
