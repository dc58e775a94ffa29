//! A thread of the server: it serves one request at a time, first come, first served.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use hindmost_clock::Nanos;
use hindmost_clone::{LockPlace, Sequence};
use hindmost_sys::this_thread;

use super::job::{Client, Job};
use super::spin::{Flags, Spinner, CARRY};
use super::station::Station;
use crate::protocol::{Context, Disposition};
use crate::record::{Log, ServedRequest, ThreadRecord, ThreadRecorder};
use crate::shared::Shared;
use crate::work::{now, Pauses, WhileWaiting};
use crate::{Idle, ServerConfig, SynthError};

/// Longer writes do not predict the next one.
const LONG_WRITE: Nanos = Nanos::from_micros(20);
/// Requests without service time between two polls of the sockets.
const BATCH: usize = 64;

pub(super) struct Worker {
    thread: usize,
    cpu: Option<usize>,
    may_sleep: bool,
    shared: Arc<Shared>,
    station: Arc<Station>,
    sequence: Sequence,
    pauses: Pauses,
    spinner: Spinner,
    log: Option<Log>,
    reply: Vec<u8>,
    parts: Vec<Part>,
    batch: Vec<Job>,
    unwritten: Vec<Arc<Client>>,
    /// Scheduled end of the last service.
    free_at: Nanos,
    /// Its actual end: the record of the next service starts no earlier.
    completed: Nanos,
    /// Time that writing a reply takes (moving average): writing starts this much before the end of the service.
    /// Writing after the end would prolong each service by 3 to 5 µs, 2 % of 200 µs, and leave the sockets unpolled
    /// just when a request would find the server idle. Over loopback, a client saw 9.8 µs on top of the sojourn time
    /// without this lead, and 6.5 µs with it.
    lead: Nanos,
}

/// A part of a service, inside or outside a critical section.
#[derive(Clone, Copy)]
struct Part {
    /// Number and instance of the lock that it needs.
    lock: Option<(usize, u32)>,
    busy: Nanos,
}

/// An executed request that has not been answered.
struct ExecutedRequest {
    disposition: Disposition,
    /// Its kind, if the request names one.
    kind: Option<u32>,
}

/// A lock that a thread acquired.
struct AcquiredLock {
    at: Nanos,
    waited: Nanos,
}

/// A thread that waits for a lock.
struct WaitingThread<'a> {
    station: &'a Station,
    flags: Flags<'a>,
    pauses: &'a mut Pauses,
    failure: Option<SynthError>,
}

impl WhileWaiting for WaitingThread<'_> {
    fn is_running(&mut self, time: Nanos) -> bool {
        self.pauses.after(time) <= time
    }

    fn poll_gives_up(&mut self) -> bool {
        self.failure = self.station.poll(false).err();
        self.failure.is_some() || self.flags.are_up()
    }
}

impl Worker {
    pub(super) fn new(
        config: &ServerConfig,
        thread: usize,
        shared: &Arc<Shared>,
        station: &Arc<Station>,
        log: Option<Log>,
    ) -> Self {
        Self {
            thread,
            cpu: config.cpu_of(thread),
            may_sleep: config.idle == Idle::Block,
            sequence: shared.work.program.sequence(),
            pauses: shared.work.pauses(thread),
            spinner: Spinner::new(config.occupy),
            shared: Arc::clone(shared),
            station: Arc::clone(station),
            log,
            reply: Vec::with_capacity(4096),
            parts: Vec::with_capacity(2 * shared.work.program.locks.len() + 1),
            batch: Vec::with_capacity(BATCH),
            unwritten: Vec::with_capacity(BATCH),
            free_at: Nanos::ZERO,
            completed: Nanos::ZERO,
            lead: Nanos::ZERO,
        }
    }

    /// Serves until one of the flags is set.
    pub(super) fn run(mut self, stop: &AtomicBool, failed: &AtomicBool) -> Result<ThreadRecord, SynthError> {
        if let Some(cpu) = self.cpu {
            let thread = self.thread;
            this_thread::pin(cpu).map_err(|source| SynthError::Pin { thread, cpu, source })?;
        }
        self.shared.work.waiters()[self.thread].register();
        let mut recorder = ThreadRecorder::begin(self.log.take());
        let flags = Flags { stop, failed };
        while !flags.are_up() {
            self.station.poll(self.may_sleep)?;
            if self.shared.work.takes_no_time {
                self.serve_batch(&mut recorder);
            } else {
                self.serve_one(&mut recorder, flags)?;
            }
        }
        recorder.gaps.add(&self.spinner.gaps);
        Ok(recorder.end())
    }

