//! An instance from plan to files: starts the workers, follows the phases, writes what they kept.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hindmost_clock::{Clock, MonotonicClock, Nanos, Rate};
use hindmost_host::counters::{CpuTimes, TcpCounters};
use hindmost_host::Tree;
use hindmost_plan::{Load, Plan, Warmup, Workload};

use super::control::{Control, Progress};
use super::link::{Command, Event, Link};
use super::output::Outputs;
use super::result::{Calibration, InstanceResult, ThreadReport, SCHEMA};
use super::thread;
use super::worker::{Parts, Spent, Worker};
use crate::arrivals::{self, Arrivals, FlatOut, Part};
use crate::protocol::{with_protocol, Protocol};
use crate::random::{stream, Purpose};
use crate::record::{Counts, Recorder, Window};
use crate::stop::{self, Ended};
use crate::transport::Tcp;
use crate::workload::{kinds, Requests};
use crate::LoadError;

/// How often the coordinator looks up before the measurement.
const LOOK: Nanos = Nanos::from_millis(100);
/// How often progress is told before the measurement.
const TELL: Nanos = Nanos::from_millis(1_000);
/// The longest sleep during the measurement. Nothing is told then: on a small host whoever listens
/// shares a processor with a worker, and a word costs it a tenth of a millisecond.
const SILENCE: Nanos = Nanos::from_millis(10_000);
/// Windows of latency over time: at least this long, and at most so many.
const WINDOW: Nanos = Nanos::from_millis(100);
const WINDOWS: u64 = 4_000;

/// Runs one instance of `plan`, leaves its files in the folder `place`, and returns its result.
///
/// # Errors
/// [`LoadError`]; no thread and no connection is left behind.
pub fn run(plan: &Plan, place: &Path, link: &mut dyn Link) -> Result<InstanceResult, LoadError> {
    let address = resolve(&plan.target.address)?;
    let outputs = Outputs::create(place, plan.instance.index)?;
    with_protocol!(plan.target.protocol, run_with(plan, address, outputs, link))
}

fn resolve(address: &str) -> Result<SocketAddr, LoadError> {
    let unresolvable = |source| LoadError::Unresolvable { address: address.to_owned(), source };
    let mut all = address.to_socket_addrs().map_err(unresolvable)?;
    all.next().ok_or_else(|| unresolvable(std::io::ErrorKind::NotFound.into()))
}

/// What a worker hands over at the end.
struct Finished {
    recorder: Recorder,
    spent: Spent,
    first_error: String,
    reconnects: u64,
}

type Handle<'scope> = ScopedJoinHandle<'scope, Result<Finished, LoadError>>;

fn run_with<P: Protocol>(
    plan: &Plan,
    address: SocketAddr,
    outputs: Outputs,
    link: &mut dyn Link,
) -> Result<InstanceResult, LoadError> {
    let control = Arc::new(Control::default());
    let (window, capacity) = windows(plan);
    let progress: Vec<Arc<Progress>> =
        plan.threads.iter().map(|_| Arc::new(Progress::new(capacity))).collect();

    let (followed, finished) = std::thread::scope(|scope| {
        let (ready, all_ready) = mpsc::channel();
        let mut handles = Vec::new();
        for (index, progress) in progress.iter().enumerate() {
            let (control, progress, ready) = (control.clone(), progress.clone(), ready.clone());
            handles.push(start(scope, index, move || {
                work::<P>(plan, address, index, control, progress, window, &ready)
            })?);
        }
        drop(ready);
        let followed = follow(plan, &control, &progress, &handles, &all_ready, link);
        if followed.is_err() {
            control.abort();
        }
        let finished = join(handles, &control);
        // What a worker says tells more than that the coordinator was left alone.
        match (followed, finished) {
            (Err(LoadError::Aborted), Err(e)) | (_, Err(e)) | (Err(e), _) => Err(e),
            (Ok(followed), Ok(finished)) => Ok((followed, finished)),
        }
    })?;

    let timeline = control.timeline();
    let series = progress.iter().map(|p| p.series.snapshot()).collect();
    let (result, recorder) = summarise(plan, &followed, finished, series);
    outputs.write(&result, recorder, kinds(&plan.workload), timeline, followed.started)?;
    link.tell(&Event::Done)?;
    Ok(result)
}

