//! The service: one thread, one request at a time, first come, first served.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::Arc;
use std::time::Duration;

use hindmost_clock::Nanos;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use super::floor::{now, Floor};
use super::Shared;
use crate::account::Served;
use crate::service::Sampler;
use crate::{affinity, Idle, ServerConfig, SynthError};

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// How often an idle thread looks at the stop flag.
const TICK: Duration = Duration::from_millis(100);
/// Pause between two looks at the sockets while a service time passes. It bounds the error of the
/// arrival stamps and of the order between connections; a look that finds nothing costs 0.2-0.4 us.
const LOOK_EVERY: Nanos = Nanos::from_micros(1);
/// No look is begun this close to the end of a service: reading one socket takes about as long.
const LOOK_GUARD: Nanos = Nanos::from_micros(3);
/// A service that ended late by no more than this takes its excess out of the next one: very short
/// services cost more than they take. What is above was not ours (the host took the CPU away) and delays
/// the queue as it would in any server.
const CARRY: Nanos = Nanos::from_micros(50);
/// Writes that take longer than this say nothing about the next one.
const LONG_WRITE: Nanos = Nanos::from_micros(20);
/// Requests of zero service time between two looks at the sockets.
const BATCH: usize = 64;

pub(super) struct Worker {
    thread: usize,
    cpu: Option<usize>,
    spins: bool,
    shared: Arc<Shared>,
    poll: Poll,
    events: Events,
    waker: Arc<Waker>,
    door: Option<Door>,
    arrivals: Receiver<TcpStream>,
    floor: Floor,
    sampler: Sampler,
    reply: Vec<u8>,
    /// When the last service ended, by the drawn times.
    free_at: Nanos,
    /// What writing a reply takes (moving average): it is begun that much before the service ends.
    /// Writing after the end would make each service 3-5 us longer than drawn, 2 % of 200 us, and leave
    /// the sockets unwatched just when a request would find the server idle. Measured over loopback, a
    /// client saw 9.8 us on top of the sojourn time without this, and sees 6.5 us with it.
    lead: Nanos,
}

