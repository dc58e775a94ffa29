//! Protocol-level goodbye messages on connections that we close.

use hindmost_clock::Clock;

use super::worker::Worker;
use crate::engine::state::connection::Connection;
use crate::protocol::Protocol;
use crate::transport::StampedTransport;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Send the protocol's goodbye on idle connections after the load. Errors are ignored: the server may
    /// have closed the connection already.
    #[cold]
    pub fn say_goodbye(&mut self) {
        for slot in self.connections.slots() {
            if !self.connections.is_open(slot) {
                continue;
            }
            let Connection { session, out, .. } = &mut self.connections[slot];
            // After a partially written request, the server would read the goodbye as the rest of that
            // request.
            if out.is_empty() && self.codec.write_farewell(session, out) && !out.is_empty() {
                let _gone_first = self.transport.write(slot, out);
            }
        }
        let _gone_first = self.transport.submit();
    }
}
