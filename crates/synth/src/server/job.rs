//! A request in the queue, and the client that it came from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hindmost_clock::Nanos;
use mio::Token;

use super::connection::{Connection, Deferred};

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

/// A request that waits for service, or is in service.
pub(super) struct Job {
    /// Who sent it; nobody, if it was made in this process.
    pub(super) client: Option<Arc<Client>>,
    /// Its number among the client's requests.
    pub(super) number: u64,
    /// Whether it takes service time; otherwise it is merely answered in its turn.
    pub(super) takes_service: bool,
    pub(super) arrival: Nanos,
}

impl Job {
    /// A request that this process made.
    pub(super) fn made_here(arrival: Nanos) -> Self {
        Self { client: None, number: 0, takes_service: true, arrival }
    }

    /// One that had been deferred.
    pub(super) fn resumed(client: &Arc<Client>, deferred: Deferred) -> Self {
        let Deferred { number, takes_service, arrival } = deferred;
        Self { client: Some(Arc::clone(client)), number, takes_service, arrival }
    }

    pub(super) fn deferred(&self) -> Deferred {
        Deferred { number: self.number, takes_service: self.takes_service, arrival: self.arrival }
    }

    pub(super) fn has_same_client(&self, other: &Self) -> bool {
        match (&self.client, &other.client) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        }
    }
}
