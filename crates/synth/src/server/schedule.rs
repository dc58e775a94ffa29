//! Open-loop requests generated in this process at the times of a law, independent of earlier requests. The serving
//! threads check the clock themselves, so no extra thread is needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_clone::arrivals::{route, ArrivalTimes};
use hindmost_random::Draws;

use super::job::Job;
use super::queue::RequestQueue;
use crate::work::now;

/// Wait for closer arrivals without sleep.
const SPIN_BELOW: Nanos = Nanos::from_micros(200);
/// The longest sleep, which bounds the delay until a thread notices the end of the run.
const MAX_SLEEP: Nanos = Nanos::from_millis(20);

/// The arrivals of one queue.
pub(super) struct Schedule {
    seed: u64,
    /// Origin of arrival times.
    origin: Nanos,
    /// Number of requests of all queues.
    requests: u64,
    /// Number of this queue, and number of queues.
    queue: (usize, usize),
    /// Arrival of the next request, readable without the lock; `Nanos::MAX` after the last one.
    scheduled: AtomicU64,
    upcoming: Mutex<Upcoming>,
}

/// The next arrivals.
struct Upcoming {
    /// Number of the next request to draw.
    index: u64,
    /// Arrival times, in ns from the origin.
    times: ArrivalTimes,
    jobs: Vec<Job>,
}

impl Schedule {
    /// Schedule `requests` that arrive at `times`. `queue` is the number of this queue and the number of queues;
    /// requests are distributed among the queues. The simulator draws the same requests from the same seed.
    pub(super) fn new(
        seed: u64,
        origin: Nanos,
        times: ArrivalTimes,
        requests: u64,
        queue: (usize, usize),
    ) -> Self {
        let schedule = Self {
            seed,
            origin,
            requests,
            queue,
            scheduled: AtomicU64::new(0),
            upcoming: Mutex::new(Upcoming { index: 0, times, jobs: Vec::with_capacity(1) }),
        };
        let first = schedule.draw(&mut schedule.upcoming.lock().unwrap_or_else(PoisonError::into_inner));
        schedule.scheduled.store(first.0, Ordering::Release);
        schedule
    }

    /// Draw requests until one belongs to this queue.
    fn draw(&self, upcoming: &mut Upcoming) -> Nanos {
        let (number, queues) = self.queue;
        while upcoming.index < self.requests {
            let draws = Draws::new(self.seed, upcoming.index);
            upcoming.index += 1;
            let scheduled_ns = upcoming.times.next(draws);
            if route(draws, queues) == number {
                return self.origin + Nanos(scheduled_ns as u64);
            }
        }
        Nanos::MAX
    }

    fn next_scheduled(&self) -> Nanos {
        Nanos(self.scheduled.load(Ordering::Acquire))
    }

    /// Put due requests into the queue. A thread that may sleep does so for a while if no request is due soon.
    #[inline]
    pub(super) fn poll(&self, queue: &RequestQueue, may_sleep: bool) {
        if now() >= self.next_scheduled() {
            self.hand_over(|jobs| queue.arrive(jobs));
        } else if may_sleep && queue.is_empty() {
            self.sleep();
        }
    }

    /// Hand over due requests in order; do nothing if another thread does so.
    fn hand_over(&self, mut receive: impl FnMut(&mut Vec<Job>)) {
        let Ok(mut upcoming) = self.upcoming.try_lock() else { return };
        while now() >= self.next_scheduled() {
            // A request arrives when it is due, even if a thread notices it late.
            upcoming.jobs.push(Job::in_process(self.next_scheduled()));
            receive(&mut upcoming.jobs);
            let next = self.draw(&mut upcoming);
            self.scheduled.store(next.0, Ordering::Release);
        }
    }

    /// Sleep for a while if no request is due soon.
    fn sleep(&self) {
        let left = self.next_scheduled().saturating_sub(now());
        if left > SPIN_BELOW {
            thread::sleep(Duration::from_nanos(left.saturating_sub(SPIN_BELOW).min(MAX_SLEEP).0));
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_arrivals::{Gamma, Law};
    use hindmost_clock::Rate;

    use super::*;

    fn times() -> ArrivalTimes {
        ArrivalTimes::new(&Law::Gamma(Gamma { shape: 2.0 }), Rate::per_second(1e6).unwrap(), 3).unwrap()
    }

    #[test]
    fn queues_share_the_requests_without_duplicates() {
        let origin = now().saturating_sub(Nanos::from_millis(1_000));
        let schedule = |queue| Schedule::new(3, origin, times(), 1_000, queue);
        let all = |schedule: &Schedule| -> Vec<Nanos> {
            let mut all = Vec::new();
            schedule.hand_over(|jobs| all.extend(jobs.drain(..).map(|job| job.arrival)));
            all
        };
        let one = all(&schedule((0, 1)));
        assert_eq!(one.len(), 1_000);
        assert!(one.windows(2).all(|pair| pair[0] <= pair[1]) && one[0] >= origin);
        let mut distributed: Vec<Nanos> = (0..3).flat_map(|number| all(&schedule((number, 3)))).collect();
        distributed.sort_unstable();
        assert_eq!(distributed, one);
    }

    #[test]
    fn a_request_is_not_handed_over_before_it_is_due() {
        let later = now() + Nanos::from_millis(60_000);
        Schedule::new(3, later, times(), 10, (0, 1)).hand_over(|_| panic!("nothing is due"));
    }
}
