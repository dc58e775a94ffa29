//! A thread of the server: one request at a time, first come, first served.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use hindmost_clock::Nanos;
use hindmost_clone::{LockPlace, Sequence};
use hindmost_sys::this_thread;

use super::job::{Client, Job};
use super::spin::{Flags, Spinner, CARRY};
use super::station::Station;
use crate::protocol::{Context, Disposition};
use crate::record::{Log, Served, ThreadRecord, ThreadRecorder};
use crate::shared::Shared;
use crate::work::{now, Meanwhile, Pauses};
use crate::{Idle, ServerConfig, SynthError};

/// Writes that take longer than this say nothing about the next one.
const LONG_WRITE: Nanos = Nanos::from_micros(20);
/// Requests of zero service time between two looks at the sockets.
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
    /// When the last service should have ended.
    free_at: Nanos,
    /// When it did end: what is written down of the next one begins no earlier.
    ended: Nanos,
    /// What writing a reply takes (moving average): it is begun that much before the service ends.
    /// Writing after the end would make each service 3-5 us longer than drawn, 2 % of 200 us, and leave
    /// the sockets unwatched just when a request would find the server idle. Measured over loopback, a
    /// client saw 9.8 us on top of the sojourn time without this, and sees 6.5 us with it.
    lead: Nanos,
}

/// A stretch of work, in a critical section or not.
#[derive(Clone, Copy)]
struct Part {
    /// Number and instance of the lock that it needs.
    lock: Option<(usize, u32)>,
    busy: Nanos,
}

/// A request that was executed, and is not yet answered.
struct Executed {
    disposition: Disposition,
    /// Its kind, if the request names one.
    kind: Option<u32>,
}

/// A lock that a thread has.
struct Taken {
    at: Nanos,
    waited: Nanos,
}

/// A thread that waits for a lock.
struct Waiting<'a> {
    station: &'a Station,
    flags: Flags<'a>,
    pauses: &'a mut Pauses,
    failure: Option<SynthError>,
}