/// Length and number of the windows of latency over time.
fn windows(plan: &Plan) -> (Nanos, usize) {
    let warmup = match plan.phases.warmup {
        Warmup::Fixed { seconds } => seconds,
        Warmup::Auto { max_s, .. } => max_s,
    };
    // Other instances may be slower to get warm, hence the half more.
    let all = Nanos::from_secs_f64(
        (warmup * 1.5 + 2.0) + plan.phases.calibration_s + plan.phases.measure_s + plan.timeout_s,
    );
    let window = WINDOW.max(Nanos(all.0 / WINDOWS));
    (window, (all.0 / window.0) as usize + 1)
}

fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    index: usize,
    work: impl FnOnce() -> Result<Finished, LoadError> + Send + 'scope,
) -> Result<Handle<'scope>, LoadError> {
    std::thread::Builder::new()
        .name(format!("worker-{index}"))
        .spawn_scoped(scope, work)
        .map_err(LoadError::system("a worker thread cannot be started"))
}

/// A worker thread: pinned first, so that all its memory is near its processor.
fn work<P: Protocol>(
    plan: &Plan,
    address: SocketAddr,
    index: usize,
    control: Arc<Control>,
    progress: Arc<Progress>,
    window: Nanos,
    ready: &Sender<()>,
) -> Result<Finished, LoadError> {
    thread::prepare(plan.threads[index])?;
    let threads = plan.threads.len() as u32;
    let connections = plan.connections / threads + u32::from((index as u32) < plan.connections % threads);
    let random = |purpose| stream(plan.seed, plan.instance.index, index as u32, purpose);
    let mut worker = Worker::new(
        plan,
        Parts {
            index: index as u16,
            codec: P::new(plan),
            transport: Tcp::new(address, connections).map_err(LoadError::system("epoll_create1 failed"))?,
            clock: MonotonicClock,
            arrivals: arrivals_of(plan, index as u32),
            requests: Requests::new(&plan.workload, random(Purpose::Contents)),
            routing: random(Purpose::Routing),
            recorder: Recorder::new(kinds(&plan.workload).len(), plan.keep, random(Purpose::Sampling)),
            connections,
            control: control.clone(),
            progress,
            window,
        },
    );
    worker.connect_all(address)?;
    if let (0, true, Workload::KeyValue(mix)) = (index, plan.preload, &plan.workload) {
        worker.store_all(mix)?;
    }
    // A coordinator that is gone has told us to abort.
    let _ = ready.send(());
    while control.timeline().start == Nanos::MAX {
        if control.aborted() {
            return Err(LoadError::Aborted);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    let spent = worker.run()?;
    Ok(worker.finish(spent))
}

impl<P: Protocol, T: crate::transport::Transport, C: Clock> Worker<P, T, C> {
    fn finish(self, spent: Spent) -> Finished {
        Finished { recorder: self.recorder, spent, first_error: self.first_error, reconnects: self.closings }
    }
}

fn asked(plan: &Plan) -> Option<Rate> {
    match plan.load {
        Load::Open { rate_per_s, .. } => Rate::per_second(rate_per_s),
        Load::Closed { rate_per_s, .. } => rate_per_s.and_then(Rate::per_second),
    }
}

fn arrivals_of(plan: &Plan, thread: u32) -> Box<dyn Arrivals> {
    let (Load::Open { arrivals: law, .. } | Load::Closed { arrivals: law, .. }) = plan.load;
    let threads = plan.threads.len() as u32;
    let part = Part { index: plan.instance.index * threads + thread, of: plan.instance.of * threads };
    match asked(plan) {
        Some(rate) => arrivals::thinned(
            law,
            rate,
            part,
            stream(plan.seed, plan.instance.index, thread, Purpose::Arrivals),
        ),
        None => Box::new(FlatOut),
    }
}

/// What the coordinator learned on the way.
struct Followed {
    started: SystemTime,
    warmup_s: f64,
    warmup_ended: Ended,
    steal_share: Option<f64>,
    tcp: Option<TcpCounters>,
}

/// Brings the workers through the phases.
fn follow(
    plan: &Plan,
    control: &Control,
    progress: &[Arc<Progress>],
    handles: &[Handle],
    all_ready: &Receiver<()>,
    link: &mut dyn Link,
) -> Result<Followed, LoadError> {
    let clock = MonotonicClock;
    let mut waiting = handles.len();
    while waiting > 0 {
        match all_ready.recv_timeout(Duration::from_nanos(LOOK.0)) {
            Ok(()) => waiting -= 1,
            Err(RecvTimeoutError::Timeout) => drop(link.hear(Nanos::ZERO)?),
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::Aborted),
        }
        if handles.iter().any(ScopedJoinHandle::is_finished) {
            return Err(LoadError::Aborted);
        }
    }
    link.tell(&Event::Ready)?;
    let start = loop {
        match link.hear(LOOK)? {
            Some(Command::Go { start_ns }) => break Nanos(start_ns),
            Some(Command::Stop) => return Err(LoadError::Aborted),
            Some(Command::Measure { .. }) | None => {}
        }
    };
    control.begin(start);
    let started = SystemTime::now() + Duration::from_nanos(start.saturating_sub(clock.now()).0);

    let cpus: Vec<u32> = plan.threads.iter().filter_map(|t| t.cpu).collect();
    let tree = Tree::new("/");
    let read_host = || (CpuTimes::read(&tree).of(&cpus), TcpCounters::read(&tree));
    let mut rules: Vec<_> = progress.iter().map(|_| stop::warmup(&plan.phases.warmup)).collect();
    let mut ends: Vec<Option<Ended>> = vec![None; progress.len()];
    let mut warm: Option<(Ended, f64)> = None;
    let mut before = None;
    let mut told = start;
    loop {
        let until_end = control.timeline().end.saturating_sub(clock.now());
        let silent = control.timeline().end != Nanos::MAX;
        match link.hear(if silent { until_end.min(SILENCE) } else { LOOK })? {
            Some(Command::Measure { from_ns }) => {
                let calibrate = Nanos(from_ns);
                let measure = calibrate + Nanos::from_secs_f64(plan.phases.calibration_s);
                control.fix(calibrate, measure, measure + Nanos::from_secs_f64(plan.phases.measure_s));
                before = Some(read_host());
            }
            Some(Command::Stop) => return Err(LoadError::Aborted),
            Some(Command::Go { .. }) | None => {}
        }
        let now = clock.now();
        let elapsed = now.saturating_sub(start);
        if warm.is_none() {
            for ((rule, end), progress) in rules.iter_mut().zip(&mut ends).zip(progress) {
                *end = end.or_else(|| rule.look(elapsed, &progress.series.snapshot()));
            }
            let never = ends.contains(&Some(Ended::NeverSteady));
            if let Some(&Some(first)) = ends.iter().all(Option::is_some).then(|| &ends[0]) {
                let ended = if never { Ended::NeverSteady } else { first };
                warm = Some((ended, elapsed.as_secs_f64()));
                link.tell(&Event::Warm { ended, after_s: elapsed.as_secs_f64() })?;
            }
        }
        if !silent && now.saturating_sub(told) >= TELL {
            told = now;
            let sum = |pick: fn(&Progress) -> u64| progress.iter().map(|p| pick(p)).sum();
            link.tell(&Event::Progress {
                elapsed_s: elapsed.as_secs_f64(),
                sent: sum(|p| p.sent.load(Ordering::Relaxed)),
                replies: sum(|p| p.replies.load(Ordering::Relaxed)),
            })?;
        }
        let timeline = control.timeline();
        if now >= timeline.end || handles.iter().any(ScopedJoinHandle::is_finished) {
            let (cpu_before, tcp_before) = before.unwrap_or_else(read_host);
            let (cpu_after, tcp_after) = read_host();
            return Ok(Followed {
                started,
                warmup_s: timeline.calibrate.saturating_sub(start).as_secs_f64(),
                warmup_ended: warm.map_or(Ended::Elapsed, |(ended, _)| ended),
                steal_share: cpu_after.since(&cpu_before).steal_share(),
                tcp: tcp_after.zip(tcp_before).map(|(after, before)| after.since(&before)),
            });
        }
    }
}

/// Waits for all workers; the first real failure counts, and stops the others.
fn join(handles: Vec<Handle>, control: &Control) -> Result<Vec<Finished>, LoadError> {
    let mut finished = Vec::new();
    let mut failure: Option<LoadError> = None;
    let mut left = handles;
    while !left.is_empty() {
        // Whoever ends first is asked first, so that a failure stops the others at once.
        let Some(at) = left.iter().position(ScopedJoinHandle::is_finished) else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        match left.remove(at).join() {
            Ok(Ok(one)) => finished.push(one),
            Ok(Err(e)) => {
                control.abort();
                if failure.as_ref().is_none_or(|f| matches!(f, LoadError::Aborted)) {
                    failure = Some(e);
                }
            }
            Err(panic) => {
                control.abort();
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
                failure = Some(LoadError::Panicked(text.unwrap_or_default()));
            }
        }
    }
    failure.map_or(Ok(finished), Err)
}

fn summarise(
    plan: &Plan,
    followed: &Followed,
    finished: Vec<Finished>,
    series: Vec<Vec<Window>>,
) -> (InstanceResult, Recorder) {
    let mut threads = Vec::new();
    let mut whole: Option<Recorder> = None;
    let mut first_error = None;
    let mut reconnects = 0;
    for (thread, one) in plan.threads.iter().zip(finished) {
        let span = one.spent.span;
        threads.push(ThreadReport {
            cpu: thread.cpu,
            busy_share: if span.wall_ns > 0 { one.spent.busy_ns as f64 / span.wall_ns as f64 } else { 0.0 },
            cpu_share: span.busy_share(),
            run_delay_share: span.run_delay_share(),
            span,
        });
        reconnects += one.reconnects;
        if first_error.is_none() && !one.first_error.is_empty() {
            first_error = Some(one.first_error);
        }
        match &mut whole {
            None => whole = Some(one.recorder),
            Some(whole) => whole.merge(&one.recorder),
        }
    }
    let recorder = whole.expect("a plan has at least one thread");
    let names = kinds(&plan.workload);
    let by_kind: BTreeMap<&'static str, Counts> =
        names.iter().copied().zip(recorder.kinds.iter().map(|k| k.counts)).collect();
    let mut counts = Counts::default();
    by_kind.values().for_each(|one| counts.add(one));
    let measure_s = plan.phases.measure_s;
    let share = f64::from(plan.instance.of);
    let result = InstanceResult {
        schema: SCHEMA,
        index: plan.instance.index,
        of: plan.instance.of,
        seed: plan.seed,
        started_s: followed.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
        warmup_s: followed.warmup_s,
        warmup_ended: followed.warmup_ended,
        calibration: calibration(plan, &recorder),
        measure_s,
        asked_per_s: asked(plan).map(|rate| rate.get() / share),
        due_per_s: counts.due as f64 / measure_s,
        achieved_per_s: counts.done as f64 / measure_s,
        counts,
        kinds: by_kind,
        first_error,
        reconnects,
        threads,
        steal_share: followed.steal_share,
        tcp: followed.tcp,
        series,
    };
    (result, recorder)
}

fn calibration(plan: &Plan, recorder: &Recorder) -> Calibration {
    let range = &recorder.calibration;
    let all = || recorder.kinds.iter().flat_map(|kind| &kind.latency);
    let above = |value: u64| all().map(|section| section.count_above(value)).sum::<u64>();
    let (low_ns, high_ns) = (range.min(), range.max());
    let seen = all().map(|section| section.count() - section.censored()).sum::<u64>();
    let censored = all().map(hindmost_histogram::Histogram::censored).sum::<u64>();
    Calibration {
        seconds: plan.phases.calibration_s,
        count: range.count(),
        low_ns,
        high_ns,
        above: high_ns.map_or(0, above),
        below: low_ns.map_or(0, |low| seen + censored - above(low.saturating_sub(1))),
    }
}
