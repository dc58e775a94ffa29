//! Delivery of replies, and clients that do not read them.

use std::sync::Arc;

use super::connection::Connection;
use super::job::{Client, Job};
use super::queue::RequestQueue;
use crate::protocol::Disposition;

impl RequestQueue {
    /// Deliver the reply of a request, and send it.
    pub(super) fn deliver(&self, job: &Job, reply: &mut Vec<u8>, disposition: Disposition) {
        let Some(client) = &job.client else {
            return;
        };
        let mut connection = client.lock();
        if connection.is_leaving() {
            return;
        }
        let was_full = connection.pipeline.is_full();
        connection.reply(job.number, reply, disposition);
        let more = connection.readable || was_full;
        self.write(client, &mut connection);
        if more {
            self.leave_unread(client);
        }
    }

    /// Send the send buffer, and close a finished connection.
    pub(super) fn write(&self, client: &Arc<Client>, connection: &mut Connection) {
        let was_clogged = connection.is_clogged();
        if connection.flush().is_err() || connection.is_finished() {
            return self.close(client, connection);
        }
        if was_clogged && !connection.is_clogged() {
            let jobs = connection.deferred.drain(..).map(|deferred| Job::from_deferred(client, deferred));
            self.push(&mut jobs.collect());
            self.leave_unread(client);
        }
    }

    pub(super) fn close(&self, client: &Arc<Client>, connection: &mut Connection) {
        if connection.hang_up() {
            connection.deferred.clear();
            self.shared.connection_closed();
            self.leave_closed(client.token);
        }
    }

    /// Whether a request can be served now. Defer it if its client does not read its replies.
    pub(super) fn admits(&self, job: &Job, client: &Arc<Client>, connection: &mut Connection) -> bool {
        if connection.is_clogged() {
            self.write(client, connection);
        }
        if connection.is_clogged() {
            connection.deferred.push(job.to_deferred());
            return false;
        }
        !connection.is_leaving()
    }
}
