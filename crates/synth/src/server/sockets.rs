//! The sockets in front of a queue: what comes in is read, cut into requests and stamped.

use std::io::ErrorKind;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::time::Duration;

use hindmost_clock::Nanos;
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};

use super::acceptor::Acceptor;
use super::connection::{Connection, Received};
use super::job::{Client, Job};
use super::queue::RequestQueue;
use super::slots::Slots;
use crate::protocol::Context;
use crate::shared::Shared;
use crate::work::now;
use crate::{Protocol, SynthError};

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// How often an idle thread looks at the stop flag.
const TICK: Duration = Duration::from_millis(100);
/// Reads of one connection before the others get a look.
const READS: usize = 16;

pub(super) struct Sockets {
    shared: Arc<Shared>,
    protocol: Protocol,
    /// Whose counters requests without service time go into.
    thread: usize,
    poll: Poll,
    events: Events,
    slots: Slots,
    acceptor: Option<Acceptor>,
    newcomers: Receiver<TcpStream>,
    /// Requests found in one look.
    found: Vec<Job>,
    unread: Vec<Arc<Client>>,
    closed: Vec<Token>,
}

impl Sockets {
    pub(super) fn new(
        shared: Arc<Shared>,
        protocol: Protocol,
        thread: usize,
        newcomers: Receiver<TcpStream>,
    ) -> Result<(Self, Arc<Waker>), SynthError> {
        let poll = Poll::new().map_err(SynthError::system("create an event queue"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(SynthError::system("create a waker"))?;
        let sockets = Self {
            shared,
            protocol,
            thread,
            poll,
            events: Events::with_capacity(1024),
            slots: Slots::default(),
            acceptor: None,
            newcomers,
            found: Vec::with_capacity(1024),
            unread: Vec::new(),
            closed: Vec::new(),
        };
        Ok((sockets, Arc::new(waker)))
    }

    /// Makes these the sockets that accept.
    pub(super) fn accept_with(&mut self, mut acceptor: Acceptor) -> Result<(), SynthError> {
        let registry = self.poll.registry();
        let registered = registry.register(acceptor.listener(), LISTENER, Interest::READABLE);
        registered.map_err(SynthError::system("register the listener"))?;
        self.acceptor = Some(acceptor);
        Ok(())
    }

    /// Takes in what has arrived; waits for something if it may sleep.
    pub(super) fn poll(&mut self, queue: &RequestQueue, may_sleep: bool) -> Result<(), SynthError> {
        let patience = if may_sleep { TICK } else { Duration::ZERO };
        match self.poll.poll(&mut self.events, Some(patience)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                return Err(SynthError::System { doing: "wait for events", source: error });
            }
            _ => {}
        }
        // Whatever arrived was there before this moment; reading it is part of its service.
        let now = now();
        let mut newcomers = false;
        let events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in &events {
            match event.token() {
                LISTENER | WAKER => newcomers = true,
                _ => self.on_event(queue, event, now),
            }
        }
        self.events = events;
        if newcomers || self.acceptor.as_ref().is_some_and(|acceptor| acceptor.is_exhausted() && may_sleep) {
            if let Some(acceptor) = &mut self.acceptor {
                acceptor.accept_all();
            }
            while let Ok(stream) = self.newcomers.try_recv() {
                self.admit(stream);
            }
        }
        if queue.has_leftovers() {
            self.work_off_leftovers(queue, now);
        }
        queue.arrive(&mut self.found);
        Ok(())
    }

    /// Takes a new client in, unless its socket is dead already.
    fn admit(&mut self, mut stream: TcpStream) {
        let token = self.slots.next_token();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        if stream.set_nodelay(true).and_then(|()| registry.register(&mut stream, token, interest)).is_ok() {
            self.slots.insert(Arc::new(Client::new(token, Connection::new(stream, self.protocol))));
            self.shared.connection_opened();
        }
    }

    /// Takes in what an event announces. `now` becomes the arrival of the requests it brought.
    fn on_event(&mut self, queue: &RequestQueue, event: &Event, now: Nanos) {
        let Some(client) = self.slots.get(event.token()).map(Arc::clone) else {
            return;
        };
        let mut connection = client.lock();
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.notice(event.is_read_closed());
        }
        // Writing comes first: a clogged connection is not read.
        queue.write(&client, &mut connection);
        self.take_in(queue, &client, &mut connection, now);
    }

    /// Reads on where a client was left with bytes unread, and forgets connections that were closed.
    fn work_off_leftovers(&mut self, queue: &RequestQueue, now: Nanos) {
        queue.take_leftovers(&mut self.unread, &mut self.closed);
        for token in self.closed.drain(..) {
            self.slots.remove(token);
        }
        let mut unread = std::mem::take(&mut self.unread);
        for client in unread.drain(..) {
            self.take_in(queue, &client, &mut client.lock(), now);
        }
        self.unread = unread;
    }

    /// Reads and frames what a client sent. Requests that take service join the queue.
    fn take_in(
        &mut self,
        queue: &RequestQueue,
        client: &Arc<Client>,
        connection: &mut Connection,
        now: Nanos,
    ) {
        let context = Context { shared: &self.shared, counters: self.shared.counters(self.thread) };
        let mut reads = 0;
        let alive = loop {
            while !connection.is_leaving() {
                let Some(number) = connection.pipeline.advance() else {
                    break;
                };
                let takes_service =
                    connection.pipeline.request(number).is_some_and(|(command, _)| command.takes_service());
                // The others are answered at once, unless earlier requests of this client wait for their reply.
                if !takes_service && connection.pipeline.is_first(number) && !connection.is_clogged() {
                    connection.execute_at_once(number, context, now);
                    continue;
                }
                let client = Some(Arc::clone(client));
                self.found.push(Job { client, number, takes_service, arrival: now });
            }
            if reads == READS {
                queue.leave_unread(client);
                break true;
            }
            reads += 1;
            match connection.receive() {
                Ok(Received::Some) => {}
                Ok(Received::Dry) => break true,
                Err(_) => break false,
            }
        };
        if alive {
            queue.write(client, connection);
        } else {
            queue.close(client, connection);
        }
    }
}