impl Meanwhile for Waiting<'_> {
    fn runs(&mut self, moment: Nanos) -> bool {
        self.pauses.after(moment) <= moment
    }

    fn gives_up(&mut self) -> bool {
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
            ended: Nanos::ZERO,
            lead: Nanos::ZERO,
        }
    }

    /// Serves until one of the flags is set.
    pub(super) fn run(mut self, stop: &AtomicBool, failed: &AtomicBool) -> Result<ThreadRecord, SynthError> {
        if let Some(cpu) = self.cpu {
            let thread = self.thread;
            this_thread::pin(cpu).map_err(|source| SynthError::Pin { thread, cpu, source })?;
        }
        self.shared.work.waiters()[self.thread].introduce();
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
    ///               |-------- drawn, waited, stood still ----|
    /// ```
    fn serve_one(&mut self, recorder: &mut ThreadRecorder, flags: Flags) -> Result<(), SynthError> {
        let looked = now();
        let runs = self.pauses.after(looked.max(self.free_at));
        // What it begins next, it begins no earlier.
        self.pauses.forget(self.free_at.max(looked.saturating_sub(self.spinner.carry())));
        if runs > now().saturating_add(CARRY) {
            // It stands still: who waits may be served by another thread.
            self.spinner.wait(runs, &self.station, flags)?;
            return Ok(());
        }
        let Some((job, index)) = self.station.next() else {
            return Ok(());
        };
        let begun = now();
        let Some(executed) = self.execute(&job, begun) else {
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
        let start = job.arrival.max(self.free_at).max(begun.saturating_sub(self.spinner.carry()));
        let start = self.pauses.after(start);
        let request = shared.work.begin(start, &mut self.sequence, draws, executed.kind);

        self.parts.clear();
        let service = Nanos((request.service_ns + request.noise_ns).round() as u64);
        self.add_locks(LockPlace::Before, draws);
        self.parts.push(Part { lock: None, busy: service });
        self.add_locks(LockPlace::After, draws);

        // The service gives this up for the writing of the reply, which comes last, after all locks.
        let lead = self.lead;
        let (mut end, mut waited, mut asked) = (start, Nanos::ZERO, Nanos::ZERO);
        for number in 0..self.parts.len() {
            let Part { lock, busy } = self.parts[number];
            asked += busy;
            let Some(lock) = lock else {
                end = self.pauses.through(end, busy);
                let (over, arrivals) =
                    self.spinner.work(end, busy, lead, &mut self.pauses, &self.station, flags)?;
                end = over.saturating_sub(lead);
                asked += arrivals;
                continue;
            };
            let Some(taken) = self.take(lock, end, flags)? else {
                return Ok(()); // the server stops
            };
            waited += taken.waited;
            // Held as long as it should be by a thread that is late, too: others wait for it.
            let late = now().saturating_sub(taken.at);
            end = self.pauses.through(taken.at, busy) + late;
            let (over, arrivals) =
                self.spinner.work(end, busy, Nanos::ZERO, &mut self.pauses, &self.station, flags)?;
            end = over.saturating_sub(late);
            asked += arrivals;
            let (place, instance) = lock;
            let work = &self.shared.work;
            work.lock(place, instance).release(work.waiters(), work.manner(place).release);
        }
        self.answer(&job, executed.disposition);
        let end = end + lead;
        let ended = now();
        self.free_at = end;
        shared.work.end(end);
        self.station.queue.arrival_cost.service_ends();
        let cpu = cpu.map(|before| Nanos(this_thread::cpu_time_ns().saturating_sub(before)));
        let (arrival, kind) = (job.arrival, request.kind);
        // The time that a late predecessor took out of this service was the predecessor's.
        let start = start.max(std::mem::replace(&mut self.ended, ended));
        let served = Served { arrival, start, due: end, ended, drawn: asked, waited, cpu, kind };
        let counters = shared.counters(self.thread);
        recorder.record(counters, &served);
        counters.busy(ended.saturating_sub(begun));
        Ok(())
    }

    /// Executes the request whose turn has come; its reply is kept for later. `None` if nobody waits for it any more.
    fn execute(&mut self, job: &Job, now: Nanos) -> Option<Executed> {
        let Some(client) = &job.client else {
            return Some(Executed { disposition: Disposition::KeepOpen, kind: None });
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
        Some(Executed { disposition, kind })
    }

    /// The critical sections of a request, before or after its service.
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

    /// Takes a lock, from `t` on. `None` if the server stops first.
    fn take(
        &mut self,
        (place, instance): (usize, u32),
        t: Nanos,
        flags: Flags,
    ) -> Result<Option<Taken>, SynthError> {
        let work = &self.shared.work;
        let lock = work.lock(place, instance);
        if lock.try_take() {
            return Ok(Some(Taken { at: t, waited: Nanos::ZERO }));
        }
        let asked = now().max(t);
        let mut waiting = Waiting { station: &self.station, flags, pauses: &mut self.pauses, failure: None };
        let taken = lock.wait(self.thread, work.waiters(), work.manner(place), &mut waiting);
        if let Some(failure) = waiting.failure {
            return Err(failure);
        }
        let at = now().max(asked);
        Ok(taken.then(|| Taken { at, waited: at.saturating_sub(asked) }))
    }

    /// Writes the reply, and learns what that takes.
    fn answer(&mut self, job: &Job, disposition: Disposition) {
        if job.client.is_none() {
            return;
        }
        let writing = now();
        self.station.queue.deliver(job, &mut self.reply, disposition);
        let took = now() - writing;
        if took < LONG_WRITE {
            self.lead = Nanos((7 * self.lead.0 + took.0) / 8);
        }
    }

    /// Serves a few requests that take no time in one go, and writes the replies of each client together.
    fn serve_batch(&mut self, recorder: &mut ThreadRecorder) {
        let mut batch = std::mem::take(&mut self.batch);
        self.station.next_batch(BATCH, &mut batch);
        let first = now();
        let mut begun = first;
        for group in batch.chunk_by(Job::has_same_client) {
            begun = match &group[0].client {
                Some(client) => self.serve_group(client, group, begun, recorder),
                None => group.iter().fold(begun, |begun, job| self.record_instant(job, begun, recorder)),
            };
        }
        batch.clear();
        self.batch = batch;
        while let Some(client) = self.unwritten.pop() {
            let mut connection = client.lock();
            connection.listed = false;
            self.station.queue.write(&client, &mut connection);
        }
        if begun > first {
            self.shared.counters(self.thread).busy(now().saturating_sub(first));
        }
    }

    /// Serves successive requests of one client.
    fn serve_group(
        &mut self,
        client: &Arc<Client>,
        group: &[Job],
        mut begun: Nanos,
        recorder: &mut ThreadRecorder,
    ) -> Nanos {
        let shared = Arc::clone(&self.shared);
        let context = Context { shared: &shared, counters: shared.counters(self.thread) };
        let mut connection = client.lock();
        let held_back = connection.pipeline.is_full();
        for job in group {
            if !self.station.queue.admits(job, client, &mut connection) {
                continue;
            }
            connection.execute_at_once(job.number, context, begun);
            begun = if job.takes_service { self.record_instant(job, begun, recorder) } else { now() };
        }
        if !connection.listed {
            connection.listed = true;
            self.unwritten.push(Arc::clone(client));
        }
        if connection.readable || held_back {
            self.station.queue.leave_unread(client);
        }
        begun
    }

    /// Records a request that took no time.
    #[inline]
    fn record_instant(&self, job: &Job, begun: Nanos, recorder: &mut ThreadRecorder) -> Nanos {
        let ended = now();
        let served = Served {
            arrival: job.arrival,
            start: begun,
            due: begun,
            ended,
            drawn: Nanos::ZERO,
            waited: Nanos::ZERO,
            cpu: None,
            kind: 0,
        };
        recorder.record(self.shared.counters(self.thread), &served);
        ended
    }
}
