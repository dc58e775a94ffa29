//! Locks: their holders and waiters.
//!
//! ```text
//!            acquire, taken          spun long enough           released (barging: the oldest sleeper)
//!  (running) ---------------> Spins ------------------> Sleeps --------------> Wakes --> tries: takes it,
//!                               |                         |                              or spins anew
//!                               +--- released: the oldest |
//!                                    that runs takes it   +--- released (hand-off): holds it, after waking
//! ```

use hindmost_clone::Release;

use super::calendar::Event;
use super::state::{Server, Wait};
use crate::Sink;

impl<S: Sink> Server<'_, S> {
    /// A thread requests the lock of its step.
    pub(super) fn acquire(&mut self, thread: u32) {
        let now = self.now_ns;
        let (lock, instance) = self.current_lock(thread);
        self.workers[thread as usize].since_ns = now;
        if self.locks[lock][instance].held {
            self.locks[lock][instance].waiters.push_back(thread);
            if self.counts(thread) {
                self.uses[lock].waited += 1;
            }
            self.spin(thread);
        } else {
            self.hold(thread, now);
        }
    }

    /// A thread releases its lock; another may get it at once.
    pub(super) fn release(&mut self, thread: u32) {
        let now = self.now_ns;
        let (lock, instance) = self.current_lock(thread);
        let program = &self.program.locks[lock];
        self.locks[lock][instance].held = false;
        if program.release == Release::Handoff {
            if let Some(next) = self.locks[lock][instance].waiters.pop_front() {
                let wake_ns = if self.waits(next) == Wait::Sleeps { program.wake_ns } else { 0.0 };
                self.hold(next, now + wake_ns);
            }
            return;
        }
        // Like futex(2): one sleeper is woken, even if another thread gets the lock meanwhile.
        let waiters = &self.locks[lock][instance].waiters;
        if let Some(place) = waiters.iter().position(|&waiter| self.waits(waiter) == Wait::Sleeps) {
            let sleeper = self.move_to_end(lock, instance, place);
            let state = self.change_wait(sleeper, Wait::Wakes);
            let wakes = self.workers[sleeper as usize].stops.runs_at(now + program.wake_ns);
            self.calendar.enter(wakes, Event::Try { thread: sleeper, state });
        }
        for place in 0..self.locks[lock][instance].waiters.len() {
            let waiter = self.locks[lock][instance].waiters[place];
            if self.waits(waiter) != Wait::Spins {
                continue;
            }
            let worker = &mut self.workers[waiter as usize];
            let runs = worker.stops.runs_at(now);
            if runs <= now {
                self.locks[lock][instance].waiters.remove(place);
                self.hold(waiter, now);
                return;
            }
            self.calendar.enter(runs, Event::Try { thread: waiter, state: worker.state });
        }
    }

    /// A waiter tries its lock: after waking, or after it was stopped.
    pub(super) fn retry(&mut self, thread: u32, state: u32) {
        if self.is_void(thread, state) {
            return;
        }
        let (lock, instance) = self.current_lock(thread);
        if !self.locks[lock][instance].held {
            self.leave_queue(thread);
            self.hold(thread, self.now_ns);
        } else if self.waits(thread) == Wait::Wakes {
            self.spin(thread);
        }
    }

    /// A waiter has spun long enough: it sleeps, unless the lock is free.
    pub(super) fn end_spin(&mut self, thread: u32, state: u32) {
        if self.is_void(thread, state) {
            return;
        }
        let runs = self.workers[thread as usize].stops.runs_at(self.now_ns);
        if runs > self.now_ns {
            self.calendar.enter(runs, Event::SpinEnd { thread, state });
            return;
        }
        let (lock, instance) = self.current_lock(thread);
        if self.locks[lock][instance].held {
            self.sleep(thread);
        } else {
            self.leave_queue(thread);
            self.hold(thread, self.now_ns);
        }
    }

    fn spin(&mut self, thread: u32) {
        let (lock, _) = self.current_lock(thread);
        let spin_ns = self.program.locks[lock].spin_ns;
        if spin_ns <= 0.0 {
            self.sleep(thread);
            return;
        }
        let state = self.change_wait(thread, Wait::Spins);
        if spin_ns.is_finite() {
            self.calendar.enter(self.now_ns + spin_ns, Event::SpinEnd { thread, state });
        }
    }

    fn sleep(&mut self, thread: u32) {
        let (lock, instance) = self.current_lock(thread);
        self.change_wait(thread, Wait::Sleeps);
        if self.counts(thread) {
            self.uses[lock].slept += 1;
        }
        if self.program.locks[lock].release == Release::Barging {
            if let Some(place) = self.place_of(thread, lock, instance) {
                self.move_to_end(lock, instance, place);
            }
        }
    }

    /// Give the lock to the thread from `from` on, for the duration that its request needs.
    fn hold(&mut self, thread: u32, from: f64) {
        let (lock, instance) = self.current_lock(thread);
        self.locks[lock][instance].held = true;
        let counts = self.counts(thread);
        let worker = &mut self.workers[thread as usize];
        worker.wait = None;
        worker.state += 1;
        let waited = from - worker.since_ns;
        let done = worker.stops.done_at(from, worker.job.hold.hold_ns);
        worker.job.lock_wait_ns += waited;
        worker.job.demand_ns += worker.job.hold.hold_ns;
        if counts {
            let seen = &mut self.uses[lock];
            seen.taken += 1;
            seen.wait_ns += waited;
            seen.held_ns += done - self.now_ns;
        }
        self.calendar.enter(done, Event::Done { thread });
    }

    fn waits(&self, thread: u32) -> Wait {
        self.workers[thread as usize].wait.expect("threads in a lock's queue wait")
    }

    /// Change the way of waiting; return the number of the new state.
    fn change_wait(&mut self, thread: u32, wait: Wait) -> u32 {
        let worker = &mut self.workers[thread as usize];
        worker.wait = Some(wait);
        worker.state += 1;
        worker.state
    }

    fn is_void(&self, thread: u32, state: u32) -> bool {
        let worker = &self.workers[thread as usize];
        worker.wait.is_none() || worker.state != state
    }

    fn place_of(&self, thread: u32, lock: usize, instance: usize) -> Option<usize> {
        self.locks[lock][instance].waiters.iter().position(|&waiter| waiter == thread)
    }

    fn leave_queue(&mut self, thread: u32) {
        let (lock, instance) = self.current_lock(thread);
        if let Some(place) = self.place_of(thread, lock, instance) {
            self.locks[lock][instance].waiters.remove(place);
        }
    }

    fn move_to_end(&mut self, lock: usize, instance: usize, place: usize) -> u32 {
        let waiters = &mut self.locks[lock][instance].waiters;
        let thread = waiters.remove(place).expect("a place in the queue");
        waiters.push_back(thread);
        thread
    }
}