    /// ```text
    ///   arrival   start                                    end
    ///      |--wait--|--before--|--service--|--after--|-write-|--next service, if one waits ...
    ///               |------- drawn, waits and pauses --------|
    /// ```
    fn serve_one(&mut self, recorder: &mut ThreadRecorder, flags: Flags) -> Result<(), SynthError> {
        let checked_at = now();
        let resumes = self.pauses.after(checked_at.max(self.free_at));
        // The next service starts no earlier than this.
        self.pauses.forget(self.free_at.max(checked_at.saturating_sub(self.spinner.carry())));
        if resumes > now().saturating_add(CARRY) {
            // The thread pauses: another thread may serve the waiting requests.
            self.spinner.wait(resumes, &self.station, flags)?;
            return Ok(());
        }
        let Some((job, index)) = self.station.next() else {
            return Ok(());
        };
        let began = now();
        let Some(executed) = self.execute(&job, began) else {
            return Ok(());
        };
        if !job.takes_service {
            self.station.queue.deliver(&job, &mut self.reply, executed.disposition);
            return Ok(());
        }
        let cpu = recorder.keeps_log().then(this_thread::cpu_time_ns);
        let shared = Arc::clone(&self.shared);
        self.station.queue.arrival_cost.service_begins();
        let draws = shared.work.draws(index);
        let start = job.arrival.max(self.free_at).max(began.saturating_sub(self.spinner.carry()));
        let start = self.pauses.after(start);
        let request = shared.work.begin(start, &mut self.sequence, draws, executed.kind);

        self.parts.clear();
        let service = Nanos((request.service_ns + request.noise_ns).round() as u64);
        self.add_locks(LockPlace::Before, draws);
        self.parts.push(Part { lock: None, busy: service });
        self.add_locks(LockPlace::After, draws);

        // The service ends early by the time of writing the reply, which comes last, after all locks.
        let lead = self.lead;
        let (mut end, mut waited, mut requested) = (start, Nanos::ZERO, Nanos::ZERO);
        for number in 0..self.parts.len() {
            let Part { lock, busy } = self.parts[number];
            requested += busy;
            let Some(lock) = lock else {
                end = self.pauses.through(end, busy);
                let (work_end, arrivals) =
                    self.spinner.work(end, busy, lead, &mut self.pauses, &self.station, flags)?;
                end = work_end.saturating_sub(lead);
                requested += arrivals;
                continue;
            };
            let Some(acquired) = self.acquire(lock, end, flags)? else {
                return Ok(()); // the server stops
            };
            waited += acquired.waited;
            // Hold the lock for its full time, even if this thread is late: others wait for it.
            let late = now().saturating_sub(acquired.at);
            end = self.pauses.through(acquired.at, busy) + late;
            let (work_end, arrivals) =
                self.spinner.work(end, busy, Nanos::ZERO, &mut self.pauses, &self.station, flags)?;
            end = work_end.saturating_sub(late);
            requested += arrivals;
            let (place, instance) = lock;
            let work = &self.shared.work;
            work.lock(place, instance).release(work.waiters(), work.wait_policy(place).release);
        }
        self.answer(&job, executed.disposition);
        let end = end + lead;
        let completed = now();
        self.free_at = end;
        shared.work.end(end);
        self.station.queue.arrival_cost.service_ends();
        let cpu = cpu.map(|before| Nanos(this_thread::cpu_time_ns().saturating_sub(before)));
        let (arrival, kind) = (job.arrival, request.kind);
        // Time that a late predecessor took from this service belongs to the predecessor.
        let start = start.max(std::mem::replace(&mut self.completed, completed));
        let served =
            ServedRequest { arrival, start, scheduled: end, completed, drawn: requested, waited, cpu, kind };
        let counters = shared.counters(self.thread);
        recorder.record(counters, &served);
        counters.busy(completed.saturating_sub(began));
        Ok(())
    }

    /// Execute a request and keep its reply. Return `None` if its client has gone.
    fn execute(&mut self, job: &Job, now: Nanos) -> Option<ExecutedRequest> {
        let Some(client) = &job.client else {
            return Some(ExecutedRequest { disposition: Disposition::KeepOpen, kind: None });
        };
        self.reply.clear();
        let mut connection = client.lock();
        if !self.station.queue.admits(job, client, &mut connection) {
            return None;
        }
        let context = Context { shared: &self.shared, counters: self.shared.counters(self.thread) };
        let (command, frame) = connection.pipeline.request(job.number)?;
        let program = &self.shared.work.program;
        let kinds = !program.document().kinds.is_empty();
        let kind =
            if kinds { command.kind_name(frame).and_then(|name| program.kind_named(name)) } else { None };
        let disposition = connection.execute(job.number, context, now, &mut self.reply)?;
        Some(ExecutedRequest { disposition, kind })
    }

