//! Runs a client from plan to result files: starts the workers, follows the phases and writes the results.

use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;
use std::thread::Scope;
use std::time::Duration;

use hindmost_clock::{MonotonicClock, Nanos, Rate};
use hindmost_host::counters::TcpCounters;
use hindmost_host::Tree;
use hindmost_plan::{Batching, Io, Load, Plan, Workload};
use hindmost_sys::shared::SharedWords;

use super::controller::{Command, Controller, Event};
use super::exit_notifier::{ExitGuard, ExitNotifier};
use super::needs::Needs;
use super::open_files;
use super::phases::{run_phases, Handle};
use super::refusals::check_protocol_as;
use super::thread;
use crate::arrivals::{Arrivals, FlatOut, Part, Seeds};
use crate::engine::control::{windows, Control, Progress};
use crate::engine::hot_path::{Parts, Worker};
use crate::engine::report::output::Outputs;
use crate::engine::report::result::ClientResult;
use crate::engine::report::summary::summarise;
use crate::engine::report::worker_totals::WorkerTotals;
use crate::protocol::Protocol;
use crate::random::{stream, Purpose};
use crate::record::{LiveCounters, Recorder};
use crate::transport::{Credentials, Peer, Peers, StampedTransport, Tcp, Tls, Udp, Uring};
use crate::workload::Requests;
use crate::LoadError;

/// How often to check for workers that have exited.
const BREATH: Nanos = Nanos::from_millis(5);

/// Run one client of `plan`, write its files into the folder `place` and return its result.
///
/// # Errors
/// [`LoadError`]. No thread and no connection is left behind.
pub fn run(plan: &Plan, place: &Path, controller: &mut dyn Controller) -> Result<ClientResult, LoadError> {
    hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, run_as(plan, place, controller))
}

/// Run one client with the codec `P` instead of the plan's protocol. Used for codecs without a registered
/// protocol.
///
/// # Errors
/// The same as [`run`].
pub fn run_as<P: Protocol>(
    plan: &Plan,
    place: &Path,
    controller: &mut dyn Controller,
) -> Result<ClientResult, LoadError> {
    let plan = &Plan { workload: plan.workload.clone().load_files()?, ..plan.clone() };
    check_protocol_as::<P>(plan)?;
    let servers = Servers::resolve(plan)?;
    let needs = Needs::for_protocol::<P>(plan);
    open_files::make_room(&needs)?;
    let outputs = Outputs::create(place, plan.client.index)?;
    run_with::<P>(plan, &servers, needs.memory_bytes, outputs, controller)
}

/// Addresses of the plan's servers, and their TLS credentials if the plan uses TLS.
pub(super) struct Servers {
    peers: Vec<Peer>,
    credentials: Vec<Credentials>,
}

impl Servers {
    pub(super) fn resolve(plan: &Plan) -> Result<Self, LoadError> {
        let (mut peers, mut credentials) = (Vec::new(), Vec::new());
        for address in plan.target.servers() {
            let unresolvable = |source| LoadError::Unresolvable { address: address.clone(), source };
            peers.push(Peer::resolve(address).map_err(unresolvable)?);
            if let Some(tls) = &plan.target.tls {
                let refused = |problem| LoadError::Tls { address: address.clone(), problem };
                credentials.push(Credentials::load(tls, address, plan.target.protocol).map_err(refused)?);
            }
        }
        Ok(Self { peers, credentials })
    }
}

