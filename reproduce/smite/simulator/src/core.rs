//! The core: alternating dispatch, a window split between two threads, issue of the oldest ready instructions,
//! in-order retirement.
//!
//! Sets of window entries are bits of a word, by instruction number modulo its size. An entry sleeps until the one
//! that it depends on has its result. The time of the result is known at issue and stored in a wheel of ticks:
//!
//! ```text
//!   dispatched --> asleep --(the wheel, at the tick of the result)--> awake --> issued --> retired
//! ```

use crate::cache::Memory;
use crate::program::{KINDS, LOAD, NOTHING, PORTS, STORE};
use crate::stream::{Instruction, Reader, Stream};

const WIDTH: usize = 6;
pub const WINDOW: usize = 64;
/// Ticks that a mispredicted branch costs after it is resolved.
const FLUSH: u64 = 12;
const UNKNOWN: u64 = u64::MAX;
/// Ticks that the wheel covers; later results are entered again.
const WHEEL: usize = 512;

/// One hardware thread.
struct Thread<'s, 'a> {
    stream: &'s Stream<'a>,
    reader: Reader<'s, 'a>,
    instructions: [Instruction; WINDOW],
    /// When results are available; unknown before issue.
    ready_at: [u64; WINDOW],
    /// Entries that wait for each entry.
    waiters: [u64; WINDOW],
    /// Entries of each kind that are in the window and not issued.
    of_kind: [u64; KINDS],
    /// Entries that are not issued and wait for nothing.
    awake: u64,
    /// Issued entries by the tick of their result.
    wheel: [u64; WHEEL],
    /// Instruction numbers: `first..next` are in the window.
    first: u64,
    next: u64,
    stalled_until: u64,
}

impl<'s, 'a> Thread<'s, 'a> {
    fn new(stream: &'s Stream<'a>) -> Self {
        Self {
            stream,
            reader: stream.begin(),
            instructions: [Instruction::default(); WINDOW],
            ready_at: [0; WINDOW],
            waiters: [0; WINDOW],
            of_kind: [0; KINDS],
            awake: 0,
            wheel: [0; WHEEL],
            first: 0,
            next: 0,
            stalled_until: 0,
        }
    }

    #[inline]
    fn dispatch(&mut self, now: u64) {
        let one = self.reader.take(self.next);
        let at = (self.next % WINDOW as u64) as usize;
        let bit = 1 << at;
        self.instructions[at] = one;
        self.ready_at[at] = UNKNOWN;
        self.waiters[at] = 0;
        self.of_kind[usize::from(one.kind)] |= bit;
        let back = u64::from(one.back);
        let for_whom = self.next.wrapping_sub(back);
        let place = (for_whom % WINDOW as u64) as usize;
        if back == 0 || self.next < back || for_whom < self.first || self.ready_at[place] <= now {
            self.awake |= bit;
        } else {
            self.waiters[place] |= bit;
        }
        self.next += 1;
        if one.missed {
            // Nothing follows before the branch is resolved.
            self.stalled_until = UNKNOWN;
        } else if self.stream.program.pause > 0 {
            self.stalled_until = now + self.stream.program.pause;
        }
    }

    /// Wake the entries whose operands are now available.
    #[inline]
    fn wake(&mut self, now: u64) {
        let mut over = std::mem::take(&mut self.wheel[(now % WHEEL as u64) as usize]);
        while over != 0 {
            let at = over.trailing_zeros() as usize;
            over &= over - 1;
            if self.ready_at[at] > now {
                self.keep(at, now);
            } else {
                self.awake |= std::mem::take(&mut self.waiters[at]);
            }
        }
    }

    #[inline]
    fn keep(&mut self, at: usize, now: u64) {
        let tick = self.ready_at[at].min(now + WHEEL as u64 - 1);
        self.wheel[(tick % WHEEL as u64) as usize] |= 1 << at;
    }

    #[inline]
    fn retire(&mut self, now: u64) {
        for _ in 0..WIDTH {
            if self.first == self.next || self.ready_at[(self.first % WINDOW as u64) as usize] > now {
                return;
            }
            self.first += 1;
        }
    }

