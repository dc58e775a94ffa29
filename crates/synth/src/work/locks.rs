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

/// What a thread does while it waits.
pub(crate) trait Meanwhile {
    /// Whether it runs at this moment: one that stands still takes no lock that is free, and does not fall asleep.
    fn runs(&mut self, moment: Nanos) -> bool;

    /// Looks around; whether to give up.
    fn gives_up(&mut self) -> bool;
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

    /// From spinning to sleeping; false if it was called before that.
    fn falls_asleep(&self) -> bool {
        self.state.compare_exchange(SPINS, SLEEPS, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Sleeps until called, and until the wake-up has taken as long as it should; false if it gives up.
    fn sleep(&self, manner: Manner, meanwhile: &mut impl Meanwhile) -> bool {
        while !self.is_called() {
            std::thread::park_timeout(TICK);
            if !self.is_called() && meanwhile.gives_up() {
                return false;
            }
        }
        let awake = Nanos(self.called.load(Ordering::Relaxed)).saturating_add(Nanos(manner.wake_ns as u64));
        while now() < awake {
            std::hint::spin_loop();
        }
        true
    }
}

impl Lock {
    /// Takes it if it is free.
    #[inline]
    pub(crate) fn try_take(&self) -> bool {
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits for it; false if the waiter gave up.
    pub(crate) fn wait(
        &self,
        me: usize,
        waiters: &[Waiter],
        manner: Manner,
        meanwhile: &mut impl Meanwhile,
    ) -> bool {
        let mine = &waiters[me];
        // Who is handed the lock stands in line from the first; else only those do that sleep.
        let handed = manner.release == Release::Handoff;
        loop {
            mine.state.store(SPINS, Ordering::Release);
            if handed && self.line_up(me) {
                return true;
            }
            let has_it = |runs: bool| if handed { mine.is_called() } else { runs && self.try_take() };
            match spin(manner, has_it, meanwhile) {
                Some(true) => return true,
                Some(false) => return self.leave_line(me, handed),
                None => {}
            }
            if !mine.falls_asleep() {
                return true; // handed over in this very moment
            }
            // Whoever releases looks into the line afterwards, so it is there or free.
            if !handed && self.line_up(me) {
                return true;
            }
            if !mine.sleep(manner, meanwhile) {
                return self.leave_line(me, handed);
            }
            if handed {
                return true;
            }
        }
    }

    /// Takes it if it is free, else its place at the end of the line.
    fn line_up(&self, me: usize) -> bool {
        let mut line = self.line();
        let taken = self.try_take();
        if !taken {
            line.push_back(me);
        }
        taken
    }

    /// Gives up; true if the lock was handed over before that.
    fn leave_line(&self, me: usize, handed: bool) -> bool {
        let mut line = self.line();
        let place = line.iter().position(|&waiter| waiter == me);
        if let Some(place) = place {
            line.remove(place);
        }
        handed && place.is_none()
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

/// Spins until it has the lock (true), it gives up (false), or it has spun long enough.
fn spin(manner: Manner, has_it: impl Fn(bool) -> bool, meanwhile: &mut impl Meanwhile) -> Option<bool> {
    // The cast saturates: infinity is the end of all time.
    let until = now().saturating_add(Nanos(manner.spin_ns as u64));
    loop {
        let moment = now();
        let runs = meanwhile.runs(moment);
        if has_it(runs) {
            return Some(true);
        }
        if runs && moment >= until {
            return None;
        }
        if meanwhile.gives_up() {
            return Some(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Waits with patience, or without.
    struct Patient(bool);

    impl Meanwhile for Patient {
        fn runs(&mut self, _: Nanos) -> bool {
            true
        }

        fn gives_up(&mut self) -> bool {
            std::thread::yield_now();
            !self.0
        }
    }

    /// Stands still until a moment.
    struct Still(Nanos);

    impl Meanwhile for Still {
        fn runs(&mut self, moment: Nanos) -> bool {
            moment >= self.0
        }

        fn gives_up(&mut self) -> bool {
            false
        }
    }

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
                        assert!(lock.try_take() || lock.wait(me, waiters, manner, &mut Patient(true)));
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
                let manner = Manner { release, spin_ns, wake_ns: 0.0 };
                assert!(!lock.wait(0, &waiters, manner, &mut Patient(false)));
            }
            lock.release(&waiters, release);
            assert!(lock.try_take(), "{release:?}");
        }
    }

    #[test]
    fn who_stands_still_does_not_take_what_is_free() {
        let (lock, waiters) = (Lock::default(), [Waiter::default()]);
        let manner = Manner { release: Release::Barging, spin_ns: 1_000.0, wake_ns: 0.0 };
        let until = now() + Nanos::from_millis(2);
        assert!(lock.wait(0, &waiters, manner, &mut Still(until)));
        assert!(now() >= until);
    }
}
