//! The threads of a server, from before the first request to the final summary.

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

/// Threads that have not started.
pub(super) struct WorkerPool {
    pub(super) shared: Arc<Shared>,
    workers: Vec<Worker>,
    pub(super) wakers: Vec<Arc<Waker>>,
    recorder: ServerRecorder,
}

/// Refuse CPUs to which a thread cannot be bound.
pub(super) fn check_cpus(config: &ServerConfig, threads: usize) -> Result<(), SynthError> {
    for thread in 0..threads {
        if let Some(cpu) = config.cpu_of(thread) {
            this_thread::can_pin(cpu).map_err(|source| SynthError::Pin { thread, cpu, source })?;
        }
    }
    Ok(())
}

/// Open the log, if requested, allocate the threads' logs for at most `requests`, and read the host's counters. This
/// happens before the clock of the requests starts: touching the memory of a million requests takes longer than
/// starting threads.
pub(super) fn start_recorder(
    config: &ServerConfig,
    threads: usize,
    requests: u64,
) -> Result<ServerRecorder, SynthError> {
    let capacity = config.log_requests.min(usize::try_from(requests).unwrap_or(usize::MAX));
    let log = config.log.as_deref().map(|path| LogFile::create(path, threads, capacity)).transpose()?;
    let cpus = config.cpus.clone().unwrap_or_else(this_thread::allowed_cpus);
    Ok(ServerRecorder::begin(config.occupy, &cpus, log))
}

/// Return the number of threads per queue.
pub(super) fn threads_per_queue(queue: Queue, threads: usize) -> usize {
    match queue {
        Queue::Shared => threads,
        Queue::PerThread => 1,
    }
}

impl WorkerPool {
    /// Create the threads of all stations; `wakers` wake threads that may sleep.
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

    /// Serve until `stop` is set or a thread fails.
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
            // Join every thread before reporting the first error.
            let results: Vec<Result<ThreadRecord, SynthError>> = threads
                .into_iter()
                .enumerate()
                .map(|(thread, handle)| handle.join().unwrap_or(Err(SynthError::Panicked { thread })))
                .collect();
            results.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        recorder.end(shared.totals(), records, &shared.work.program.kind_names())
    }
}

/// Stops the other threads when its thread ends with an error or a panic.
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

/// Wake threads that may sleep. If that fails, a thread notices at its next tick.
pub(super) fn wake(wakers: &[Arc<Waker>]) {
    for waker in wakers {
        let _ = waker.wake();
    }
}
