//! The threads of a server, from before the first request to the summary of what they did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

use hindmost_clone::Queue;
use hindmost_sys::this_thread;
use mio::Waker;

use super::station::Station;
use super::worker::Worker;
use crate::record::{LogFile, ServerRecorder, ServerSummary, ThreadRecord};
use crate::shared::Shared;
use crate::{ServerConfig, SynthError};

/// Threads that have not started yet.
pub(super) struct WorkerPool {
    pub(super) shared: Arc<Shared>,
    workers: Vec<Worker>,
    pub(super) wakers: Vec<Arc<Waker>>,
    recorder: ServerRecorder,
}

/// Refuses processors that a thread cannot be bound to.
pub(super) fn check_cpus(config: &ServerConfig, threads: usize) -> Result<(), SynthError> {
    for thread in 0..threads {
        if let Some(cpu) = config.cpu_of(thread) {
            this_thread::can_pin(cpu).map_err(|source| SynthError::Pin { thread, cpu, source })?;
        }
    }
    Ok(())
}

/// Opens the log, if one is wanted, makes room for what each thread keeps of at most `requests`, and reads the host's
/// counters. It is done before the clock of the requests begins: to touch room for a million takes longer than threads
/// take to start.
pub(super) fn recorder(
    config: &ServerConfig,
    threads: usize,
    requests: u64,
) -> Result<ServerRecorder, SynthError> {
    let room = config.log_requests.min(usize::try_from(requests).unwrap_or(usize::MAX));
    let log = config.log.as_deref().map(|path| LogFile::create(path, threads, room)).transpose()?;
    let cpus = config.cpus.clone().unwrap_or_else(this_thread::allowed_cpus);
    Ok(ServerRecorder::begin(config.occupy, &cpus, log))
}

/// How many threads serve each queue.
pub(super) fn threads_a_queue(queue: Queue, threads: usize) -> usize {
    match queue {
        Queue::Shared => threads,
        Queue::PerThread => 1,
    }
}

impl WorkerPool {
    /// The threads of all stations; `wakers` wake those that may sleep.
    pub(super) fn new(
        config: &ServerConfig,
        shared: &Arc<Shared>,
        stations: &[Arc<Station>],
        wakers: Vec<Arc<Waker>>,
        mut recorder: ServerRecorder,
    ) -> Self {
        let threads = shared.threads();
        let station = |thread: usize| &stations[thread * stations.len() / threads];
        let workers = (0..threads)
            .map(|thread| Worker::new(config, thread, shared, station(thread), recorder.thread_log()))
            .collect();
        Self { shared: Arc::clone(shared), workers, wakers, recorder }
    }

    /// Serves until `stop` is set, or until a thread fails.
    pub(super) fn run(self, stop: &AtomicBool) -> Result<ServerSummary, SynthError> {
        let Self { shared, workers, wakers, recorder } = self;
        let records = thread::scope(|scope| {
            let threads: Vec<_> = workers
                .into_iter()
                .map(|worker| {
                    let (shared, wakers) = (&shared, &wakers);
                    scope.spawn(move || {
                        let alarm = Alarm { shared, wakers };
                        worker.run(stop, &shared.failed).inspect(|_| std::mem::forget(alarm))
                    })
                })
                .collect();
            // Every thread is joined before the first error is reported.
            let ends: Vec<Result<ThreadRecord, SynthError>> = threads
                .into_iter()
                .enumerate()
                .map(|(thread, handle)| handle.join().unwrap_or(Err(SynthError::Panicked { thread })))
                .collect();
            ends.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        recorder.end(shared.totals(), records, &shared.work.program.kind_names())
    }
}

/// Stops the other threads when its own ends by an error or a panic.
struct Alarm<'a> {
    shared: &'a Shared,
    wakers: &'a [Arc<Waker>],
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.shared.failed.store(true, Ordering::Relaxed);
        wake(self.wakers);
    }
}

/// Wakes threads that may sleep. Where that fails, a thread notices at its next tick instead.
pub(super) fn wake(wakers: &[Arc<Waker>]) {
    for waker in wakers {
        let _ = waker.wake();
    }
}
