//! An instance from plan to files: starts the workers, follows the phases, writes what they kept.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use hindmost_clock::{Clock, MonotonicClock, Nanos, Rate};
use hindmost_host::counters::TcpCounters;
use hindmost_host::Tree;
use hindmost_plan::{Io, Load, Plan, Warmup, Workload};

use super::bell::{Bell, Rope};
use super::control::{Control, Progress};
use super::link::{Command, Event, Link};
use super::needs::Needs;
use super::open_files;
use super::output::Outputs;
use super::phases::follow;
use super::result::InstanceResult;
use super::run::Spent;
use super::shares::Shares;
use super::sockets::SocketReport;
use super::stages::LateByStage;
use super::stamping::Stamping;
use super::summary::summarise;
use super::thread;
use super::worker::{Parts, Worker};
use crate::arrivals::{self, Arrivals, FlatOut, Part};
use crate::protocol::Protocol;
use crate::random::{stream, Purpose};
use crate::record::Recorder;
use crate::transport::{Tcp, Transport, Uring};
use crate::workload::Requests;
use crate::LoadError;

/// How often workers that are about to end are looked at.
const BREATH: Nanos = Nanos::from_millis(5);
/// Windows of latency over time: at least this long, and at most so many.
const WINDOW: Nanos = Nanos::from_millis(100);
const WINDOWS: u64 = 4_000;

/// Runs one instance of `plan`, leaves its files in the folder `place`, and returns its result.
///
/// # Errors
/// [`LoadError`]; no thread and no connection is left behind.
pub fn run(plan: &Plan, place: &Path, link: &mut dyn Link) -> Result<InstanceResult, LoadError> {
    let address = resolve(&plan.target.address)?;
    open_files::make_room(&Needs::of(plan))?;
    let outputs = Outputs::create(place, plan.instance.index)?;
    hindmost_wire::with_protocol!(
        plan.target.protocol,
        crate::protocol,
        run_with(plan, address, outputs, link)
    )
}

fn resolve(address: &str) -> Result<SocketAddr, LoadError> {
    let unresolvable = |source| LoadError::Unresolvable { address: address.to_owned(), source };
    let mut all = address.to_socket_addrs().map_err(unresolvable)?;
    all.next().ok_or_else(|| unresolvable(std::io::ErrorKind::NotFound.into()))
}

/// What a worker hands over at the end.
pub(super) struct Finished {
    pub recorder: Recorder,
    pub spent: Spent,
    pub first_error: String,
    pub reconnects: u64,
    pub resent: u64,
    pub shares: Shares,
    pub late: LateByStage,
    pub sockets: SocketReport,
    pub stamping: Stamping,
}

pub(super) type Handle<'scope> = ScopedJoinHandle<'scope, Result<Finished, LoadError>>;

fn run_with<P: Protocol>(
    plan: &Plan,
    address: SocketAddr,
    outputs: Outputs,
    link: &mut dyn Link,
) -> Result<InstanceResult, LoadError> {
    let control = Arc::new(Control::default());
    let (window, capacity) = windows(plan);
    let tree = Tree::new("/");
    let tcp_at_first = TcpCounters::read(&tree);
    let mut bell = Bell::new().map_err(LoadError::system("socketpair failed"))?;
    let progress: Vec<Arc<Progress>> =
        plan.threads.iter().map(|_| Arc::new(Progress::new(capacity))).collect();

    let (followed, finished) = std::thread::scope(|scope| {
        let (ready, all_ready) = mpsc::channel();
        let mut handles: Vec<Handle> = Vec::new();
        for (index, progress) in progress.iter().enumerate() {
            let (control, progress, ready) = (control.clone(), progress.clone(), ready.clone());
            let stop = control.clone();
            let rope = bell.rope().map_err(LoadError::system("dup failed"));
            let worker = rope.and_then(|rope| {
                start(scope, index, rope, move || {
                    work::<P>(plan, address, index, &control, progress, window, &ready)
                })
            });
            // Those that are started already would wait for ever.
            handles.push(worker.inspect_err(|_| stop.abort())?);
        }
        drop(ready);
        let followed = follow(plan, &control, &progress, &handles, &all_ready, &mut bell, link);
        if followed.is_err() {
            control.abort();
        }
        let finished = join(handles, &control, link);
        // What a worker says tells more than that the coordinator was left alone.
        match (followed, finished) {
            (Err(e), Ok(_) | Err(LoadError::Aborted)) | (_, Err(e)) => Err(e),
            (Ok(followed), Ok(finished)) => Ok((followed, finished)),
        }
    })?;

    let timeline = control.timeline();
    let series = progress.iter().map(|p| p.series.snapshot()).collect();
    let cpus = plan.threads.iter().filter_map(|thread| thread.cpu).collect();
    let watched = followed.before.until_now(&tree, cpus, tcp_at_first);
    let (result, recorder) = summarise(plan, &followed, watched, finished, series);
    outputs.write(&result, recorder, plan.workload.mix().kinds, timeline, followed.started)?;
    link.tell(&Event::Done)?;
    Ok(result)
}

