//! Work on memory: touching lines, chasing pointers, filling, and the paper's stressors.
//!
//! Every buffer is written before its use. All pages of an untouched buffer map to the kernel's zero page: a chase
//! through 8 MiB then took 143 ns per step instead of 18 ns.

use std::hint::black_box;

use hindmost_random::mix;

use crate::mapping::{in_small_pages, PAGE};
use crate::work::Work;

/// Bytes of a cache line, on almost all supported CPUs.
pub const LINE: usize = 64;
const WORDS: usize = LINE / 8;

/// Reads one word of each line, one line after another.
pub struct Touch {
    words: Vec<u64>,
    at: usize,
    lines: usize,
}

impl Touch {
    /// Create it over `bytes` bytes, with `lines` lines per block.
    pub fn new(bytes: usize, lines: usize) -> Self {
        let all = (bytes / LINE).max(lines);
        Self { words: (0..(all * WORDS) as u64).collect(), at: 0, lines }
    }
}

impl Work for Touch {
    fn block(&mut self) -> u64 {
        let wanted = self.lines * WORDS;
        if self.at + wanted > self.words.len() {
            self.at = 0;
        }
        let part = &self.words[self.at..self.at + wanted];
        // Two sums, so that the additions are not the bottleneck.
        let (mut even, mut odd) = (0u64, 0u64);
        for two in part.chunks_exact(2 * WORDS) {
            even = even.wrapping_add(two[0]);
            odd = odd.wrapping_add(two[WORDS]);
        }
        black_box((even, odd));
        self.at += wanted;
        self.lines as u64
    }
}

/// Follows pointers in random order: each load waits for the one before.
pub struct Chase {
    next: Vec<u32>,
    at: u32,
    steps: u32,
}

impl Chase {
    /// Create it over all lines of `bytes` bytes, in one cycle that depends on the seed.
    pub fn lines(bytes: usize, seed: u64, steps: u32) -> Self {
        Self::over_places((bytes / LINE).max(2), LINE / 4, |_| 0, seed, steps)
    }

    /// Create it over one line of each of `pages` pages. The line's offset differs from page to page, so that
    /// lines do not compete for the same sets of the first-level cache.
    pub fn pages(pages: usize, seed: u64, steps: u32) -> Self {
        Self::over_places(pages.max(2), PAGE / 4, |page| (page % (PAGE / LINE)) * (LINE / 4), seed, steps)
    }

    fn over_places(
        places: usize,
        apart: usize,
        inside: impl Fn(usize) -> usize,
        seed: u64,
        steps: u32,
    ) -> Self {
        let place = |stop: usize| (stop * apart + inside(stop)) as u32;
        // Sattolo's shuffle gives one cycle through all places.
        let mut order: Vec<usize> = (0..places).collect();
        let mut state = seed;
        for last in (1..places).rev() {
            state = mix(state);
            order.swap(last, ((u128::from(state) * last as u128) >> 64) as usize);
        }
        let mut next =
            if apart * 4 == PAGE { in_small_pages(places * apart, 1) } else { vec![1u32; places * apart] };
        for (stop, &following) in order.iter().enumerate() {
            next[place(stop) as usize] = place(following);
        }
        let mut chase = Self { next, at: place(0), steps };
        // Run one full cycle, so that the first measured steps are like all others.
        for _ in 0..places.div_ceil(steps as usize) {
            chase.block();
        }
        chase
    }
}

impl Work for Chase {
    fn block(&mut self) -> u64 {
        let mut at = self.at;
        for _ in 0..self.steps {
            at = self.next[at as usize];
        }
        self.at = black_box(at);
        u64::from(self.steps)
    }
}

/// Writes whole pages, one after another.
pub struct Fill {
    bytes: Vec<u8>,
    at: usize,
    value: u8,
}

impl Fill {
    /// Create it over `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![1; bytes.max(PAGE)], at: 0, value: 0 }
    }
}