    /// Add the critical sections of a request before or after its service.
    fn add_locks(&mut self, at: LockPlace, draws: hindmost_random::Draws) {
        for (place, lock) in self.shared.work.program.locks.iter().enumerate() {
            if lock.at == at {
                if let Some(hold) = lock.hold(draws) {
                    let busy = Nanos(hold.hold_ns.round() as u64);
                    self.parts.push(Part { lock: Some((place, hold.instance)), busy });
                }
            }
        }
    }

    /// Acquire a lock from time `t` on. Return `None` if the server stops first.
    fn acquire(
        &mut self,
        (place, instance): (usize, u32),
        t: Nanos,
        flags: Flags,
    ) -> Result<Option<AcquiredLock>, SynthError> {
        let work = &self.shared.work;
        let lock = work.lock(place, instance);
        if lock.try_take() {
            return Ok(Some(AcquiredLock { at: t, waited: Nanos::ZERO }));
        }
        let requested = now().max(t);
        let mut waiting =
            WaitingThread { station: &self.station, flags, pauses: &mut self.pauses, failure: None };
        let acquired = lock.wait(self.thread, work.waiters(), work.wait_policy(place), &mut waiting);
        if let Some(failure) = waiting.failure {
            return Err(failure);
        }
        let at = now().max(requested);
        Ok(acquired.then(|| AcquiredLock { at, waited: at.saturating_sub(requested) }))
    }

    /// Write the reply, and update the time that writing takes.
    fn answer(&mut self, job: &Job, disposition: Disposition) {
        if job.client.is_none() {
            return;
        }
        let writing = now();
        self.station.queue.deliver(job, &mut self.reply, disposition);
        let elapsed = now() - writing;
        if elapsed < LONG_WRITE {
            self.lead = Nanos((7 * self.lead.0 + elapsed.0) / 8);
        }
    }

    /// Serve a batch of requests without service time, and write the replies of each client together.
    fn serve_batch(&mut self, recorder: &mut ThreadRecorder) {
        let mut batch = std::mem::take(&mut self.batch);
        self.station.next_batch(BATCH, &mut batch);
        let first = now();
        let mut began = first;
        for group in batch.chunk_by(Job::has_same_client) {
            began = match &group[0].client {
                Some(client) => self.serve_group(client, group, began, recorder),
                None => group.iter().fold(began, |began, job| self.record_instant(job, began, recorder)),
            };
        }
        batch.clear();
        self.batch = batch;
        while let Some(client) = self.unwritten.pop() {
            let mut connection = client.lock();
            connection.listed = false;
            self.station.queue.write(&client, &mut connection);
        }
        if began > first {
            self.shared.counters(self.thread).busy(now().saturating_sub(first));
        }
    }

    /// Serve consecutive requests of one client.
    fn serve_group(
        &mut self,
        client: &Arc<Client>,
        group: &[Job],
        mut began: Nanos,
        recorder: &mut ThreadRecorder,
    ) -> Nanos {
        let shared = Arc::clone(&self.shared);
        let context = Context { shared: &shared, counters: shared.counters(self.thread) };
        let mut connection = client.lock();
        let was_full = connection.pipeline.is_full();
        for job in group {
            if !self.station.queue.admits(job, client, &mut connection) {
                continue;
            }
            connection.execute_at_once(job.number, context, began);
            began = if job.takes_service { self.record_instant(job, began, recorder) } else { now() };
        }
        if !connection.listed {
            connection.listed = true;
            self.unwritten.push(Arc::clone(client));
        }
        if connection.readable || was_full {
            self.station.queue.leave_unread(client);
        }
        began
    }

    /// Record a request without service time.
    #[inline]
    fn record_instant(&self, job: &Job, began: Nanos, recorder: &mut ThreadRecorder) -> Nanos {
        let completed = now();
        let served = ServedRequest {
            arrival: job.arrival,
            start: began,
            scheduled: began,
            completed,
            drawn: Nanos::ZERO,
            waited: Nanos::ZERO,
            cpu: None,
            kind: 0,
        };
        recorder.record(self.shared.counters(self.thread), &served);
        completed
    }
}
