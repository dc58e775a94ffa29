//! Requests of an open loop that are made in this process: at the moments of a law, whatever became of those
//! before. The threads that serve them look at the clock themselves, so that none is there for that alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_clone::arrivals::{route, Moments};
use hindmost_random::Draws;

use super::job::Job;
use super::queue::RequestQueue;
use crate::work::now;

/// Closer moments are waited for without sleep.
const CLOSE: Nanos = Nanos::from_micros(200);
/// The longest sleep: how soon a thread sees that the run is over.
const NAP: Nanos = Nanos::from_millis(20);

/// The requests of one queue.
pub(super) struct Schedule {
    seed: u64,
    /// What moments count from.
    origin: Nanos,
    /// Of all queues.
    requests: u64,
    /// This one, of so many.
    queue: (usize, usize),
    /// When the next request is due, for a look without the lock; the end of all time once there is none.
    due: AtomicU64,
    ahead: Mutex<Ahead>,
}

/// What has not been taken yet.
struct Ahead {
    /// The next request to be drawn for.
    index: u64,
    /// ns from the origin.
    moments: Moments,
    found: Vec<Job>,
}

impl Schedule {
    /// `requests` that arrive at `moments` and are dealt among queues; `queue`: number of this one, and how many there
    /// are. They are those that the simulator draws from the same seed.
    pub(super) fn new(
        seed: u64,
        origin: Nanos,
        moments: Moments,
        requests: u64,
        queue: (usize, usize),
    ) -> Self {
        let schedule = Self {
            seed,
            origin,
            requests,
            queue,
            due: AtomicU64::new(0),
            ahead: Mutex::new(Ahead { index: 0, moments, found: Vec::with_capacity(1) }),
        };
        let first = schedule.draw(&mut schedule.ahead.lock().unwrap_or_else(PoisonError::into_inner));
        schedule.due.store(first.0, Ordering::Release);
        schedule
    }

    /// Draws on, to the next request of this queue.
    fn draw(&self, ahead: &mut Ahead) -> Nanos {
        let (number, queues) = self.queue;
        while ahead.index < self.requests {
            let draws = Draws::of(self.seed, ahead.index);
            ahead.index += 1;
            let due_ns = ahead.moments.next(draws);
            if route(draws, queues) == number {
                return self.origin + Nanos(due_ns as u64);
            }
        }
        Nanos::MAX
    }

    fn next_due(&self) -> Nanos {
        Nanos(self.due.load(Ordering::Acquire))
    }

    /// Puts what is due into the queue; a thread that may sleep does so for a while if nothing is due soon.
    #[inline]
    pub(super) fn poll(&self, queue: &RequestQueue, may_sleep: bool) {
        if now() >= self.next_due() {
            self.put(|found| queue.arrive(found));
        } else if may_sleep && queue.is_empty() {
            self.sleep();
        }
    }

    /// Hands over what is due, in order; nothing if another thread does so.
    fn put(&self, mut receive: impl FnMut(&mut Vec<Job>)) {
        let Ok(mut ahead) = self.ahead.try_lock() else { return };
        while now() >= self.next_due() {
            // It arrived when it was due, however late it is looked for.
            ahead.found.push(Job::made_here(self.next_due()));
            receive(&mut ahead.found);
            let next = self.draw(&mut ahead);
            self.due.store(next.0, Ordering::Release);
        }
    }

    /// Sleeps for a while if nothing is due soon.
    fn sleep(&self) {
        let left = self.next_due().saturating_sub(now());
        if left > CLOSE {
            thread::sleep(Duration::from_nanos(left.saturating_sub(CLOSE).min(NAP).0));
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_arrivals::{Gamma, Law};
    use hindmost_clock::Rate;

    use super::*;

    fn moments() -> Moments {
        Moments::new(&Law::Gamma(Gamma { shape: 2.0 }), Rate::per_second(1e6).unwrap(), 3).unwrap()
    }

    #[test]
    fn queues_share_the_requests_and_each_is_due_once() {
        let origin = now().saturating_sub(Nanos::from_millis(1_000));
        let of = |queue| Schedule::new(3, origin, moments(), 1_000, queue);
        let all = |schedule: &Schedule| -> Vec<Nanos> {
            let mut all = Vec::new();
            schedule.put(|found| all.extend(found.drain(..).map(|job| job.arrival)));
            all
        };
        let one = all(&of((0, 1)));
        assert_eq!(one.len(), 1_000);
        assert!(one.windows(2).all(|pair| pair[0] <= pair[1]) && one[0] >= origin);
        let mut dealt: Vec<Nanos> = (0..3).flat_map(|number| all(&of((number, 3)))).collect();
        dealt.sort_unstable();
        assert_eq!(dealt, one);
    }

    #[test]
    fn what_is_not_due_is_not_given_out() {
        let later = now() + Nanos::from_millis(60_000);
        Schedule::new(3, later, moments(), 10, (0, 1)).put(|_| panic!("it is too early"));
    }
}
