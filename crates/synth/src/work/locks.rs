//! The locks of a document, as real locks: a waiting thread spins, then sleeps in the kernel.
//!
//! | release | next owner of the lock |
//! | --- | --- |
//! | barging | any running thread; the oldest sleeping one is woken and tries again |
//! | hand-off | the oldest waiting thread, even before it has woken up |
//!
//! A wake-up takes at least as long as the document says: a thread that wakes up faster spins for the rest.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_clone::Release;

use super::now;

/// Longest sleep before the stop flag is checked.
const TICK: Duration = Duration::from_millis(100);

const SPINNING: u32 = 0;
const SLEEPING: u32 = 1;
/// The waiter owns the lock or, with barging, may try again.
const CALLED: u32 = 2;

/// A lock.
#[derive(Default)]
pub(crate) struct Lock {
    held: AtomicBool,
    /// Waiting threads, oldest first; with barging, only sleeping ones.
    waiters: Mutex<VecDeque<usize>>,
}

/// The waiting state of a thread, through which other threads call it.
#[derive(Default)]
pub(crate) struct Waiter {
    thread: OnceLock<Thread>,
    state: AtomicU32,
    /// Time of the call.
    called: AtomicU64,
}

/// How to wait for a lock.
#[derive(Clone, Copy)]
pub(crate) struct WaitPolicy {
    pub(crate) release: Release,
    /// Longest spin; infinite if it never sleeps.
    pub(crate) spin_ns: f64,
    pub(crate) wake_ns: f64,
}

/// What a thread does while it waits.
pub(crate) trait WhileWaiting {
    /// Whether the thread runs at this time: a paused thread neither takes a free lock nor falls asleep.
    fn is_running(&mut self, time: Nanos) -> bool;

    /// Poll for work and flags. Return whether to stop waiting.
    fn poll_gives_up(&mut self) -> bool;
}

impl Waiter {
    /// Register the calling thread.
    pub(crate) fn register(&self) {
        // A second registration would set the same thread.
        let _ = self.thread.set(std::thread::current());
    }

    fn call(&self) {
        self.called.store(now().0, Ordering::Relaxed);
        if self.state.swap(CALLED, Ordering::AcqRel) == SLEEPING {
            if let Some(thread) = self.thread.get() {
                thread.unpark();
            }
        }
    }

    fn is_called(&self) -> bool {
        self.state.load(Ordering::Acquire) == CALLED
    }

