//! Where requests wait: one queue, first come, first served, for one thread or for several.
//!
//! ```text
//!   per_thread:  hall -> thread        shared:  hall -+-> thread
//!                hall -> thread                       +-> thread
//! ```
//!
//! Whichever thread of a hall finds the time looks at the sockets: one that waits, or spins in a service. So arrivals
//! are stamped within a microsecond, and no thread is there for that alone. Locks are taken in the order sockets,
//! client, backlog.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hindmost_clock::Nanos;
use mio::Token;

use super::connection::Connection;
use super::intake::Intake;
use super::source::Source;
use super::Shared;
use crate::protocol::Next;
use crate::SynthError;

/// One client: a connection that one thread at a time deals with.
pub(super) struct Client {
    pub(super) token: Token,
    connection: Mutex<Connection>,
}

impl Client {
    pub(super) fn new(token: Token, connection: Connection) -> Self {
        Self { token, connection: Mutex::new(connection) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits, or whose turn has come.
#[derive(Clone)]
pub(super) struct Ticket {
    /// Who sent it; nobody, if it was made here.
    pub(super) client: Option<Arc<Client>>,
    /// Its number among the client's requests.
    pub(super) number: u64,
    /// Whether it takes service; else it is merely answered in its turn.
    pub(super) serve: bool,
    pub(super) arrival: Nanos,
}

impl Ticket {
    pub(super) fn has_same_client(&self, other: &Self) -> bool {
        match (&self.client, &other.client) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        }
    }
}

#[derive(Default)]
struct Backlog {
    queue: VecDeque<Ticket>,
    /// Clients that were left with bytes unread.
    revisit: VecDeque<Arc<Client>>,
    /// Clients that were hung up on.
    gone: Vec<Token>,
}

pub(super) struct Hall {
    shared: Arc<Shared>,
    pub(super) source: Source,
    backlog: Mutex<Backlog>,
    /// Requests in the queue, for a look without the lock.
    waiting: AtomicUsize,
    intake: Intake,
    /// Whether there is something to do that no event will announce.
    chores: AtomicBool,
}

impl Hall {
    /// For so many threads.
    pub(super) fn new(shared: Arc<Shared>, source: Source, threads: usize) -> Self {
        let backlog = Backlog { queue: VecDeque::with_capacity(1 << 10), ..Backlog::default() };
        Self {
            intake: Intake::new(shared.work.program.arrival_ns, threads),
            shared,
            source,
            backlog: Mutex::new(backlog),
            waiting: AtomicUsize::new(0),
            chores: AtomicBool::new(false),
        }
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether requests wait.
    #[inline]
    pub(super) fn has_requests(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Whether something is to be done that no event will announce.
    #[inline]
    pub(super) fn has_chores(&self) -> bool {
        self.chores.load(Ordering::Acquire)
    }

    /// Takes in what has arrived; a thread that has nothing else to do, and may sleep, waits for it.
    #[inline]
    pub(super) fn look(&self, sleeps: bool) -> Result<(), SynthError> {
        self.source.look(self, sleeps)
    }

    /// Requests have arrived: they are put at the end of the queue; `tickets` is empty afterwards.
    pub(super) fn receive(&self, tickets: &mut Vec<Ticket>) {
        if tickets.iter().any(|ticket| ticket.serve) {
            self.intake.arrive(self.has_requests());
        }
        self.queue(tickets);
    }

    /// What taking requests in takes of the threads.
    #[inline]
    pub(super) fn intake(&self) -> &Intake {
        &self.intake
    }

    /// Puts requests at the end of the queue; `tickets` is empty afterwards.
    pub(super) fn queue(&self, tickets: &mut Vec<Ticket>) {
        if tickets.is_empty() {
            return;
        }
        let mut backlog = self.backlog();
        backlog.queue.extend(tickets.drain(..));
        self.waiting.store(backlog.queue.len(), Ordering::Release);
    }

    /// The request that has waited longest, and its number in the order of service, by which its times are drawn.
    #[inline]
    pub(super) fn next(&self) -> Option<(Ticket, u64)> {
        if let Some(ticket) = self.source.make() {
            return Some((ticket, self.shared.next_index()));
        }
        if !self.has_requests() {
            return None;
        }
        let mut backlog = self.backlog();
        let ticket = backlog.queue.pop_front()?;
        self.waiting.store(backlog.queue.len(), Ordering::Release);
        // With the queue locked: the threads of a hall begin in the order of their numbers.
        let index = if ticket.serve { self.shared.next_index() } else { 0 };
        Some((ticket, index))
    }

    /// Up to `most` requests, into `batch`.
    pub(super) fn next_few(&self, most: usize, batch: &mut Vec<Ticket>) {
        if let Some(ticket) = self.source.make() {
            batch.push(ticket);
            return;
        }
        if !self.has_requests() {
            return;
        }
        let mut backlog = self.backlog();
        let few = most.min(backlog.queue.len());
        batch.extend(backlog.queue.drain(..few));
        self.waiting.store(backlog.queue.len(), Ordering::Release);
    }

    /// Remembers a client that has more to read than was good for the others.
    pub(super) fn revisit(&self, client: &Arc<Client>) {
        self.backlog().revisit.push_back(Arc::clone(client));
        self.chores.store(true, Ordering::Release);
    }

    /// The chores, for whoever is at the sockets: clients to revisit, and those that are gone.
    pub(super) fn take_chores(&self, revisit: &mut Vec<Arc<Client>>, gone: &mut Vec<Token>) {
        if !self.has_chores() {
            return;
        }
        let mut backlog = self.backlog();
        revisit.extend(backlog.revisit.drain(..));
        gone.append(&mut backlog.gone);
        self.chores.store(false, Ordering::Release);
    }

    /// Hands out the reply to a request, and sends it.
    pub(super) fn deliver(&self, ticket: &Ticket, reply: &mut Vec<u8>, next: Next) {
        let Some(client) = &ticket.client else {
            return;
        };
        let mut connection = client.lock();
        if connection.is_leaving() {
            return;
        }
        let held_back = connection.inbox.is_full();
        connection.reply(ticket.number, reply, next);
        let more = connection.readable || held_back;
        self.write(client, &mut connection);
        if more {
            self.revisit(client);
        }
    }

    /// Sends what is in the outbox, and lets go of a client that is finished.
    pub(super) fn write(&self, client: &Arc<Client>, connection: &mut Connection) {
        let was_clogged = connection.is_clogged();
        if connection.flush().is_err() || connection.is_finished() {
            return self.let_go(client, connection);
        }
        if was_clogged && !connection.is_clogged() {
            self.queue(&mut connection.owed);
            self.revisit(client);
        }
    }

    pub(super) fn let_go(&self, client: &Arc<Client>, connection: &mut Connection) {
        if connection.hang_up() {
            connection.owed.clear();
            self.shared.connections.fetch_sub(1, Ordering::Relaxed);
            self.backlog().gone.push(client.token);
            self.chores.store(true, Ordering::Release);
        }
    }

    /// Whether a request can be served now. One of a client that does not take its replies is put aside.
    pub(super) fn admits(&self, ticket: &Ticket, client: &Arc<Client>, connection: &mut Connection) -> bool {
        if connection.is_clogged() {
            self.write(client, connection);
        }
        if connection.is_clogged() {
            connection.owed.push(ticket.clone());
            return false;
        }
        !connection.is_leaving()
    }
}
