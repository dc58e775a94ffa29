//! Session tickets: as many as a worker has connections, instead of rustls's default of eight.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::NamedGroup;

/// The tickets of one server, independent of its name.
#[derive(Debug)]
pub struct Tickets {
    sessions: Mutex<Sessions>,
    most: usize,
}

#[derive(Debug, Default)]
struct Sessions {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    /// Create a store for `most` tickets. A new ticket replaces the oldest.
    pub fn new(most: usize) -> Self {
        let sessions = Sessions { tls13: VecDeque::with_capacity(most), ..Sessions::default() };
        Self { sessions: Mutex::new(sessions), most }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.lock().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.lock().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock().tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.lock().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut sessions = self.lock();
        if sessions.tls13.len() >= self.most {
            sessions.tls13.pop_front();
        }
        sessions.tls13.push_back(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock().tls13.pop_back()
    }
}
