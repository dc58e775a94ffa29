//! Threads that never wait for each other: a request starts when it has arrived and the first thread is free.

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_clone::{LockPlace, Program};
use hindmost_random::Draws;

use crate::arrivals::Moments;
use crate::general::LockUse;
use crate::{Design, Row, SimulateError, Sink};

/// Requests between two checks of the stop flag.
const BLOCK: u64 = 4_096;

/// Hot path: a few tens of nanoseconds per request, without allocation.
pub(crate) fn run(
    program: &Program,
    design: &Design,
    rate: Option<f64>,
    sink: &mut impl Sink,
    stop: &AtomicBool,
) -> Result<Vec<LockUse>, SimulateError> {
    let mut locks = Locks::new(program, design.warmup);
    let mut moments = Moments::new(&design.arrivals, rate, design.seed)?;
    let mut sequence = program.sequence();
    let mut free = Free::new(program.threads);
    let total = design.total();
    let mut from = 0;
    while from < total {
        if stop.load(Ordering::Relaxed) {
            return Err(SimulateError::Interrupted);
        }
        let to = total.min(from + BLOCK);
        for index in from..to {
            let draws = Draws::new(design.seed, index);
            let arrival_ns = moments.next(index, draws);
            let request = program.request(&mut sequence, draws, 0.0, 0.0);
            let work_ns = request.service_ns + request.noise_ns;
            let start_ns = arrival_ns.max(free.first());
            let (demand_ns, finish_ns) = match &mut locks {
                None => (work_ns, start_ns + work_ns),
                Some(locks) => locks.pass(index, draws, start_ns, work_ns),
            };
            free.replace_first(finish_ns);
            sink.take(&Row {
                arrival_ns,
                start_ns,
                finish_ns,
                demand_ns,
                lock_wait_ns: 0.0,
                kind: request.kind,
            });
        }
        from = to;
    }
    Ok(locks.map_or_else(Vec::new, |locks| locks.uses))
}

/// The locks of a single thread: it always finds them free, so they only add to its work.
struct Locks<'a> {
    program: &'a Program,
    warmup: u64,
    uses: Vec<LockUse>,
}

impl<'a> Locks<'a> {
    fn new(program: &'a Program, warmup: u64) -> Option<Self> {
        let n = program.locks.len();
        (n > 0).then(|| Self { program, warmup, uses: vec![LockUse::default(); n] })
    }

    /// Return demand and end of a request that starts at `start_ns`; terms are added in the order of the
    /// general method.
    #[inline]
    fn pass(&mut self, index: u64, draws: Draws, start_ns: f64, work_ns: f64) -> (f64, f64) {
        let (mut demand_ns, mut now_ns) = (work_ns, start_ns);
        for place in [LockPlace::Before, LockPlace::After] {
            for (lock, seen) in self.program.locks.iter().zip(&mut self.uses) {
                if lock.at != place {
                    continue;
                }
                if let Some(hold) = lock.hold(draws) {
                    let until = now_ns + hold.hold_ns;
                    if index >= self.warmup {
                        seen.taken += 1;
                        seen.held_ns += until - now_ns;
                    }
                    demand_ns += hold.hold_ns;
                    now_ns = until;
                }
            }
            if place == LockPlace::Before {
                now_ns += work_ns;
            }
        }
        (demand_ns, now_ns)
    }
}

/// When each thread becomes free: a heap with the earliest on top.
struct Free(Box<[f64]>);

impl Free {
    fn new(threads: u32) -> Self {
        Self(vec![0.0; threads as usize].into())
    }

    #[inline]
    fn first(&self) -> f64 {
        self.0[0]
    }

    #[inline]
    fn replace_first(&mut self, time: f64) {
        let heap = &mut self.0;
        let mut hole = 0;
        loop {
            let mut child = 2 * hole + 1;
            if child >= heap.len() {
                break;
            }
            if child + 1 < heap.len() && heap[child + 1] < heap[child] {
                child += 1;
            }
            if heap[child] >= time {
                break;
            }
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = time;
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "times are moved, not computed")]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_time_is_always_on_top() {
        for threads in [1, 2, 3, 7] {
            let mut free = Free::new(threads);
            let mut all = vec![0.0; threads as usize];
            for step in 0..200_u64 {
                let time = free.first() + (step * 37 % 11) as f64;
                all.sort_by(f64::total_cmp);
                assert_eq!(free.first(), all[0]);
                all[0] = time;
                free.replace_first(time);
            }
        }
    }
}