fn run_with<P: Protocol>(
    plan: &Plan,
    servers: &Servers,
    bound: u64,
    outputs: Outputs,
    controller: &mut dyn Controller,
) -> Result<ClientResult, LoadError> {
    let kinds = plan.workload.kinds();
    let live = controller.live_memory();
    let control = Arc::new(Control::default());
    let (window, capacity) = windows(plan);
    let tree = Tree::new("/");
    let tcp_at_first = TcpCounters::read(&tree);
    let mut exits = ExitNotifier::new().map_err(LoadError::system("socketpair failed"))?;
    let progress: Vec<Arc<Progress>> =
        plan.threads.iter().map(|_| Arc::new(Progress::new(capacity))).collect();

    let (times, totals) = std::thread::scope(|scope| {
        let (ready, all_ready) = mpsc::channel();
        let mut handles: Vec<Handle> = Vec::new();
        for (index, progress) in progress.iter().enumerate() {
            let (control, progress, ready) = (control.clone(), progress.clone(), ready.clone());
            let stop = control.clone();
            let guard = exits.guard().map_err(LoadError::system("dup failed"));
            let worker = guard.and_then(|guard| {
                let assignment =
                    Assignment { plan, servers, index, control, progress, window, live: live.clone() };
                start(scope, index, guard, move || assignment.work::<P, _>(ApplyLoad { ready }))
            });
            // Workers that have already started would otherwise wait forever.
            handles.push(worker.inspect_err(|_| stop.abort())?);
        }
        drop(ready);
        let times = run_phases(plan, &control, &progress, &handles, &all_ready, &mut exits, controller);
        if times.is_err() {
            control.abort();
        }
        let totals = join(handles, &control, controller);
        // A worker's own error explains more than the coordinator's `Aborted`.
        match (times, totals) {
            (Err(e), Ok(_) | Err(LoadError::Aborted)) | (_, Err(e)) => Err(e.with_kind_names(&kinds)),
            (Ok(times), Ok(totals)) => Ok((times, totals)),
        }
    })?;

    let timeline = control.timeline();
    let series = progress.iter().map(|p| p.series.snapshot()).collect();
    let cpus = plan.threads.iter().filter_map(|thread| thread.cpu).collect();
    let host = times.before.until_now(&tree, cpus, tcp_at_first);
    let (result, recorder) = summarise(plan, &times, host, totals, series, bound);
    outputs.write(&result, recorder, &kinds, timeline, times.started)?;
    controller.report(&Event::Done)?;
    Ok(result)
}

fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    index: usize,
    guard: ExitGuard,
    work: impl FnOnce() -> Result<WorkerTotals, LoadError> + Send + 'scope,
) -> Result<Handle<'scope>, LoadError> {
    std::thread::Builder::new()
        .name(format!("worker-{index}"))
        .spawn_scoped(scope, move || {
            let _guard = guard;
            work()
        })
        .map_err(LoadError::system("a worker thread cannot be started"))
}

/// Everything that one worker thread needs to start.
pub(super) struct Assignment<'a> {
    pub plan: &'a Plan,
    pub servers: &'a Servers,
    pub index: usize,
    pub control: Arc<Control>,
    pub progress: Arc<Progress>,
    pub window: Nanos,
    /// Memory for counters that the controller reads.
    pub live: Option<Arc<SharedWords>>,
}

/// The job of a worker once its connections are open.
pub(super) trait Job {
    type Output;

    fn run<P: Protocol>(
        self,
        plan: &Plan,
        worker: Worker<P, dyn StampedTransport, MonotonicClock>,
    ) -> Result<Self::Output, LoadError>;
}

/// Stores the keys and applies the load. `ready` reports the captured ports before the load starts.
struct ApplyLoad {
    ready: Sender<Vec<u16>>,
}

impl Assignment<'_> {
    /// Connect and run `job`. The thread is pinned first, so that its memory is local to its CPU.
    pub(super) fn work<P: Protocol, E: Job>(self, job: E) -> Result<E::Output, LoadError> {
        let Assignment { plan, servers, index, .. } = self;
        thread::prepare(plan.threads[index])?;
        let threads = plan.threads.len() as u32;
        let connections = plan.connections / threads + u32::from((index as u32) < plan.connections % threads);
        let random = |purpose| stream(plan.seed, plan.client.index, index as u32, purpose);
        let mut recorder = Recorder::new(plan.workload.kinds().len(), plan.keep, random(Purpose::Sampling));
        recorder.keep_endpoints(servers.peers.len());
        if plan.stream {
            recorder.keep_messages();
        }
        let part = part_of(plan, index as u32);
        if let Some(live) = self.live.and_then(|memory| LiveCounters::new(memory, part.index as usize)) {
            recorder.keep_live(live);
        }
        if matches!(plan.load, Load::Open { .. }) && !plan.counts_are_known() {
            recorder.keep_scheduled_gaps();
        }
        let parts = Parts {
            index: index as u16,
            codec: P::new(plan),
            transport: (),
            clock: MonotonicClock,
            arrivals: arrivals_of(plan, index as u32)?,
            requests: Requests::new(plan, part, random(Purpose::Contents)),
            routing: random(Purpose::Routing),
            recorder,
            connections,
            control: self.control,
            progress: self.progress,
            window: self.window,
        };
        let peers = Peers::new(servers.peers.clone(), plan.target.source.clone(), index);
        let nagle = !P::LOSSY && plan.batching == Batching::Nagle;
        let peers = peers.map_err(LoadError::Source)?.with_nagle(nagle);
        let mut worker =
            Worker::new(plan, parts.with_transport(transport::<P>(plan, servers, &peers, connections)?));
        worker.connect_all(plan, &peers)?;
        job.run(plan, worker)
    }
}