    /// Issue entries that are awake, the oldest first, as far as ports are free and the caches accept them.
    #[inline]
    fn issue(&mut self, memory: &mut Memory, free: &mut u16, accesses: &mut usize, now: u64) {
        let oldest = (self.first % WINDOW as u64) as u32;
        let mut left = self.awake;
        while left != 0 {
            let turned = left.rotate_right(oldest);
            let at = ((turned.trailing_zeros() + oldest) % WINDOW as u32) as usize;
            let bit = 1_u64 << at;
            let one = self.instructions[at];
            let kind = usize::from(one.kind);
            let (ports, ticks) = PORTS[kind];
            let ready_at = match kind {
                NOTHING => now + ticks,
                LOAD | STORE => {
                    if *accesses == 0 {
                        left &= !(self.of_kind[LOAD] | self.of_kind[STORE]);
                        continue;
                    }
                    *accesses -= 1;
                    let there = memory.load(self.stream.line(one), now);
                    if kind == LOAD {
                        there
                    } else {
                        now + ticks
                    }
                }
                _ => {
                    let open = *free & ports;
                    if open == 0 {
                        left &= !self.of_kind[kind];
                        continue;
                    }
                    // Use the last of the free ports, so that a shuffle leaves the first to
                    // multiplications.
                    *free &= !(1 << (open.ilog2()));
                    now + ticks
                }
            };
            left &= !bit;
            self.awake &= !bit;
            self.of_kind[kind] &= !bit;
            self.ready_at[at] = ready_at;
            self.keep(at, now);
            if one.missed {
                self.stalled_until = ready_at + FLUSH;
            }
        }
    }
}

/// Fill the caches with instructions of each program, evenly interleaved, before time begins.
fn fill(memory: &mut Memory, threads: &mut [Thread<'_, '_>], counts: &[u64]) -> u64 {
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut when = 0;
    for step in 1..=most {
        for (thread, &count) in threads.iter_mut().zip(counts) {
            while thread.next * most < step * count {
                let one = thread.reader.take(thread.next);
                if matches!(usize::from(one.kind), LOAD | STORE) {
                    when += 1;
                    memory.fill(thread.stream.line(one), when);
                }
                thread.next += 1;
                thread.first += 1;
            }
        }
    }
    when
}

/// Return the instructions per tick of one or two programs, counted from `warm` on. `filled`: how many instructions
/// of each have filled the caches before. Regions of the third-level cache need about 100,000.
pub fn run(streams: &[&Stream<'_>], filled: &[u64], warm: u64, ticks: u64) -> Vec<f64> {
    let mut memory = Memory::new();
    let mut threads: Vec<Thread<'_, '_>> = streams.iter().map(|one| Thread::new(one)).collect();
    let began = fill(&mut memory, &mut threads, filled);
    let count = threads.len();
    let room = (WINDOW / count) as u64;
    let mut before = vec![0; count];
    for now in began..began + warm + ticks {
        if now == began + warm {
            before = threads.iter().map(|thread| thread.first).collect();
        }
        // Priority alternates, so that neither thread is starved of ports or dispatch.
        let turn = (now % count as u64) as usize;
        let mut free_ports: u16 = 0b111_1111_1111;
        let mut accesses = 3;
        for k in 0..count {
            let thread = &mut threads[(turn + k) % count];
            thread.wake(now);
            thread.retire(now);
            thread.issue(&mut memory, &mut free_ports, &mut accesses, now);
        }
        let mut slots = WIDTH;
        for k in 0..count {
            let thread = &mut threads[(turn + k) % count];
            while slots > 0 && thread.next - thread.first < room && thread.stalled_until <= now {
                thread.dispatch(now);
                slots -= 1;
            }
        }
    }
    threads.iter().zip(before).map(|(thread, began)| (thread.first - began) as f64 / ticks as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    /// Return the instructions per tick of programs that start together.
    fn run(programs: &[&Program], seed: u64, warm: u64, ticks: u64) -> Vec<f64> {
        let streams: Vec<Stream<'_>> =
            (1..).zip(programs).map(|(number, one)| Stream::new(one, number, seed, 100)).collect();
        super::run(&streams.iter().collect::<Vec<_>>(), &vec![0; streams.len()], warm, ticks)
    }

    fn stressor(name: &str) -> Program {
        Program::stressors().into_iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn stressors_alone_reach_the_limit_of_their_ports() {
        let rates = [
            ("fp_mul", 2.0),
            ("fp_add", 2.0),
            ("int_add", 4.0),
            ("int_mul", 1.0),
            ("branch", 2.0),
            ("load", 3.0),
        ];
        for (name, rate) in rates {
            let seen = run(&[&stressor(name)], 1, 500, 4000)[0];
            assert!((seen / rate - 1.0).abs() < 0.02, "{name}: {seen} of {rate}");
        }
    }

    #[test]
    fn a_shared_port_is_halved_and_others_are_not() {
        let beside = |a: &str, b: &str| {
            let (a, b) = (stressor(a), stressor(b));
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
