//! A request in the queue, and its client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hindmost_clock::Nanos;
use mio::Token;

use super::connection::{Connection, DeferredRequest};

/// A client; only one thread at a time uses its connection.
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

/// A request that waits for service or is in service.
pub(super) struct Job {
    /// Its client; None if this process generated the request.
    pub(super) client: Option<Arc<Client>>,
    /// Its number among the client's requests.
    pub(super) number: u64,
    /// Whether it takes service time; otherwise it is only answered in order.
    pub(super) takes_service: bool,
    pub(super) arrival: Nanos,
}

impl Job {
    /// Create a request of this process.
    pub(super) fn in_process(arrival: Nanos) -> Self {
        Self { client: None, number: 0, takes_service: true, arrival }
    }

    /// Create a job from a deferred request.
    pub(super) fn from_deferred(client: &Arc<Client>, deferred: DeferredRequest) -> Self {
        let DeferredRequest { number, takes_service, arrival } = deferred;
        Self { client: Some(Arc::clone(client)), number, takes_service, arrival }
    }

    pub(super) fn to_deferred(&self) -> DeferredRequest {
        DeferredRequest { number: self.number, takes_service: self.takes_service, arrival: self.arrival }
    }

    pub(super) fn has_same_client(&self, other: &Self) -> bool {
        match (&self.client, &other.client) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        }
    }
}
