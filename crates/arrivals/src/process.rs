use hindmost_clock::{Nanos, Rate};
use hindmost_random::{stream, Purpose, Random};

use crate::{Arrivals, Part};

/// An increasing sequence of times. The unit is nanoseconds, or mean gaps if a schedule stretches the times.
pub trait Process: Send {
    /// Return the next time, which is never earlier than the last.
    fn next(&mut self) -> f64;
}

/// The origin of a worker's random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// Seed of the plan.
    pub seed: u64,
    /// Number of the client.
    pub client: u32,
    /// Number of the worker within its client.
    pub thread: u32,
}

impl Seeds {
    /// Return the random stream of this worker.
    pub fn own_stream(self) -> Random {
        stream(self.seed, self.client, self.thread, Purpose::Arrivals)
    }

    /// Return the random stream that all workers of all clients share.
    pub fn shared_stream(self) -> Random {
        stream(self.seed, 0, 0, Purpose::SharedArrivals)
    }
}

/// Parameters of a worker's part of a process.
#[derive(Clone, Copy, Debug)]
pub struct PartSpec {
    pub part: Part,
    pub seeds: Seeds,
    /// Rate of all parts together.
    pub rate: Rate,
    /// Mean gap of the whole process, in the unit of the times.
    pub gap: f64,
}

/// Draws gaps of the whole process, in mean gaps.
pub trait Draw: Send {
    fn gap(&mut self, random: &mut Random) -> f64;
}

/// Every n-th arrival of a process that all workers draw identically.
pub struct EveryNth<D> {
    draw: D,
    random: Random,
    gap: f64,
    at: f64,
    /// Arrivals until the next one of this part, including it.
    remaining: u32,
    of: u32,
}

impl<D: Draw + 'static> EveryNth<D> {
    pub fn new_process(draw: D, spec: &PartSpec) -> Box<dyn Process> {
        let Part { index, of } = spec.part;
        Box::new(Self {
            draw,
            random: spec.seeds.shared_stream(),
            gap: spec.gap,
            at: 0.0,
            remaining: index + 1,
            of,
        })
    }
}

impl<D: Draw> Process for EveryNth<D> {
    #[inline]
    fn next(&mut self) -> f64 {
        // Add the gaps one by one, so that all parts round identically.
        for _ in 0..self.remaining {
            self.at += self.draw.gap(&mut self.random) * self.gap;
        }
        self.remaining = self.of;
        self.at
    }
}

/// A process in nanoseconds without a schedule.
pub struct Steady(pub Box<dyn Process>);

impl Arrivals for Steady {
    #[inline]
    fn next_scheduled(&mut self) -> Nanos {
        Nanos(self.0.next() as u64)
    }
}
