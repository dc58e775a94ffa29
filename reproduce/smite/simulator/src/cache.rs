//! Three levels of cache shared by both threads, and a memory channel that serves one line at a time.

/// A cache level: sets of lines, each with the time of its last use.
struct Level {
    sets: usize,
    ways: usize,
    lines: Vec<(u64, u64)>,
}

impl Level {
    fn new(lines: usize, ways: usize) -> Self {
        Self { sets: lines / ways, ways, lines: vec![(u64::MAX, 0); lines] }
    }

    /// Return whether the line is in the cache; afterwards it is, in place of the least recently used one.
    fn touch(&mut self, line: u64, mixed: usize, now: u64) -> bool {
        let set = (mixed % self.sets) * self.ways;
        let lines = &mut self.lines[set..set + self.ways];
        let mut oldest = 0;
        for at in 0..lines.len() {
            if lines[at].0 == line {
                lines[at].1 = now;
                return true;
            }
            if lines[at].1 < lines[oldest].1 {
                oldest = at;
            }
        }
        lines[oldest] = (line, now);
        false
    }
}

/// Lines of each level: few, so that programs fill them before counting begins.
pub const LINES: [usize; 3] = [16, 96, 512];
/// Ticks until a load has its data: from each level, and from memory.
const LATENCY: [u64; 4] = [4, 14, 50, 200];
/// Ticks between two lines from memory.
const CHANNEL: u64 = 8;

/// The memory hierarchy of a core.
pub struct Memory {
    levels: [Level; 3],
    free_at: u64,
}

impl Memory {
    /// Create empty caches.
    pub fn new() -> Self {
        Self { levels: LINES.map(|lines| Level::new(lines, 8)), free_at: 0 }
    }

    /// Insert the line into all levels, as a load does.
    pub fn fill(&mut self, line: u64, now: u64) {
        let mixed = hindmost_random::mix(line) as usize;
        for level in &mut self.levels {
            level.touch(line, mixed, now);
        }
    }

    /// Return when the data of a line requested now is available.
    pub fn load(&mut self, line: u64, now: u64) -> u64 {
        let mixed = hindmost_random::mix(line) as usize;
        // Every level stores the line, whichever one has it.
        let hit = self.levels.each_mut().map(|level| level.touch(line, mixed, now));
        if let Some(level) = hit.iter().position(|&here| here) {
            return now + LATENCY[level];
        }
        self.free_at = self.free_at.max(now) + CHANNEL;
        self.free_at + LATENCY[3]
    }
}