/// Create the transport for a worker's connections.
fn transport<P: Protocol>(
    plan: &Plan,
    servers: &Servers,
    peers: &Peers,
    connections: u32,
) -> Result<Box<dyn StampedTransport>, LoadError> {
    let stamping = plan.stamp_every > 0;
    if P::LOSSY {
        // `check_protocol_as` has refused plans with several servers.
        let udp = Udp::new(peers.peer(0), plan.target.source.clone(), connections);
        return Ok(Box::new(udp.map_err(LoadError::Source)?));
    }
    let tcp =
        || Tcp::new(peers.clone(), connections, stamping).map_err(LoadError::system("epoll_create1 failed"));
    Ok(match (plan.io, &servers.credentials[..]) {
        (Io::Epoll, []) => Box::new(tcp()?),
        (Io::Epoll, credentials) => Box::new(Tls::new(tcp()?, credentials, connections)),
        // The plan check has refused TLS over io_uring.
        (Io::IoUring, _) => {
            Box::new(Uring::new(peers.clone(), connections, stamping).map_err(LoadError::NoUring)?)
        }
    })
}

impl Job for ApplyLoad {
    type Output = WorkerTotals;

    fn run<P: Protocol>(
        self,
        plan: &Plan,
        mut worker: Worker<P, dyn StampedTransport, MonotonicClock>,
    ) -> Result<WorkerTotals, LoadError> {
        if let (true, Workload::KeyValue(mix)) = (plan.preload, &plan.workload) {
            worker.store_all(mix, part_of(plan, worker.index.into()))?;
        }
        // A failed send means that the coordinator has aborted the run; the loop below notices that.
        let _ = self.ready.send(worker.captured_ports());
        while worker.control.timeline().start == Nanos::MAX {
            if worker.control.is_aborted() {
                return Err(LoadError::Aborted);
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        let span = worker.run()?;
        worker.say_goodbye();
        Ok(worker.finish(span))
    }
}

/// Return the position of worker `thread` among all workers of all clients.
fn part_of(plan: &Plan, thread: u32) -> Part {
    let threads = plan.threads.len() as u32;
    Part { index: plan.client.index * threads + thread, of: plan.client.of * threads }
}

pub fn arrivals_of(plan: &Plan, thread: u32) -> Result<Box<dyn Arrivals>, LoadError> {
    let part = part_of(plan, thread);
    let seeds = Seeds { seed: plan.seed, client: plan.client.index, thread };
    let each = f64::from(plan.workload.requests_per_arrival());
    match plan.load.rate().and_then(|rate| Rate::per_second(rate.get() / each)) {
        Some(rate) => Ok(plan.load.arrivals().part_with_schedule(rate, part, seeds, plan.load.schedule())?),
        None => Ok(Box::new(FlatOut)),
    }
}

/// Wait for all workers. The first real failure is returned and stops the other workers, as does the
/// controller.
fn join(
    handles: Vec<Handle>,
    control: &Control,
    controller: &mut dyn Controller,
) -> Result<Vec<WorkerTotals>, LoadError> {
    let mut totals: Vec<Option<WorkerTotals>> = handles.iter().map(|_| None).collect();
    let mut failure: Option<LoadError> = None;
    let mut left: Vec<(usize, Handle)> = handles.into_iter().enumerate().collect();
    while !left.is_empty() {
        // Join workers in the order in which they finish, so that a failure stops the others at once.
        let Some(at) = left.iter().position(|(_, handle)| handle.is_finished()) else {
            if control.is_aborted() {
                std::thread::sleep(Duration::from_nanos(BREATH.0));
            } else if matches!(controller.next_command(BREATH), Ok(Some(Command::Stop)) | Err(_)) {
                control.abort();
            }
            continue;
        };
        let (index, handle) = left.remove(at);
        let failed = match handle.join() {
            Ok(Ok(one)) => {
                totals[index] = Some(one);
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
    failure.map_or(Ok(totals.into_iter().flatten().collect()), Err)
}