impl Work for Fill {
    fn block(&mut self) -> u64 {
        if self.at + PAGE > self.bytes.len() {
            self.at = 0;
            self.value = self.value.wrapping_add(1);
        }
        black_box(&mut self.bytes[self.at..self.at + PAGE]).fill(self.value);
        self.at += PAGE;
        (PAGE / LINE) as u64
    }
}

/// The paper's stressor of the first two cache levels (Figure 3.9 e): increments at places drawn by a shift
/// register. An access takes 4 ticks at any footprint, because it waits for its own integer chain.
pub struct Lfsr {
    bytes: Vec<u8>,
    state: u32,
}

impl Lfsr {
    /// Create it over `bytes` bytes.
    pub fn new(bytes: usize, seed: u64) -> Self {
        Self { bytes: vec![1; bytes.max(LINE)], state: (mix(seed) as u32) | 1 }
    }
}

impl Work for Lfsr {
    fn block(&mut self) -> u64 {
        const ACCESSES: u64 = 1024;
        let footprint = self.bytes.len() as u32;
        for _ in 0..ACCESSES {
            self.state = (self.state >> 1) ^ (0u32.wrapping_sub(self.state & 1) & 0xd000_0001);
            let place = &mut self.bytes[(self.state % footprint) as usize];
            *place = place.wrapping_add(1);
        }
        black_box(&mut self.bytes);
        ACCESSES
    }
}

/// The paper's stressor of the third-level cache (Figure 3.9 f): copies one half over the other, one byte per line,
/// and back.
pub struct Halves {
    bytes: Vec<u8>,
    at: usize,
    back: bool,
}

impl Halves {
    /// Create it over `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![1; bytes.max(2 * PAGE)], at: 0, back: false }
    }
}

impl Work for Halves {
    fn block(&mut self) -> u64 {
        let half = self.bytes.len() / 2;
        if self.at + PAGE > half {
            self.at = 0;
            self.back = !self.back;
        }
        let (first, second) = self.bytes.split_at_mut(half);
        let (to, from) = if self.back { (second, &*first) } else { (first, &*second) };
        let range = self.at..self.at + PAGE;
        for (one, other) in to[range.clone()].iter_mut().zip(&from[range]).step_by(LINE) {
            *one = other.wrapping_add(1);
        }
        self.at += PAGE;
        (PAGE / LINE) as u64
    }
}

/// Unpredictable branches: half of them cost a pipeline flush.
pub struct Mispredict {
    state: u64,
}

impl Mispredict {
    /// Create a sequence from the seed.
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed) | 1 }
    }
}

impl Work for Mispredict {
    fn block(&mut self) -> u64 {
        const BRANCHES: u64 = 256;
        for _ in 0..BRANCHES {
            // xorshift64 (Marsaglia 2003).
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            // The compiler cannot turn a branch with black_box into a conditional move.
            if self.state & 1 == 0 {
                black_box(());
            } else {
                black_box(self.state);
            }
        }
        BRANCHES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_visits_every_place_once_per_cycle() {
        for chase in [Chase::lines(8192, 7, 1), Chase::pages(96, 3, 1)] {
            let stops = if chase.next.len() == 8192 / 4 { 128 } else { 96 };
            let mut chase = chase;
            let begin = chase.at;
            let mut made = 0;
            loop {
                chase.block();
                made += 1;
                if chase.at == begin || made > stops {
                    break;
                }
            }
            assert_eq!(made, stops);
        }
    }

    #[test]
    fn the_shift_register_reaches_most_of_its_footprint() {
        let mut stressor = Lfsr::new(4096, 1);
        for _ in 0..16 {
            assert_eq!(stressor.block(), 1024);
        }
        let reached = stressor.bytes.iter().filter(|&&one| one != 1).count();
        assert!(reached > 3800, "{reached} of 4096");
    }

    #[test]
    fn memory_work_wraps_around_its_buffer() {
        let mut works: [Box<dyn Work>; 3] =
            [Box::new(Touch::new(1 << 14, 64)), Box::new(Fill::new(1 << 14)), Box::new(Halves::new(1 << 14))];
        for work in &mut works {
            assert_eq!((0..100).map(|_| work.block()).sum::<u64>(), 6400);
        }
    }
}
