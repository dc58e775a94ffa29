//! The locks of a document, natively: a waiter spins, then sleeps in the kernel.
//!
//! | release | who has the lock next |
//! | --- | --- |
//! | barging | it is free; whoever is awake takes it, the oldest sleeper is woken and tries again |
//! | hand-off | the oldest waiter has it at once, also while it still wakes up |
//!
//! A wake-up takes at least as long as the document says: a sleeper that the kernel woke faster waits for the rest.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_clone::Release;

use super::now;

/// Longest sleep without a look at the stop flag.
const TICK: Duration = Duration::from_millis(100);

const SPINS: u32 = 0;
const SLEEPS: u32 = 1;
/// The lock is this waiter's, or (barging) it may try again.
const CALLED: u32 = 2;

/// One lock.
#[derive(Default)]
pub(crate) struct Lock {
    held: AtomicBool,
    /// Threads that wait, oldest first; with barging, only those that sleep.
    waiters: Mutex<VecDeque<usize>>,
}

/// What others need to reach a thread that waits: one for each thread of the server.
#[derive(Default)]
pub(crate) struct Waiter {
    thread: OnceLock<Thread>,
    state: AtomicU32,
    /// When it was called.
    called: AtomicU64,
}

/// How to wait for a lock.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) release: Release,
    /// Longest spin; infinite where it never sleeps.
    pub(crate) spin_ns: f64,
    pub(crate) wake_ns: f64,
}

impl Waiter {
    /// Says which thread this is; by the thread itself.
    pub(crate) fn introduce(&self) {
        // It is introduced once; a second time would say the same.
        let _ = self.thread.set(std::thread::current());
    }

    fn call(&self) {
        self.called.store(now().0, Ordering::Relaxed);
        if self.state.swap(CALLED, Ordering::AcqRel) == SLEEPS {
            if let Some(thread) = self.thread.get() {
                thread.unpark();
            }
        }
    }

    fn is_called(&self) -> bool {
        self.state.load(Ordering::Acquire) == CALLED
    }
}

impl Lock {
    /// Takes it if it is free.
    #[inline]
    pub(crate) fn try_take(&self) -> bool {
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits for it. `idle` is called again and again while spinning, and says whether to give up.
    pub(crate) fn wait(
        &self,
        me: usize,
        waiters: &[Waiter],
        manner: Manner,
        mut idle: impl FnMut() -> bool,
    ) -> bool {
        match manner.release {
            Release::Barging => self.wait_barging(me, waiters, manner, &mut idle),
            Release::Handoff => self.wait_in_line(me, waiters, manner, &mut idle),
        }
    }

    fn wait_barging(
        &self,
        me: usize,
        waiters: &[Waiter],
        manner: Manner,
        idle: &mut dyn FnMut() -> bool,
    ) -> bool {
        loop {
            let until = spin_end(manner);
            while now() < until {
                if self.try_take() {
                    return true;
                }
                if idle() {
                    return false;
                }
            }
            waiters[me].state.store(SLEEPS, Ordering::Release);
            {
                let mut line = self.line();
                // Whoever releases looks into the line afterwards, so it is here or free.
                if self.try_take() {
                    return true;
                }
                line.push_back(me);
            }
            if !sleep(&waiters[me], manner, idle) {
                self.line().retain(|&waiter| waiter != me);
                return false;
            }
        }
    }

    fn wait_in_line(
        &self,
        me: usize,
        waiters: &[Waiter],
        manner: Manner,
        idle: &mut dyn FnMut() -> bool,
    ) -> bool {
        waiters[me].state.store(SPINS, Ordering::Release);
        {
            let mut line = self.line();
            if self.try_take() {
                return true;
            }
            line.push_back(me);
        }
        let until = spin_end(manner);
        while now() < until {
            if waiters[me].is_called() {
                return true;
            }
            if idle() {
                return self.leave_line(me, waiters);
            }
        }
        // Called in this very moment: it is ours, and nobody has to wake us.
        let state = &waiters[me].state;
        if state.compare_exchange(SPINS, SLEEPS, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return true;
        }
        sleep(&waiters[me], manner, idle) || self.leave_line(me, waiters)
    }

    /// Gives up; true if the lock came before that.
    fn leave_line(&self, me: usize, waiters: &[Waiter]) -> bool {
        let mut line = self.line();
        line.retain(|&waiter| waiter != me);
        waiters[me].is_called()
    }

    /// Lets it go.
    pub(crate) fn release(&self, waiters: &[Waiter], how: Release) {
        let next = match how {
            Release::Barging => {
                self.held.store(false, Ordering::Release);
                self.line().pop_front()
            }
            Release::Handoff => {
                let mut line = self.line();
                let next = line.pop_front();
                if next.is_none() {
                    self.held.store(false, Ordering::Release);
                }
                next
            }
        };
        if let Some(next) = next {
            waiters[next].call();
        }
    }

    fn line(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spin_end(manner: Manner) -> Nanos {
    // The cast saturates: infinity is the end of all time.
    now().saturating_add(Nanos(manner.spin_ns as u64))
}

/// Sleeps until called, and until the wake-up has taken as long as it should; false if it is to give up.
fn sleep(me: &Waiter, manner: Manner, idle: &mut dyn FnMut() -> bool) -> bool {
    while !me.is_called() {
        std::thread::park_timeout(TICK);
        if !me.is_called() && idle() {
            return false;
        }
    }
    let awake = Nanos(me.called.load(Ordering::Relaxed)).saturating_add(Nanos(manner.wake_ns as u64));
    while now() < awake {
        std::hint::spin_loop();
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Threads that take one lock again and again: nobody shares it, nobody is forgotten.
    fn check(release: Release, spin_ns: f64) {
        let (lock, inside, count) = (Lock::default(), AtomicU32::new(0), AtomicU64::new(0));
        let waiters: Vec<Waiter> = (0..4).map(|_| Waiter::default()).collect();
        let manner = Manner { release, spin_ns, wake_ns: 2_000.0 };
        std::thread::scope(|scope| {
            for me in 0..waiters.len() {
                let (lock, inside, count, waiters) = (&lock, &inside, &count, &waiters);
                scope.spawn(move || {
                    waiters[me].introduce();
                    for _ in 0..500 {
                        let idle = || {
                            std::thread::yield_now();
                            false
                        };
                        assert!(lock.try_take() || lock.wait(me, waiters, manner, idle));
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "{release:?} is not shared");
                        for _ in 0..100 {
                            std::hint::spin_loop();
                        }
                        inside.fetch_sub(1, Ordering::SeqCst);
                        count.fetch_add(1, Ordering::Relaxed);
                        lock.release(waiters, release);
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 2_000);
        assert!(lock.try_take(), "free in the end");
    }

    #[test]
    fn a_lock_is_held_by_one_and_goes_to_all() {
        for release in [Release::Barging, Release::Handoff] {
            for spin_ns in [0.0, 1_000.0, f64::INFINITY] {
                check(release, spin_ns);
            }
        }
    }

    #[test]
    fn who_gives_up_is_not_waited_for() {
        for release in [Release::Barging, Release::Handoff] {
            let (lock, waiters) = (Lock::default(), [Waiter::default()]);
            assert!(lock.try_take());
            waiters[0].introduce();
            for spin_ns in [0.0, f64::INFINITY] {
                assert!(!lock.wait(0, &waiters, Manner { release, spin_ns, wake_ns: 0.0 }, || true));
            }
            lock.release(&waiters, release);
            assert!(lock.try_take(), "{release:?}");
        }
    }
}