/// Length and number of the windows of latency over time.
pub(super) fn windows(plan: &Plan) -> (Nanos, usize) {
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
    rope: Rope,
    work: impl FnOnce() -> Result<Finished, LoadError> + Send + 'scope,
) -> Result<Handle<'scope>, LoadError> {
    std::thread::Builder::new()
        .name(format!("worker-{index}"))
        .spawn_scoped(scope, move || {
            let _rope = rope;
            work()
        })
        .map_err(LoadError::system("a worker thread cannot be started"))
}

/// A worker thread: pinned first, so that all its memory is near its processor.
fn work<P: Protocol>(
    plan: &Plan,
    address: SocketAddr,
    index: usize,
    control: &Arc<Control>,
    progress: Arc<Progress>,
    window: Nanos,
    ready: &Sender<Vec<u16>>,
) -> Result<Finished, LoadError> {
    thread::prepare(plan.threads[index])?;
    let threads = plan.threads.len() as u32;
    let connections = plan.connections / threads + u32::from((index as u32) < plan.connections % threads);
    let random = |purpose| stream(plan.seed, plan.instance.index, index as u32, purpose);
    let parts = Parts {
        index: index as u16,
        codec: P::new(plan),
        transport: (),
        clock: MonotonicClock,
        arrivals: arrivals_of(plan, index as u32),
        requests: Requests::new(&plan.workload, random(Purpose::Contents)),
        routing: random(Purpose::Routing),
        recorder: Recorder::new(plan.workload.mix().kinds.len(), plan.keep, random(Purpose::Sampling)),
        connections,
        control: control.clone(),
        progress,
        window,
    };
    let stamping = plan.stamp_every > 0;
    match plan.io {
        Io::Epoll => {
            let tcp = Tcp::new(address, connections, stamping);
            drive(plan, address, parts.over(tcp.map_err(LoadError::system("epoll_create1 failed"))?), ready)
        }
        Io::IoUring => {
            let uring = Uring::new(address, connections, stamping).map_err(LoadError::NoUring)?;
            drive(plan, address, parts.over(uring), ready)
        }
    }
}

fn drive<P: Protocol, T: Transport>(
    plan: &Plan,
    address: SocketAddr,
    parts: Parts<P, T, MonotonicClock>,
    ready: &Sender<Vec<u16>>,
) -> Result<Finished, LoadError> {
    let (index, control) = (parts.index, parts.control.clone());
    let mut worker = Worker::new(plan, parts);
    worker.connect_all(address)?;
    if let (0, true, Workload::KeyValue(mix)) = (index, plan.preload, &plan.workload) {
        worker.store_all(mix)?;
    }
    // A coordinator that is gone has told us to abort.
    let _ = ready.send(worker.witnessed_ports());
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
    fn finish(mut self, spent: Spent) -> Finished {
        let stamping = self.stamping();
        let sockets = self.end_sockets();
        let shares = Shares::of(&self.connections);
        let (first_error, late) = (self.first_error, self.stages.late);
        let (reconnects, resent) = (self.closings, self.resent);
        Finished {
            recorder: self.recorder,
            spent,
            first_error,
            reconnects,
            resent,
            shares,
            late,
            sockets,
            stamping,
        }
    }
}

pub(super) fn asked(plan: &Plan) -> Option<Rate> {
    match plan.load {
        Load::Open { rate_per_s, .. } => Rate::per_second(rate_per_s),
        Load::Closed { rate_per_s, .. } => rate_per_s.and_then(Rate::per_second),
    }
}

pub(super) fn arrivals_of(plan: &Plan, thread: u32) -> Box<dyn Arrivals> {
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

/// Waits for all workers; the first real failure counts, and stops the others, as does the word from
/// outside.
fn join(handles: Vec<Handle>, control: &Control, link: &mut dyn Link) -> Result<Vec<Finished>, LoadError> {
    let mut finished: Vec<Option<Finished>> = handles.iter().map(|_| None).collect();
    let mut failure: Option<LoadError> = None;
    let mut left: Vec<(usize, Handle)> = handles.into_iter().enumerate().collect();
    while !left.is_empty() {
        // Whoever ends first is asked first, so that a failure stops the others at once.
        let Some(at) = left.iter().position(|(_, handle)| handle.is_finished()) else {
            if control.aborted() {
                std::thread::sleep(Duration::from_nanos(BREATH.0));
            } else if matches!(link.hear(BREATH), Ok(Some(Command::Stop)) | Err(_)) {
                control.abort();
            }
            continue;
        };
        let (index, handle) = left.remove(at);
        let failed = match handle.join() {
            Ok(Ok(one)) => {
                finished[index] = Some(one);
                continue;
            }
            Ok(Err(e)) => e,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
                LoadError::Panicked(text.unwrap_or_default())
            }
        };
        control.abort();
        if failure.as_ref().is_none_or(|earlier| matches!(earlier, LoadError::Aborted)) {
            failure = Some(failed);
        }
    }
    failure.map_or(Ok(finished.into_iter().flatten().collect()), Err)
}
