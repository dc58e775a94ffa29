//! Replies on their way out, and clients that do not take them.

use std::sync::Arc;

use super::connection::Connection;
use super::job::{Client, Job};
use super::queue::RequestQueue;
use crate::protocol::Disposition;

impl RequestQueue {
    /// Hands out the reply to a request, and sends it.
    pub(super) fn deliver(&self, job: &Job, reply: &mut Vec<u8>, disposition: Disposition) {
        let Some(client) = &job.client else {
            return;
        };
        let mut connection = client.lock();
        if connection.is_leaving() {
            return;
        }
        let held_back = connection.pipeline.is_full();
        connection.reply(job.number, reply, disposition);
        let more = connection.readable || held_back;
        self.write(client, &mut connection);
        if more {
            self.leave_unread(client);
        }
    }

    /// Sends what is in the send buffer, and closes a connection that is finished.
    pub(super) fn write(&self, client: &Arc<Client>, connection: &mut Connection) {
        let was_clogged = connection.is_clogged();
        if connection.flush().is_err() || connection.is_finished() {
            return self.close(client, connection);
        }
        if was_clogged && !connection.is_clogged() {
            let resumed = connection.deferred.drain(..).map(|deferred| Job::resumed(client, deferred));
            self.push(&mut resumed.collect());
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

    /// Whether a request can be served now. One of a client that does not take its replies is deferred until it does.
    pub(super) fn admits(&self, job: &Job, client: &Arc<Client>, connection: &mut Connection) -> bool {
        if connection.is_clogged() {
            self.write(client, connection);
        }
        if connection.is_clogged() {
            connection.deferred.push(job.deferred());
            return false;
        }
        !connection.is_leaving()
    }
}
