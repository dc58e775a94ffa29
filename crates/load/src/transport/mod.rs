//! *Bytes*: a worker's connections. [`Tcp`], [`Uring`], [`Udp`] and [`Tls`] are used in real runs; tests
//! drive the engine with a scripted fake.
//!
//! A transport only moves bytes. One with kernel time stamps implements [`StampedTransport`] in full. Any
//! other has `impl StampedTransport for Mine {}`, which reports no stamps.

mod peers;
mod poller;
mod stamped_transport;
mod stamps;
mod tcp;
mod tls;
mod udp;
mod uring;

use std::io;
use std::os::fd::RawFd;

use hindmost_clock::Nanos;

pub use peers::{Peer, Peers};
pub use stamped_transport::StampedTransport;
pub use stamps::{Segment, Source, Stamp, Stamper, TransmitStamp};
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
    /// A transmit stamp may be available; see [`StampedTransport::next_transmit_stamp`].
    pub stamped: bool,
}

/// Kind of a TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// A handshake with certificates and key exchange.
    Full,
    /// A handshake that resumes an earlier session.
    Resumed,
}

/// The connections of one worker, by slot. Only [`Transport::wait`] blocks.
pub trait Transport {
    /// Whether writes are only queued, so that one [`Transport::submit`] hands over many.
    fn queues(&self) -> bool {
        false
    }

    /// Start to connect `slot`, and drop its old connection. The slot becomes writable when connected.
    fn connect(&mut self, slot: u32) -> io::Result<()>;

    /// After `slot` became ready: return whether the attempt succeeded. `WouldBlock` means that TCP is
    /// connected and the TLS handshake continues; call again whenever `slot` is ready.
    fn finish_connect(&mut self, slot: u32) -> io::Result<()>;

    /// Return the kind of TLS handshake of `slot`, or `None` without TLS.
    fn handshake(&self, _slot: u32) -> Option<Handshake> {
        None
    }

    /// Return the local port of `slot`; 0 if it has none.
    fn local_port(&self, slot: u32) -> u16;

    /// Write as many bytes as the connection accepts. `WouldBlock` if it accepts none.
    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize>;

    /// Hand over the writes that [`Transport::write`] has queued.
    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Read available bytes. `WouldBlock` if there are none, `Ok(0)` at the end of the stream.
    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize>;

    /// Return the number of dropped datagrams that were too long, on all slots so far.
    fn oversized_datagrams(&self) -> u64 {
        0
    }

    /// Start or stop watching for `slot` to become writable.
    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()>;

    /// Return the open socket of `slot`, if the transport has one; only for queries to the kernel.
    fn descriptor(&self, _slot: u32) -> Option<RawFd> {
        None
    }

    /// Close `slot`.
    fn close(&mut self, slot: u32);

    /// Fill `ready` with the slots that are ready. Return at once if `timeout` is zero, otherwise after at
    /// most `timeout`. If no reply and no connection is `expected`, the transport may poll less often.
    fn wait(&mut self, timeout: Nanos, expected: bool, ready: &mut Vec<Ready>) -> io::Result<()>;
}
