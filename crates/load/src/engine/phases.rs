//! The coordinator: brings the workers of an instance through the phases.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, SystemTime};

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_host::Tree;
use hindmost_plan::Plan;

use super::account::HostReading;
use super::bell::Bell;
use super::control::{Control, Progress};
use super::instance::Handle;
use super::link::{Command, Event, Link};
use crate::stop::{self, Ended, Stop};
use crate::LoadError;

/// How often the coordinator looks up before the measurement.
const LOOK: Nanos = Nanos::from_millis(100);
/// How often progress is told before the measurement.
const TELL: Nanos = Nanos::from_millis(1_000);
/// The longest sleep during the measurement where nobody outside can wake us. Otherwise we sleep it all
/// through, and nothing is told: on a small host whoever listens shares a processor with a worker, and a
/// word costs it a tenth of a millisecond.
const SILENCE: Nanos = Nanos::from_millis(1_000);

/// What the coordinator learned on the way.
pub(super) struct Followed {
    pub started: SystemTime,
    pub warmup_s: f64,
    pub warmup_ended: Ended,
    /// The host as it was before the measurement.
    pub before: HostReading,
}

/// Brings the workers through the phases.
pub(super) fn follow(
    plan: &Plan,
    control: &Control,
    progress: &[Arc<Progress>],
    handles: &[Handle],
    all_ready: &Receiver<Vec<u16>>,
    bell: &mut Bell,
    link: &mut dyn Link,
) -> Result<Followed, LoadError> {
    let ports = await_workers(handles, all_ready, link)?;
    link.tell(&Event::Ready { ports })?;
    let start = await_go(link)?;
    control.begin(start);
    let clock = MonotonicClock;
    let started = SystemTime::now() + Duration::from_nanos(start.saturating_sub(clock.now()).0);

    let read_host = || HostReading::take(&Tree::new("/"));
    let mut warmth = Warmth::new(plan, progress);
    let mut before = None;
    let mut told = start;
    loop {
        let end = control.timeline().end;
        let silent = end != Nanos::MAX;
        let left = end.saturating_sub(clock.now());
        let mut rung = false;
        let heard = match link.descriptor() {
            Some(fd) if silent => {
                // The last replies come after the end, and we would be in their way.
                rung = bell.sleep(fd, left + Nanos::from_secs_f64(plan.timeout_s));
                link.hear(Nanos::ZERO)?
            }
            _ => link.hear(if silent { left.min(SILENCE) } else { LOOK })?,
        };
        match heard {
            Some(Command::Measure { from_ns }) => {
                let calibrate = Nanos(from_ns);
                let measure = calibrate + Nanos::from_secs_f64(plan.phases.calibration_s);
                control.fix(calibrate, measure, measure + Nanos::from_secs_f64(plan.phases.measure_s));
                // Some milliseconds of the warm-up that is left, whose requests are not recorded.
                before = Some(read_host());
            }
            Some(Command::Stop) => return Err(LoadError::Aborted),
            Some(Command::Go { .. }) | None => {}
        }
        let now = clock.now();
        let elapsed = now.saturating_sub(start);
        if let Some(ended) = warmth.look(elapsed, progress) {
            link.tell(&Event::Warm { ended, after_s: elapsed.as_secs_f64() })?;
        }
        if !silent && now.saturating_sub(told) >= TELL {
            told = now;
            link.tell(&how_far(elapsed, progress))?;
        }
        let timeline = control.timeline();
        if now >= timeline.end || rung || handles.iter().any(ScopedJoinHandle::is_finished) {
            return Ok(Followed {
                started,
                warmup_s: timeline.calibrate.saturating_sub(start).as_secs_f64(),
                warmup_ended: warmth.ended.unwrap_or(Ended::Elapsed),
                before: before.unwrap_or_else(read_host),
            });
        }
    }
}

/// Until every worker has its connections and the keys are stored; the ports of those to be witnessed.
fn await_workers(
    handles: &[Handle],
    all_ready: &Receiver<Vec<u16>>,
    link: &mut dyn Link,
) -> Result<Vec<u16>, LoadError> {
    let mut waiting = handles.len();
    let mut ports = Vec::new();
    while waiting > 0 {
        match all_ready.recv_timeout(Duration::from_nanos(LOOK.0)) {
            Ok(mine) => {
                waiting -= 1;
                ports.extend(mine);
            }
            Err(RecvTimeoutError::Timeout) => {
                if link.hear(Nanos::ZERO)? == Some(Command::Stop) {
                    return Err(LoadError::Aborted);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Aborted),
        }
        // What it died of is told when it is joined.
        if handles.iter().any(ScopedJoinHandle::is_finished) {
            return Err(LoadError::Aborted);
        }
    }
    Ok(ports)
}

fn await_go(link: &mut dyn Link) -> Result<Nanos, LoadError> {
    loop {
        match link.hear(LOOK)? {
            Some(Command::Go { start_ns }) => return Ok(Nanos(start_ns)),
            Some(Command::Stop) => return Err(LoadError::Aborted),
            Some(Command::Measure { .. }) | None => {}
        }
    }
}

fn how_far(elapsed: Nanos, progress: &[Arc<Progress>]) -> Event {
    let sum = |pick: fn(&Progress) -> u64| progress.iter().map(|p| pick(p)).sum();
    Event::Progress {
        elapsed_s: elapsed.as_secs_f64(),
        sent: sum(|p| p.sent.load(Ordering::Relaxed)),
        replies: sum(|p| p.replies.load(Ordering::Relaxed)),
    }
}

/// Whether the warm-up is over: when every worker's latencies say so.
struct Warmth {
    rules: Vec<Box<dyn Stop>>,
    ends: Vec<Option<Ended>>,
    ended: Option<Ended>,
}

impl Warmth {
    fn new(plan: &Plan, progress: &[Arc<Progress>]) -> Self {
        let rules = progress.iter().map(|_| stop::warmup(&plan.phases.warmup)).collect();
        Self { rules, ends: vec![None; progress.len()], ended: None }
    }

    /// How the warm-up ended, once, when it has.
    fn look(&mut self, elapsed: Nanos, progress: &[Arc<Progress>]) -> Option<Ended> {
        if self.ended.is_some() {
            return None;
        }
        for ((rule, end), progress) in self.rules.iter_mut().zip(&mut self.ends).zip(progress) {
            *end = end.or_else(|| rule.look(elapsed, &progress.series.snapshot()));
        }
        let all: Option<Vec<Ended>> = self.ends.iter().copied().collect();
        let never = |ends: &Vec<Ended>| ends.contains(&Ended::NeverSteady);
        self.ended =
            all.and_then(|ends| if never(&ends) { Some(Ended::NeverSteady) } else { ends.first().copied() });
        self.ended
    }
}