impl Worker {
    pub(super) fn new(
        config: &ServerConfig,
        thread: usize,
        shared: Arc<Shared>,
        arrivals: Receiver<TcpStream>,
    ) -> Result<Self, SynthError> {
        let poll = Poll::new().map_err(SynthError::system("create an event queue"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(SynthError::system("create a waker"))?;
        Ok(Self {
            thread,
            cpu: config.cpu_of(thread),
            spins: config.idle == Idle::Spin,
            floor: Floor::new(thread, Arc::clone(&shared)),
            shared,
            poll,
            events: Events::with_capacity(1024),
            waker: Arc::new(waker),
            door: None,
            arrivals,
            sampler: Sampler::new(config.service, config.seed, thread),
            reply: Vec::with_capacity(4096),
            free_at: Nanos::ZERO,
            lead: Nanos::ZERO,
        })
    }

    pub(super) fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// Makes this the thread that accepts.
    pub(super) fn open(&mut self, mut door: Door) -> Result<(), SynthError> {
        let registered = self.poll.registry().register(&mut door.listener, LISTENER, Interest::READABLE);
        registered.map_err(SynthError::system("watch the listener"))?;
        self.door = Some(door);
        Ok(())
    }

    /// Serves until one of the flags is set.
    pub(super) fn run(mut self, stop: &AtomicBool, failed: &AtomicBool) -> Result<(), SynthError> {
        if let Some(cpu) = self.cpu {
            let thread = self.thread;
            affinity::pin(cpu).map_err(|source| SynthError::Pin { thread, cpu, source })?;
        }
        let stopped = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        while !stopped() {
            let busy = self.spins || self.floor.has_work();
            self.look(if busy { Duration::ZERO } else { TICK })?;
            if self.sampler.is_zero() {
                self.serve_batch();
            } else {
                self.serve_one(&stopped)?;
            }
        }
        Ok(())
    }

    /// Takes in what has arrived, waiting no longer than `patience` for something.
    fn look(&mut self, patience: Duration) -> Result<(), SynthError> {
        match self.poll.poll(&mut self.events, Some(patience)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                return Err(SynthError::System { doing: "wait for events", source: error });
            }
            _ => {}
        }
        // Whatever arrived was there before this moment; reading it is part of its service.
        let now = now();
        let mut newcomers = false;
        for event in &self.events {
            match event.token() {
                LISTENER | WAKER => newcomers = true,
                _ => self.floor.on_event(event, now),
            }
        }
        if newcomers || self.door.as_ref().is_some_and(|door| door.stuck && patience >= TICK) {
            if let Some(door) = &mut self.door {
                door.deal();
            }
            while let Ok(stream) = self.arrivals.try_recv() {
                self.floor.admit(stream, self.poll.registry());
            }
        }
        self.floor.go_round(now);
        Ok(())
    }

    /// ```text
    ///   arrival   start                         end = start + drawn
    ///      |--wait--|--obey, then spin--|--write--|
    ///                                             |--next service, if one waits ...
    /// ```
    fn serve_one(&mut self, stopped: &impl Fn() -> bool) -> Result<(), SynthError> {
        let Some(turn) = self.floor.next_turn() else {
            return Ok(());
        };
        let begun = now();
        if !turn.command.takes_service() {
            let next = self.floor.work(&turn, begun, &mut self.reply);
            self.floor.deliver(turn.token, &self.reply, next, false);
            return Ok(());
        }
        let drawn = self.sampler.draw();
        let start = turn.arrival.max(self.free_at).max(begun.saturating_sub(CARRY));
        let end = start.saturating_add(drawn);
        let next = self.floor.work(&turn, begun, &mut self.reply);
        let writing = self.spin_until(end.saturating_sub(self.lead), stopped)?;
        self.floor.deliver(turn.token, &self.reply, next, false);
        let ended = now();
        let took = ended - writing;
        if took < LONG_WRITE {
            self.lead = Nanos((7 * self.lead.0 + took.0) / 8);
        }
        self.free_at = end;
        let ledger = self.shared.ledger(self.thread);
        ledger.serve(&Served { arrival: turn.arrival, start, drawn, ended });
        ledger.busy(ended - begun);
        Ok(())
    }

    /// Lets time pass, with an eye on the sockets. Returns when it really was over.
    fn spin_until(&mut self, end: Nanos, stopped: &impl Fn() -> bool) -> Result<Nanos, SynthError> {
        let mut look_at = Nanos::ZERO;
        loop {
            let moment = now();
            if moment >= end {
                return Ok(moment);
            }
            if moment >= look_at && end - moment > LOOK_GUARD {
                if stopped() {
                    return Ok(moment);
                }
                self.look(Duration::ZERO)?;
                look_at = now() + LOOK_EVERY;
            }
            std::hint::spin_loop();
        }
    }

    /// Serves a few requests in one go, and writes the replies of each client together.
    fn serve_batch(&mut self) {
        let first = now();
        let mut begun = first;
        for _ in 0..BATCH {
            let Some(turn) = self.floor.next_turn() else {
                break;
            };
            let next = self.floor.work(&turn, begun, &mut self.reply);
            self.floor.deliver(turn.token, &self.reply, next, true);
            let ended = now();
            if turn.command.takes_service() {
                let served = Served { arrival: turn.arrival, start: begun, drawn: Nanos::ZERO, ended };
                self.shared.ledger(self.thread).serve(&served);
            }
            begun = ended;
        }
        if begun > first {
            self.floor.write_batch();
            self.shared.ledger(self.thread).busy(now().saturating_sub(first));
        }
    }
}

/// The listener, and the threads that it deals clients to in turn.
pub(super) struct Door {
    listener: TcpListener,
    threads: Vec<(Sender<TcpStream>, Arc<Waker>)>,
    next: usize,
    /// Accepting failed for want of descriptors or memory: no event will announce the clients that wait.
    stuck: bool,
}

impl Door {
    pub(super) fn new(listener: TcpListener, threads: Vec<(Sender<TcpStream>, Arc<Waker>)>) -> Self {
        Self { listener, threads, next: 0, stuck: false }
    }

    fn deal(&mut self) {
        self.stuck = false;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let (sender, waker) = &self.threads[self.next];
                    // A thread that has ended takes its clients with it.
                    if sender.send(stream).is_ok() && self.next != 0 {
                        let _ = waker.wake();
                    }
                    self.next = (self.next + 1) % self.threads.len();
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        self.stuck = true;
                        return;
                    }
                },
            }
        }
    }
}
