//! Letting time pass: the sockets are polled meanwhile, and pauses that the host made are noted.

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_clock::Nanos;
use hindmost_sys::this_thread;

use super::station::Station;
use crate::record::Gaps;
use crate::work::{now, Pauses};
use crate::{Occupy, SynthError};

/// Pause between two looks at the sockets while a service time passes. It bounds the error of the
/// arrival stamps and of the order between connections; a look that finds nothing costs 0.2-0.4 us.
const LOOK_EVERY: Nanos = Nanos::from_micros(1);
/// No look is begun this close to the end of a service: reading one socket takes about as long.
const LOOK_GUARD: Nanos = Nanos::from_micros(3);
/// CPU time that a service may lack: less than two readings of the CPU clock take.
const ENOUGH: Nanos = Nanos(1_000);

/// When a thread is to stop.
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

/// Spins `until` a moment and notes what pauses it meets. `look` is called about every microsecond; it says
/// whether to go on. Returns when it really was over.
#[inline]
pub(crate) fn spin(
    until: Nanos,
    gaps: &mut Gaps,
    mut look: impl FnMut() -> Result<bool, SynthError>,
) -> Result<Nanos, SynthError> {
    let mut last = now();
    let mut look_at = last;
    loop {
        let moment = now();
        gaps.note(moment.saturating_sub(last));
        last = moment;
        if moment >= until {
            return Ok(moment);
        }
        if moment >= look_at && until - moment > LOOK_GUARD {
            if !look()? {
                return Ok(moment);
            }
            last = now();
            look_at = last + LOOK_EVERY;
        }
        std::hint::spin_loop();
    }
}

/// A service that ended late by no more than this takes its excess out of the next one: very short
/// services cost more than they take. What is above was not ours (the host took the CPU away) and delays
/// the queue as it would in any server.
pub(super) const CARRY: Nanos = Nanos::from_micros(50);

/// How a thread passes its services.
pub(super) struct Spinner {
    occupy: Occupy,
    /// What reading the thread's CPU clock takes.
    cpu_read: Nanos,
    pub(super) gaps: Gaps,
}

impl Spinner {
    pub(super) fn new(occupy: Occupy) -> Self {
        Self { occupy, cpu_read: cpu_clock_cost(), gaps: Gaps::default() }
    }

    /// By how much a service that ended late may begin before its predecessor's end, at most. Of CPU time each gets
    /// its own, whole.
    pub(super) fn carry(&self) -> Nanos {
        match self.occupy {
            Occupy::Wall => CARRY,
            Occupy::Cpu => Nanos::ZERO,
        }
    }

    /// Lets time pass until `until`.
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

    /// Works for `busy` until `end`, less `lead`. The end moves by what arrivals take meanwhile, and where services are of
    /// CPU time, by what this thread was not given until then; returns the end, and what arrivals took.
    ///
    /// The CPU clock is read twice where it lacks nothing, and in time: a reading takes longer than short services do.
    pub(super) fn work(
        &mut self,
        mut end: Nanos,
        busy: Nanos,
        lead: Nanos,
        pauses: &mut Pauses,
        station: &Station,
        flags: Flags,
    ) -> Result<(Nanos, Nanos), SynthError> {
        let of_wall = self.occupy == Occupy::Wall || busy.saturating_sub(lead).0 < 2 * self.cpu_read.0;
        let early = if of_wall { lead } else { lead.saturating_add(self.cpu_read) };
        let before = if of_wall { Nanos::ZERO } else { Nanos(this_thread::cpu_time_ns()) };
        let mut arrivals = Nanos::ZERO;
        loop {
            let taken = station.queue.arrival_cost.take();
            if taken > Nanos::ZERO {
                arrivals += taken;
                end = pauses.through(end, taken);
            }
            spin(end.saturating_sub(early), &mut self.gaps, || {
                station.poll(false)?;
                Ok(!(flags.are_up() || station.queue.arrival_cost.is_due()))
            })?;
            if flags.are_up() {
                return Ok((end, arrivals));
            }
            if station.queue.arrival_cost.is_due() {
                continue;
            }
            if of_wall {
                return Ok((end, arrivals));
            }
            let used = Nanos(this_thread::cpu_time_ns()).saturating_sub(before).saturating_add(self.cpu_read);
            let left = (busy + arrivals).saturating_sub(lead).saturating_sub(used);
            if left < ENOUGH {
                return Ok((end, arrivals));
            }
            end = pauses.through(end, left);
        }
    }
}

/// What one reading of the thread's CPU clock takes: the median of some.
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
