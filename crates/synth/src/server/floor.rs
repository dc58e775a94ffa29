//! Everything of a thread but the service itself: connections, and the one queue over all of them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::connection::{Connection, Received};
use super::slots::Slots;
use super::Shared;
use crate::memcached::{execute, Command, Desk, Next};

/// Reads of one connection before the others get a look.
const READS: usize = 16;

pub(super) struct Floor {
    thread: usize,
    shared: Arc<Shared>,
    slots: Slots,
    /// First come, first served: one entry a waiting request, naming its connection. Which request is
    /// meant, the connection knows: its oldest.
    queue: VecDeque<Token>,
    /// Connections that were left with bytes unread.
    revisit: VecDeque<Token>,
    /// Connections with replies that the end of the batch writes.
    unwritten: Vec<Token>,
}

/// A request whose turn has come.
pub(super) struct Turn {
    pub(super) token: Token,
    pub(super) command: Command,
    pub(super) arrival: Nanos,
}

impl Floor {
    pub(super) fn new(thread: usize, shared: Arc<Shared>) -> Self {
        Self {
            thread,
            shared,
            slots: Slots::default(),
            queue: VecDeque::with_capacity(1 << 10),
            revisit: VecDeque::new(),
            unwritten: Vec::new(),
        }
    }

    /// Whether there is work that no event will announce.
    pub(super) fn has_work(&self) -> bool {
        !self.queue.is_empty() || !self.revisit.is_empty()
    }

    /// Takes a new client in. One whose socket is already dead is let go.
    pub(super) fn admit(&mut self, mut stream: TcpStream, registry: &Registry) {
        let token = self.slots.next_token();
        let interest = Interest::READABLE | Interest::WRITABLE;
        if stream.set_nodelay(true).and_then(|()| registry.register(&mut stream, token, interest)).is_ok() {
            self.slots.insert(Connection::new(stream));
            self.shared.connections.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes in what an event announces. `now` becomes the arrival of the requests it brought.
    pub(super) fn on_event(&mut self, event: &Event, now: Nanos) {
        let token = event.token();
        let Some(connection) = self.slots.get(token) else {
            return;
        };
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.notice(event.is_read_closed());
        }
        // Writing comes first: a clogged connection is not read.
        self.write(token);
        self.take_in(token, now);
    }

    /// Goes on with connections that had more to read than was good for the others.
    pub(super) fn go_round(&mut self, now: Nanos) {
        for _ in 0..self.revisit.len() {
            if let Some(token) = self.revisit.pop_front() {
                self.take_in(token, now);
            }
        }
    }

    /// Reads and frames what a connection holds. Requests that take service join the queue.
    fn take_in(&mut self, token: Token, now: Nanos) {
        let Some(connection) = self.slots.get(token) else {
            return;
        };
        let desk = Desk { shared: &self.shared, ledger: self.shared.ledger(self.thread) };
        let mut reads = 0;
        let alive = loop {
            while !connection.is_leaving() && connection.inbox.advance(now) {
                // Answered at once, unless earlier requests of this client still wait for their reply.
                if connection.inbox.waiting() > 1 || connection.is_clogged() || !answer(connection, desk, now)
                {
                    self.queue.push_back(token);
                }
            }
            if reads == READS {
                self.revisit.push_back(token);
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
            self.write(token);
        } else {
            self.drop_connection(token);
        }
    }

    /// The request that has waited longest, of a client that takes its replies.
    pub(super) fn next_turn(&mut self) -> Option<Turn> {
        while let Some(token) = self.queue.pop_front() {
            if self.slots.get(token).is_some_and(|connection| connection.is_clogged()) {
                self.write(token);
            }
            let Some(connection) = self.slots.get(token) else {
                continue;
            };
            if connection.is_clogged() {
                connection.owed += 1;
                continue;
            }
            if let Some((pending, _)) = connection.inbox.front() {
                return Some(Turn { token, command: pending.command, arrival: pending.arrival });
            }
        }
        None
    }

    /// Obeys the request of `turn`; its reply goes to `reply`, for later. The request goes on waiting,
    /// so that nothing behind it is answered first.
    pub(super) fn work(&mut self, turn: &Turn, now: Nanos, reply: &mut Vec<u8>) -> Next {
        reply.clear();
        let desk = Desk { shared: &self.shared, ledger: self.shared.ledger(self.thread) };
        let front = self.slots.get(turn.token).and_then(|connection| connection.inbox.front());
        front.map_or(Next::Go, |(pending, frame)| execute(&pending.command, frame, desk, now, reply))
    }

    /// Hands out the reply to the oldest request of a connection: into the socket, or with the batch.
    pub(super) fn deliver(&mut self, token: Token, reply: &[u8], next: Next, batched: bool) {
        let Some(connection) = self.slots.get(token) else {
            return;
        };
        let held_back = connection.inbox.is_full();
        connection.inbox.pop();
        connection.outbox().extend_from_slice(reply);
        if next == Next::Close {
            connection.leave();
        }
        let more = connection.readable || held_back;
        if !batched {
            self.write(token);
        } else if !connection.listed {
            connection.listed = true;
            self.unwritten.push(token);
        }
        if more {
            self.revisit.push_back(token);
        }
    }

    /// Ends a batch.
    pub(super) fn write_batch(&mut self) {
        while let Some(token) = self.unwritten.pop() {
            if let Some(connection) = self.slots.get(token) {
                connection.listed = false;
                self.write(token);
            }
        }
    }

    fn write(&mut self, token: Token) {
        let Some(connection) = self.slots.get(token) else {
            return;
        };
        let was_clogged = connection.is_clogged();
        if connection.flush().is_err() || connection.is_finished() {
            return self.drop_connection(token);
        }
        if was_clogged && !connection.is_clogged() {
            for _ in 0..std::mem::take(&mut connection.owed) {
                self.queue.push_back(token);
            }
            self.revisit.push_back(token);
        }
    }

    fn drop_connection(&mut self, token: Token) {
        if let Some(connection) = self.slots.remove(token) {
            connection.hang_up();
            self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Answers the only waiting request, if it takes no service.
fn answer(connection: &mut Connection, desk: Desk, now: Nanos) -> bool {
    let Some((pending, frame)) = connection.inbox.front() else {
        return true;
    };
    if pending.command.takes_service() {
        return false;
    }
    let mut reply = Vec::new();
    let next = execute(&pending.command, frame, desk, now, &mut reply);
    connection.inbox.pop();
    connection.outbox().extend_from_slice(&reply);
    if next == Next::Close {
        connection.leave();
    }
    true
}

/// The present moment.
pub(super) fn now() -> Nanos {
    MonotonicClock.now()
}
