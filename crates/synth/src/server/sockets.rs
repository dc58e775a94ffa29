//! The sockets of a hall: what comes in is read, cut into requests and stamped.

use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use std::time::Duration;

use hindmost_clock::Nanos;
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};

use super::connection::{Connection, Received};
use super::door::Door;
use super::hall::{Client, Hall, Ticket};
use super::slots::Slots;
use super::Shared;
use crate::protocol::Desk;
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
    /// Whose books non-services go into.
    thread: usize,
    poll: Poll,
    events: Events,
    slots: Slots,
    door: Option<Door>,
    newcomers: Receiver<TcpStream>,
    /// Requests found in one look.
    found: Vec<Ticket>,
    revisit: Vec<Arc<Client>>,
    gone: Vec<Token>,
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
            door: None,
            newcomers,
            found: Vec::with_capacity(1024),
            revisit: Vec::new(),
            gone: Vec::new(),
        };
        Ok((sockets, Arc::new(waker)))
    }

    /// Makes these the sockets that accept.
    pub(super) fn open(&mut self, mut door: Door) -> Result<(), SynthError> {
        let registry = self.poll.registry();
        let registered = registry.register(door.listener(), LISTENER, Interest::READABLE);
        registered.map_err(SynthError::system("watch the listener"))?;
        self.door = Some(door);
        Ok(())
    }

    /// Takes in what has arrived; waits for something if it may sleep.
    pub(super) fn look(&mut self, hall: &Hall, sleeps: bool) -> Result<(), SynthError> {
        let patience = if sleeps { TICK } else { Duration::ZERO };
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
                _ => self.on_event(hall, event, now),
            }
        }
        self.events = events;
        if newcomers || self.door.as_ref().is_some_and(|door| door.is_stuck() && sleeps) {
            if let Some(door) = &mut self.door {
                door.deal();
            }
            while let Ok(stream) = self.newcomers.try_recv() {
                self.admit(stream);
            }
        }
        if hall.has_chores() {
            self.do_chores(hall, now);
        }
        hall.receive(&mut self.found);
        Ok(())
    }

    /// Takes a new client in. One whose socket is already dead is let go.
    fn admit(&mut self, mut stream: TcpStream) {
        let token = self.slots.next_token();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        if stream.set_nodelay(true).and_then(|()| registry.register(&mut stream, token, interest)).is_ok() {
            self.slots.insert(Arc::new(Client::new(token, Connection::new(stream, self.protocol))));
            self.shared.connections.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes in what an event announces. `now` becomes the arrival of the requests it brought.
    fn on_event(&mut self, hall: &Hall, event: &Event, now: Nanos) {
        let Some(client) = self.slots.get(event.token()).map(Arc::clone) else {
            return;
        };
        let mut connection = client.lock();
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.notice(event.is_read_closed());
        }
        // Writing comes first: a clogged connection is not read.
        hall.write(&client, &mut connection);
        self.take_in(hall, &client, &mut connection, now);
    }

    /// Goes on with clients that had more to read than was good for the others, and forgets those that are gone.
    fn do_chores(&mut self, hall: &Hall, now: Nanos) {
        hall.take_chores(&mut self.revisit, &mut self.gone);
        for token in self.gone.drain(..) {
            self.slots.remove(token);
        }
        let mut revisit = std::mem::take(&mut self.revisit);
        for client in revisit.drain(..) {
            self.take_in(hall, &client, &mut client.lock(), now);
        }
        self.revisit = revisit;
    }

    /// Reads and frames what a client sent. Requests that take service join the queue.
    fn take_in(&mut self, hall: &Hall, client: &Arc<Client>, connection: &mut Connection, now: Nanos) {
        let desk = Desk { shared: &self.shared, ledger: self.shared.ledger(self.thread) };
        let mut reads = 0;
        let alive = loop {
            while !connection.is_leaving() {
                let Some(number) = connection.inbox.advance() else {
                    break;
                };
                let serve =
                    connection.inbox.request(number).is_some_and(|(command, _)| command.takes_service());
                // The others are answered at once, unless earlier requests of this client wait for their reply.
                if !serve && connection.inbox.is_first(number) && !connection.is_clogged() {
                    connection.obey_at_once(number, desk, now);
                    continue;
                }
                let client = Some(Arc::clone(client));
                self.found.push(Ticket { client, number, serve, arrival: now });
            }
            if reads == READS {
                hall.revisit(client);
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
            hall.write(client, connection);
        } else {
            hall.let_go(client, connection);
        }
    }
}
