//! The coordinator's loop: moves the workers of a client through the phases.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, SystemTime};

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_host::Tree;
use hindmost_plan::Plan;

use super::controller::{Command, Controller, Event};
use super::exit_notifier::ExitNotifier;
use crate::engine::control::{Control, Progress};
use crate::engine::report::host::HostReading;
use crate::engine::report::summary::PhaseTimes;
use crate::engine::report::worker_totals::WorkerTotals;
use crate::stop::{self, Ended, Stop};
use crate::LoadError;

/// How often the coordinator polls before the measurement.
const POLL: Nanos = Nanos::from_millis(100);
/// How often the coordinator reports progress before the measurement.
const REPORT: Nanos = Nanos::from_millis(1_000);
/// Longest sleep during the measurement if the controller cannot wake us. Otherwise the coordinator sleeps
/// through the measurement and reports nothing: on a small host the controller shares a CPU with a worker,
/// and reading one report takes it 0.1 ms.
const SILENCE: Nanos = Nanos::from_millis(1_000);

pub type Handle<'scope> = ScopedJoinHandle<'scope, Result<WorkerTotals, LoadError>>;

/// Move the workers through the phases.
pub(super) fn run_phases(
    plan: &Plan,
    control: &Control,
    progress: &[Arc<Progress>],
    handles: &[Handle],
    all_ready: &Receiver<Vec<u16>>,
    exits: &mut ExitNotifier,
    controller: &mut dyn Controller,
) -> Result<PhaseTimes, LoadError> {
    let ports = await_workers(handles, all_ready, controller)?;
    controller.report(&Event::Ready { ports })?;
    let start = await_go(controller)?;
    control.begin(start);
    let clock = MonotonicClock;
    let started = SystemTime::now() + Duration::from_nanos(start.saturating_sub(clock.now()).0);

    let read_host = || HostReading::take(&Tree::new("/"));
    let mut steadiness = Steadiness::new(plan, progress);
    let mut before = None;
    let mut reported = start;
    loop {
        let end = control.timeline().end;
        let silent = end != Nanos::MAX;
        let left = end.saturating_sub(clock.now());
        let mut ended = false;
        let command = match controller.descriptor() {
            Some(fd) if silent => {
                // Sleep until the last replies are in too: waking at the end would disturb their measurement.
                ended = exits.wait(fd, left + Nanos::from_secs_f64(plan.timeout_s));
                controller.next_command(Nanos::ZERO)?
            }
            _ => controller.next_command(if silent { left.min(SILENCE) } else { POLL })?,
        };
        match command {
            Some(Command::Measure { from_ns }) => {
                let calibrate = Nanos(from_ns);
                let measure = calibrate + Nanos::from_secs_f64(plan.phases.calibration_s);
                control.set_phases(calibrate, measure, measure + Nanos::from_secs_f64(plan.phases.measure_s));
                // This read takes some milliseconds of the remaining warm-up, whose requests are not
                // recorded.
                before = Some(read_host());
            }
            Some(Command::Stop) => return Err(LoadError::Aborted),
            Some(Command::Go { .. }) | None => {}
        }
        let now = clock.now();
        let elapsed = now.saturating_sub(start);
        if let Some(ended) = steadiness.update(elapsed, progress) {
            controller.report(&Event::Warm { ended, after_s: elapsed.as_secs_f64() })?;
        }
        if !silent && now.saturating_sub(reported) >= REPORT {
            reported = now;
            controller.report(&progress_event(elapsed, progress))?;
        }
        let timeline = control.timeline();
        if now >= timeline.end || ended || handles.iter().any(ScopedJoinHandle::is_finished) {
            return Ok(PhaseTimes {
                started,
                measure: timeline.measure,
                warmup_s: timeline.calibrate.saturating_sub(start).as_secs_f64(),
                warmup_ended: steadiness.ended.unwrap_or(Ended::Elapsed),
                before: before.unwrap_or_else(read_host),
            });
        }
    }
}

/// Wait until every worker has opened its connections and stored its keys. Return the ports to capture.
fn await_workers(
    handles: &[Handle],
    all_ready: &Receiver<Vec<u16>>,
    controller: &mut dyn Controller,
) -> Result<Vec<u16>, LoadError> {
    let mut waiting = handles.len();
    let mut ports = Vec::new();
    while waiting > 0 {
        match all_ready.recv_timeout(Duration::from_nanos(POLL.0)) {
            Ok(mine) => {
                waiting -= 1;
                ports.extend(mine);
            }
            Err(RecvTimeoutError::Timeout) => {
                if controller.next_command(Nanos::ZERO)? == Some(Command::Stop) {
                    return Err(LoadError::Aborted);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Aborted),
        }
        // `join` will return the worker's own error.
        if handles.iter().any(ScopedJoinHandle::is_finished) {
            return Err(LoadError::Aborted);
        }
    }
    Ok(ports)
}

fn await_go(controller: &mut dyn Controller) -> Result<Nanos, LoadError> {
    loop {
        match controller.next_command(POLL)? {
            Some(Command::Go { start_ns }) => return Ok(Nanos(start_ns)),
            Some(Command::Stop) => return Err(LoadError::Aborted),
            Some(Command::Measure { .. }) | None => {}
        }
    }
}

fn progress_event(elapsed: Nanos, progress: &[Arc<Progress>]) -> Event {
    let sum = |pick: fn(&Progress) -> u64| progress.iter().map(|p| pick(p)).sum();
    Event::Progress {
        elapsed_s: elapsed.as_secs_f64(),
        sent: sum(|p| p.sent.load(Ordering::Relaxed)),
        replies: sum(|p| p.replies.load(Ordering::Relaxed)),
    }
}

/// Decides when the warm-up is over: when the latencies of every worker are steady.
struct Steadiness {
    rules: Vec<Box<dyn Stop>>,
    ends: Vec<Option<Ended>>,
    ended: Option<Ended>,
}

impl Steadiness {
    fn new(plan: &Plan, progress: &[Arc<Progress>]) -> Self {
        let rules = progress.iter().map(|_| stop::warmup(&plan.phases.warmup)).collect();
        Self { rules, ends: vec![None; progress.len()], ended: None }
    }

    /// Return how the warm-up ended, once, as soon as it has.
    fn update(&mut self, elapsed: Nanos, progress: &[Arc<Progress>]) -> Option<Ended> {
        if self.ended.is_some() {
            return None;
        }
        for ((rule, end), progress) in self.rules.iter_mut().zip(&mut self.ends).zip(progress) {
            *end = end.or_else(|| rule.decide(elapsed, &progress.series.snapshot()));
        }
        let all: Option<Vec<Ended>> = self.ends.iter().copied().collect();
        let never = |ends: &Vec<Ended>| ends.contains(&Ended::NeverSteady);
        self.ended =
            all.and_then(|ends| if never(&ends) { Some(Ended::NeverSteady) } else { ends.first().copied() });
        self.ended
    }
}
