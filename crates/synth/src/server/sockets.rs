//! The sockets of a queue: they read bytes, split them into requests, and stamp the arrivals.

use std::io::ErrorKind;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::time::Duration;

use hindmost_clock::Nanos;
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};

use super::acceptor::Acceptor;
use super::connection::{Connection, ReadResult};
use super::job::{Client, Job};
use super::queue::RequestQueue;
use super::slots::Slots;
use crate::protocol::Context;
use crate::shared::Shared;
use crate::work::now;
use crate::{Protocol, SynthError};

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// How often an idle thread checks the stop flag.
const TICK: Duration = Duration::from_millis(100);
/// Reads of one connection before others get their turn.
const MAX_READS: usize = 16;

pub(super) struct Sockets {
    shared: Arc<Shared>,
    protocol: Protocol,
    /// Thread whose counters count requests without service time.
    thread: usize,
    poll: Poll,
    events: Events,
    slots: Slots,
    acceptor: Option<Acceptor>,
    new_streams: Receiver<TcpStream>,
    /// Requests found in one poll.
    requests: Vec<Job>,
    unread: Vec<Arc<Client>>,
    closed: Vec<Token>,
}

impl Sockets {
    pub(super) fn new(
        shared: Arc<Shared>,
        protocol: Protocol,
        thread: usize,
        new_streams: Receiver<TcpStream>,
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
            new_streams,
            requests: Vec::with_capacity(1024),
            unread: Vec::new(),
            closed: Vec::new(),
        };
        Ok((sockets, Arc::new(waker)))
    }

    /// Make these sockets accept connections.
    pub(super) fn accept_with(&mut self, mut acceptor: Acceptor) -> Result<(), SynthError> {
        let registry = self.poll.registry();
        let registered = registry.register(acceptor.listener(), LISTENER, Interest::READABLE);
        registered.map_err(SynthError::system("register the listener"))?;
        self.acceptor = Some(acceptor);
        Ok(())
    }

    /// Receive what has arrived; wait for more if the thread may sleep.
    pub(super) fn poll(&mut self, queue: &RequestQueue, may_sleep: bool) -> Result<(), SynthError> {
        let timeout = if may_sleep { TICK } else { Duration::ZERO };
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                return Err(SynthError::System { action: "wait for events", source: error });
            }
            _ => {}
        }
        // All of it arrived before this time; reading it is part of its service.
        let now = now();
        let mut has_new_streams = false;
        let events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in &events {
            match event.token() {
                LISTENER | WAKER => has_new_streams = true,
                _ => self.on_event(queue, event, now),
            }
        }
        self.events = events;
        if has_new_streams
            || self.acceptor.as_ref().is_some_and(|acceptor| acceptor.is_exhausted() && may_sleep)
        {
            if let Some(acceptor) = &mut self.acceptor {
                acceptor.accept_all();
            }
            while let Ok(stream) = self.new_streams.try_recv() {
                self.admit(stream);
            }
        }
        if queue.has_leftovers() {
            self.handle_leftovers(queue, now);
        }
        queue.arrive(&mut self.requests);
        Ok(())
    }

    /// Add a new client, unless its socket is closed already.
    fn admit(&mut self, mut stream: TcpStream) {
        let token = self.slots.next_token();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        if stream.set_nodelay(true).and_then(|()| registry.register(&mut stream, token, interest)).is_ok() {
            self.slots.insert(Arc::new(Client::new(token, Connection::new(stream, self.protocol))));
            self.shared.connection_opened();
        }
    }

    /// Handle an event. `now` becomes the arrival time of its requests.
    fn on_event(&mut self, queue: &RequestQueue, event: &Event, now: Nanos) {
        let Some(client) = self.slots.get(event.token()).map(Arc::clone) else {
            return;
        };
        let mut connection = client.lock();
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.notice(event.is_read_closed());
        }
        // Write first: a connection with a full send buffer is not read.
        queue.write(&client, &mut connection);
        self.receive_requests(queue, &client, &mut connection, now);
    }

    /// Read from clients with unread bytes, and drop closed connections.
    fn handle_leftovers(&mut self, queue: &RequestQueue, now: Nanos) {
        queue.take_leftovers(&mut self.unread, &mut self.closed);
        for token in self.closed.drain(..) {
            self.slots.remove(token);
        }
        let mut unread = std::mem::take(&mut self.unread);
        for client in unread.drain(..) {
            self.receive_requests(queue, &client, &mut client.lock(), now);
        }
        self.unread = unread;
    }

    /// Read and parse the bytes of a client. Requests that take service join the queue.
    fn receive_requests(
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
                // Answer the others at once, unless earlier requests of this client wait for their reply.
                if !takes_service && connection.pipeline.is_first(number) && !connection.is_clogged() {
                    connection.execute_at_once(number, context, now);
                    continue;
                }
                let client = Some(Arc::clone(client));
                self.requests.push(Job { client, number, takes_service, arrival: now });
            }
            if reads == MAX_READS {
                queue.leave_unread(client);
                break true;
            }
            reads += 1;
            match connection.receive() {
                Ok(ReadResult::More) => {}
                Ok(ReadResult::Empty) => break true,
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
