//! Waiting and working by spinning. The sockets are polled meanwhile, and interruptions by the host are recorded.

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_clock::Nanos;
use hindmost_sys::this_thread;

use super::station::Station;
use crate::record::Gaps;
use crate::work::{now, Pauses};
use crate::{Occupy, SynthError};

/// Interval between two polls of the sockets during a service. It bounds the error of the arrival stamps and of the
/// order between connections; a poll that finds nothing takes 0.2 to 0.4 µs.
const POLL_INTERVAL: Nanos = Nanos::from_micros(1);
/// Do not poll this close to the end of a service: reading one socket takes about as long.
const POLL_GUARD: Nanos = Nanos::from_micros(3);
/// CPU time that a service may lack: less than two readings of the CPU clock take.
const TOLERATED_LACK: Nanos = Nanos(1_000);

/// Flags that stop a thread.
#[derive(Clone, Copy)]
pub(super) struct Flags<'a> {
    pub(super) stop: &'a AtomicBool,
    pub(super) failed: &'a AtomicBool,
}

impl Flags<'_> {
    pub(super) fn are_up(self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// Spin `until` a time, and record gaps. `poll` is called about every microsecond and returns whether to continue.
/// Return the actual end.
#[inline]
pub(crate) fn spin(
    until: Nanos,
    gaps: &mut Gaps,
    mut poll: impl FnMut() -> Result<bool, SynthError>,
) -> Result<Nanos, SynthError> {
    let mut last = now();
    let mut poll_at = last;
    loop {
        let time = now();
        gaps.note(time.saturating_sub(last));
        last = time;
        if time >= until {
            return Ok(time);
        }
        if time >= poll_at && until - time > POLL_GUARD {
            if !poll()? {
                return Ok(time);
            }
            last = now();
            poll_at = last + POLL_INTERVAL;
        }
        std::hint::spin_loop();
    }
}

/// Longest excess that a late service may take from the next one: very short services cost more than their drawn time.
/// A longer excess is interference by the host, and delays the queue as in any server.
pub(super) const CARRY: Nanos = Nanos::from_micros(50);

/// Spins through the services of a thread.
pub(super) struct Spinner {
    occupy: Occupy,
    /// Duration of one reading of the thread's CPU clock.
    cpu_read: Nanos,
    pub(super) gaps: Gaps,
}

impl Spinner {
    pub(super) fn new(occupy: Occupy) -> Self {
        Self { occupy, cpu_read: cpu_clock_cost(), gaps: Gaps::default() }
    }

    /// Return the most by which a service may start before its late predecessor ended. Services of CPU time get their
    /// whole time.
    pub(super) fn carry(&self) -> Nanos {
        match self.occupy {
            Occupy::Wall => CARRY,
            Occupy::Cpu => Nanos::ZERO,
        }
    }

    /// Wait until a time.
    pub(super) fn wait(
        &mut self,
        until: Nanos,
        station: &Station,
        flags: Flags,
    ) -> Result<Nanos, SynthError> {
        spin(until, &mut self.gaps, || {
            if flags.are_up() {
                return Ok(false);
            }
            station.poll(false)?;
            Ok(true)
        })
    }

    /// Work for `busy` until `end`, less `lead`. The end moves by the cost of arrivals and, for services of CPU time,
    /// by the time without CPU. Return the end and the cost of arrivals.
    ///
    /// The CPU clock is read only twice if the thread never lost the CPU, and early enough: a reading takes longer
    /// than short services.
    pub(super) fn work(
        &mut self,
        mut end: Nanos,
        busy: Nanos,
        lead: Nanos,
        pauses: &mut Pauses,
        station: &Station,
        flags: Flags,
    ) -> Result<(Nanos, Nanos), SynthError> {
        let is_wall = self.occupy == Occupy::Wall || busy.saturating_sub(lead).0 < 2 * self.cpu_read.0;
        let margin = if is_wall { lead } else { lead.saturating_add(self.cpu_read) };
        let before = if is_wall { Nanos::ZERO } else { Nanos(this_thread::cpu_time_ns()) };
        let mut arrivals = Nanos::ZERO;
        loop {
            let cost = station.queue.arrival_cost.take();
            if cost > Nanos::ZERO {
                arrivals += cost;
                end = pauses.through(end, cost);
            }
            spin(end.saturating_sub(margin), &mut self.gaps, || {
                station.poll(false)?;
                Ok(!(flags.are_up() || station.queue.arrival_cost.is_due()))
            })?;
            if flags.are_up() {
                return Ok((end, arrivals));
            }
            if station.queue.arrival_cost.is_due() {
                continue;
            }
            if is_wall {
                return Ok((end, arrivals));
            }
            let used = Nanos(this_thread::cpu_time_ns()).saturating_sub(before).saturating_add(self.cpu_read);
            let left = (busy + arrivals).saturating_sub(lead).saturating_sub(used);
            if left < TOLERATED_LACK {
                return Ok((end, arrivals));
            }
            end = pauses.through(end, left);
        }
    }
}

/// Return the median duration of reading the thread's CPU clock.
pub(crate) fn cpu_clock_cost() -> Nanos {
    let mut costs = [Nanos::ZERO; 33];
    for cost in &mut costs {
        let before = now();
        let _ = this_thread::cpu_time_ns();
        *cost = now() - before;
    }
    costs.sort_unstable();
    costs[costs.len() / 2]
}