    /// Change from spinning to sleeping. Return false if the waiter was called before.
    fn fall_asleep(&self) -> bool {
        self.state.compare_exchange(SPINNING, SLEEPING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Sleep until called and until the wake-up time has passed. Return false if the thread gives up.
    fn sleep(&self, policy: WaitPolicy, activity: &mut impl WhileWaiting) -> bool {
        while !self.is_called() {
            std::thread::park_timeout(TICK);
            if !self.is_called() && activity.poll_gives_up() {
                return false;
            }
        }
        let awake = Nanos(self.called.load(Ordering::Relaxed)).saturating_add(Nanos(policy.wake_ns as u64));
        while now() < awake {
            std::hint::spin_loop();
        }
        true
    }
}

impl Lock {
    /// Take the lock if it is free.
    #[inline]
    pub(crate) fn try_take(&self) -> bool {
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Wait for the lock. Return false if the thread gives up.
    pub(crate) fn wait(
        &self,
        own: usize,
        waiters: &[Waiter],
        policy: WaitPolicy,
        activity: &mut impl WhileWaiting,
    ) -> bool {
        let waiter = &waiters[own];
        // With hand-off, a waiter queues at once; with barging, only before it sleeps.
        let is_handoff = policy.release == Release::Handoff;
        loop {
            waiter.state.store(SPINNING, Ordering::Release);
            if is_handoff && self.take_or_queue(own) {
                return true;
            }
            let has_it = |is_running: bool| {
                if is_handoff {
                    waiter.is_called()
                } else {
                    is_running && self.try_take()
                }
            };
            match spin(policy, has_it, activity) {
                Some(true) => return true,
                Some(false) => return self.leave_queue(own, is_handoff),
                None => {}
            }
            if !waiter.fall_asleep() {
                return true; // handed over just now
            }
            // A releasing thread checks the queue afterwards, so the waiter is queued or the lock is free.
            if !is_handoff && self.take_or_queue(own) {
                return true;
            }
            if !waiter.sleep(policy, activity) {
                return self.leave_queue(own, is_handoff);
            }
            if is_handoff {
                return true;
            }
        }
    }

    /// Take the lock if it is free, else join the queue. Return whether it was taken.
    fn take_or_queue(&self, own: usize) -> bool {
        let mut queue = self.queue();
        let is_taken = self.try_take();
        if !is_taken {
            queue.push_back(own);
        }
        is_taken
    }

    /// Leave the queue. Return true if the lock was handed over before that.
    fn leave_queue(&self, own: usize, is_handoff: bool) -> bool {
        let mut queue = self.queue();
        let place = queue.iter().position(|&thread| thread == own);
        if let Some(place) = place {
            queue.remove(place);
        }
        is_handoff && place.is_none()
    }

    /// Release the lock.
    pub(crate) fn release(&self, waiters: &[Waiter], release: Release) {
        let next = match release {
            Release::Barging => {
                self.held.store(false, Ordering::Release);
                self.queue().pop_front()
            }
            Release::Handoff => {
                let mut queue = self.queue();
                let next = queue.pop_front();
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

    fn queue(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Spin until the lock is taken (true), the thread gives up (false) or the spin time is over (None).
fn spin(policy: WaitPolicy, has_it: impl Fn(bool) -> bool, activity: &mut impl WhileWaiting) -> Option<bool> {
    // The cast saturates: infinity becomes the maximum.
    let until = now().saturating_add(Nanos(policy.spin_ns as u64));
    loop {
        let time = now();
        let is_running = activity.is_running(time);
        if has_it(is_running) {
            return Some(true);
        }
        if is_running && time >= until {
            return None;
        }
        if activity.poll_gives_up() {
            return Some(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Gives up at once unless the field is true.
    struct GiveUpUnless(bool);

    impl WhileWaiting for GiveUpUnless {
        fn is_running(&mut self, _: Nanos) -> bool {
            true
        }

        fn poll_gives_up(&mut self) -> bool {
            std::thread::yield_now();
            !self.0
        }
    }

    /// Pauses until a time.
    struct PausedUntil(Nanos);

    impl WhileWaiting for PausedUntil {
        fn is_running(&mut self, time: Nanos) -> bool {
            time >= self.0
        }

        fn poll_gives_up(&mut self) -> bool {
            false
        }
    }

    /// Threads take one lock repeatedly: it is never shared, and every thread gets it.
    fn check(release: Release, spin_ns: f64) {
        let (lock, inside, count) = (Lock::default(), AtomicU32::new(0), AtomicU64::new(0));
        let waiters: Vec<Waiter> = (0..4).map(|_| Waiter::default()).collect();
        let policy = WaitPolicy { release, spin_ns, wake_ns: 2_000.0 };
        std::thread::scope(|scope| {
            for own in 0..waiters.len() {
                let (lock, inside, count, waiters) = (&lock, &inside, &count, &waiters);
                scope.spawn(move || {
                    waiters[own].register();
                    for _ in 0..500 {
                        assert!(lock.try_take() || lock.wait(own, waiters, policy, &mut GiveUpUnless(true)));
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
        assert!(lock.try_take(), "the lock is free at the end");
    }

    #[test]
    fn a_lock_has_one_owner_and_every_thread_gets_it() {
        for release in [Release::Barging, Release::Handoff] {
            for spin_ns in [0.0, 1_000.0, f64::INFINITY] {
                check(release, spin_ns);
            }
        }
    }

    #[test]
    fn a_waiter_that_gives_up_does_not_block_the_lock() {
        for release in [Release::Barging, Release::Handoff] {
            let (lock, waiters) = (Lock::default(), [Waiter::default()]);
            assert!(lock.try_take());
            waiters[0].register();
            for spin_ns in [0.0, f64::INFINITY] {
                let policy = WaitPolicy { release, spin_ns, wake_ns: 0.0 };
                assert!(!lock.wait(0, &waiters, policy, &mut GiveUpUnless(false)));
            }
            lock.release(&waiters, release);
            assert!(lock.try_take(), "{release:?}");
        }
    }

    #[test]
    fn a_paused_waiter_does_not_take_a_free_lock() {
        let (lock, waiters) = (Lock::default(), [Waiter::default()]);
        let policy = WaitPolicy { release: Release::Barging, spin_ns: 1_000.0, wake_ns: 0.0 };
        let until = now() + Nanos::from_millis(2);
        assert!(lock.wait(0, &waiters, policy, &mut PausedUntil(until)));
        assert!(now() >= until);
    }
}
