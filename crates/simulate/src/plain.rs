//! Threads alone: a request starts when it has arrived and the first of the threads is free.

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_clone::Program;
use hindmost_random::Draws;

use crate::arrivals::Moments;
use crate::{Design, Row, SimulateError, Sink};

/// So many requests go by between two looks at the stop sign.
const BLOCK: u64 = 4_096;

/// Hot path: a few tens of nanoseconds a request, nothing allocated.
pub(crate) fn run(
    program: &Program,
    design: &Design,
    rate: Option<f64>,
    sink: &mut impl Sink,
    stop: &AtomicBool,
) -> Result<(), SimulateError> {
    let mut moments = Moments::new(&design.arrivals, rate);
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
            let draws = Draws::of(design.seed, index);
            let arrival_ns = moments.next(index, draws);
            let request = program.request(&mut sequence, draws, 0.0, 0.0);
            let demand_ns = request.service_ns + request.noise_ns;
            let start_ns = arrival_ns.max(free.first());
            let finish_ns = start_ns + demand_ns;
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
    Ok(())
}

/// When each thread is free: a heap, the earliest on top.
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
    fn the_earliest_is_on_top_whatever_comes() {
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
