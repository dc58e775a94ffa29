//! The instruction stream of a program. It depends only on the program, the number of its thread and the seed, so
//! that it is drawn once, whatever runs next to it.

use hindmost_random::{mix, unit};

use crate::program::{Program, BRANCH, KINDS, LOAD, NOTHING, STORE};

/// An instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instruction {
    pub kind: u8,
    /// Distance, in instructions, to the one that it depends on; 0: none that can be in a window.
    pub back: u8,
    pub missed: bool,
    region: u8,
    place: u32,
}

/// Draws the instructions of a thread one after another.
#[derive(Clone)]
struct Source<'a> {
    program: &'a Program,
    cumulative: [f64; KINDS],
    state: u64,
    /// Position of the stream in each region.
    places: Vec<u64>,
}

impl Source<'_> {
    fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        unit(mix(self.state))
    }

    fn line(&mut self) -> (u8, u32) {
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
        (region as u8, place as u32)
    }

    fn next(&mut self) -> Instruction {
        let at = self.draw();
        let kind = self.cumulative.iter().position(|&sum| at < sum).unwrap_or(NOTHING);
        let back = 1 + (-self.program.distance * (1.0 - self.draw()).ln()) as u64;
        let (region, place) = if kind == LOAD || kind == STORE { self.line() } else { (0, 0) };
        let missed = kind == BRANCH && self.draw() < self.program.misses;
        Instruction { kind: kind as u8, back: u8::try_from(back).unwrap_or(0), missed, region, place }
    }
}

/// The instructions of a thread: those drawn so far, and the source of the others.
#[derive(Clone)]
pub struct Stream<'a> {
    pub program: &'a Program,
    drawn: Vec<Instruction>,
    source: Source<'a>,
    /// Separates the lines of two threads.
    base: u64,
}

impl<'a> Stream<'a> {
    /// Create the stream of thread 1 or 2, with `count` instructions drawn in advance.
    pub fn new(program: &'a Program, number: u64, seed: u64, count: usize) -> Self {
        let mut sum = 0.0;
        let cumulative = program.mix.map(|share| {
            sum += share;
            sum
        });
        let places = vec![0; program.regions.len()];
        let mut source = Source { program, cumulative, state: mix(seed ^ number), places };
        let drawn = (0..count).map(|_| source.next()).collect();
        Self { program, drawn, source, base: number << 40 }
    }

    /// Return a reader at the first instruction.
    pub fn begin(&self) -> Reader<'_, 'a> {
        Reader { stream: self, rest: None }
    }

    /// Return the line that a load or a store accesses.
    pub fn line(&self, of: Instruction) -> u64 {
        self.base + (u64::from(of.region) << 32) + u64::from(of.place)
    }
}

/// A position in a stream.
pub struct Reader<'s, 'a> {
    stream: &'s Stream<'a>,
    /// Draws the instructions beyond the last one drawn in advance.
    rest: Option<Source<'a>>,
}

impl Reader<'_, '_> {
    /// Return the instruction with this number; numbers must be read in order.
    #[inline]
    pub fn take(&mut self, number: u64) -> Instruction {
        match self.stream.drawn.get(number as usize) {
            Some(&one) => one,
            None => self.rest.get_or_insert_with(|| self.stream.source.clone()).next(),
        }
    }
}
