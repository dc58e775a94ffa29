//! *Bytes*: a worker's connections. [`Tcp`] and [`Uring`] are the real ones; tests drive the engine through a
//! scripted fake with the same trait.
//!
//! A transport moves bytes and nothing else. One whose way the kernel stamps implements [`Stamped`] in full; any
//! other has `impl Stamped for Mine {}`, which says that there are no stamps.

mod peers;
mod poller;
mod stamped;
mod stamps;
mod tcp;
mod tls;
mod udp;
mod uring;

use std::io;
use std::os::fd::RawFd;

use hindmost_clock::Nanos;

pub use peers::{Peer, Peers};
pub use stamped::Stamped;
pub use stamps::{Segment, Sent, Source, Stamp, Stamper};
pub use tcp::Tcp;
pub use tls::{try_handshake, Credentials, Tls, TlsProblem};
pub use udp::{Udp, LENGTH as DATAGRAM_LENGTH, LONGEST as LONGEST_DATAGRAM};
pub use uring::Uring;

/// What a connection is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The connection's slot.
    pub slot: u32,
    /// Bytes, an end of stream or an error can be read.
    pub readable: bool,
    /// Bytes can be written again, or a connection attempt has ended.
    pub writable: bool,
    /// A transmit stamp may have come, see [`Stamped::sent`].
    pub stamped: bool,
}

/// How a connection was secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// From the beginning: certificates and keys.
    Full,
    /// By taking up an earlier session.
    Resumed,
}

/// The connections of one worker, by slot. Nothing here blocks but [`Transport::wait`].
pub trait Transport {
    /// Whether writes are only queued, so that one [`Transport::submit`] hands over many.
    fn queues(&self) -> bool {
        false
    }

    /// Starts to connect `slot`, dropping the connection it had; it becomes writable when connected.
    fn connect(&mut self, slot: u32) -> io::Result<()>;

    /// After `slot` became ready: whether the attempt succeeded. `WouldBlock` where the peer has taken the connection,
    /// and securing it goes on: to be asked again whenever `slot` is ready.
    fn connected(&mut self, slot: u32) -> io::Result<()>;

    /// How the connection of `slot` was secured, if it was.
    fn secured(&self, _slot: u32) -> Option<Handshake> {
        None
    }

    /// The port that `slot` is connected from; 0 where it has none.
    fn local_port(&self, slot: u32) -> u16;

    /// Writes what the connection takes; `WouldBlock` when it takes nothing.
    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize>;

    /// Hands over what [`Transport::write`] has only queued.
    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Reads what is there; `WouldBlock` when nothing is, `Ok(0)` at the end of the stream.
    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize>;

    /// Datagrams that were too long to be taken, on all slots so far.
    fn oversized(&self) -> u64 {
        0
    }

    /// Asks for an event when `slot` can be written again, or takes that back.
    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()>;

    /// The open socket of `slot`, where the transport has such; only to ask the kernel about it.
    fn descriptor(&self, _slot: u32) -> Option<RawFd> {
        None
    }

    /// Closes `slot`.
    fn close(&mut self, slot: u32);

    /// Fills `ready` with the slots that are ready; returns at once when `timeout` is zero, else at
    /// the latest when it has passed. Where nothing is `expected`, because no reply and no connection
    /// is awaited, it may look less often.
    fn wait(&mut self, timeout: Nanos, expected: bool, ready: &mut Vec<Ready>) -> io::Result<()>;
}
