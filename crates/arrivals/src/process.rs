use hindmost_clock::{Nanos, Rate};
use hindmost_random::{stream, Purpose, Random};

use crate::{Arrivals, Part};

/// A rising sequence of moments, in whatever unit it was made for: nanoseconds, or mean gaps where a schedule
/// stretches them.
pub trait Process: Send {
    /// The next moment. Never goes back.
    fn next(&mut self) -> f64;
}

/// Where a worker's random numbers come from.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// That of the plan.
    pub seed: u64,
    /// Which instance.
    pub instance: u32,
    /// Which worker of it.
    pub thread: u32,
}

impl Seeds {
    /// A stream of this worker's own.
    pub fn own(self) -> Random {
        stream(self.seed, self.instance, self.thread, Purpose::Arrivals)
    }

    /// The stream that all workers of all instances share.
    pub fn shared(self) -> Random {
        stream(self.seed, 0, 0, Purpose::SharedArrivals)
    }
}

/// What a law makes a worker's part of.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    pub part: Part,
    pub seeds: Seeds,
    /// Over all parts.
    pub rate: Rate,
    /// The mean gap of the whole, in the unit of the moments.
    pub gap: f64,
}

/// Gaps of the whole process, in mean gaps, by draws from a stream.
pub trait Draw: Send {
    fn gap(&mut self, random: &mut Random) -> f64;
}

/// Every n-th moment of a process that all workers draw alike.
pub struct EveryNth<D> {
    draw: D,
    random: Random,
    gap: f64,
    at: f64,
    /// Arrivals up to and with the next one of this part.
    ahead: u32,
    of: u32,
}

impl<D: Draw + 'static> EveryNth<D> {
    pub fn boxed(draw: D, making: &Making) -> Box<dyn Process> {
        let Part { index, of } = making.part;
        Box::new(Self { draw, random: making.seeds.shared(), gap: making.gap, at: 0.0, ahead: index + 1, of })
    }
}

impl<D: Draw> Process for EveryNth<D> {
    #[inline]
    fn next(&mut self) -> f64 {
        // Each gap is added by itself, so that all parts round alike.
        for _ in 0..self.ahead {
            self.at += self.draw.gap(&mut self.random) * self.gap;
        }
        self.ahead = self.of;
        self.at
    }
}

/// A process in nanoseconds.
pub struct Steady(pub Box<dyn Process>);

impl Arrivals for Steady {
    #[inline]
    fn next_due(&mut self) -> Nanos {
        Nanos(self.0.next() as u64)
    }
}
