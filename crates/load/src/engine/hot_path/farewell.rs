//! What is said on connections that we close.

use hindmost_clock::Clock;

use super::worker::Worker;
use crate::engine::state::connection::Connection;
use crate::protocol::Protocol;
use crate::transport::Stamped;

impl<P: Protocol, T: Stamped + ?Sized, C: Clock> Worker<P, T, C> {
    /// The load is over: says goodbye in the protocol's words where nothing is asked any more. Nobody waits for what
    /// the server makes of it, nor minds if it has gone first.
    #[cold]
    pub fn say_goodbye(&mut self) {
        for slot in self.connections.slots() {
            if !self.connections.is_open(slot) {
                continue;
            }
            let Connection { session, out, .. } = &mut self.connections[slot];
            // Behind a request of which only some was written it would be read as the rest of that.
            if out.is_empty() && self.codec.farewell(session, out) && !out.is_empty() {
                let _gone_first = self.transport.write(slot, out);
            }
        }
        let _gone_first = self.transport.submit();
    }
}
