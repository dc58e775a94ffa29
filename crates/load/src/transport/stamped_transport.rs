//! The extension of a transport for kernel time stamps.

use std::io;

use super::{Segment, Stamp, Stamper, TransmitStamp, Transport};

/// Kernel time stamps of requests and replies. The default methods suit a transport without stamps: they move
/// bytes as [`Transport`] does and return no stamps.
pub trait StampedTransport: Transport {
    /// Return the source of stamps, if any.
    fn stamps(&self) -> &Stamper {
        Stamper::NONE
    }

    /// Write as [`Transport::write`] does, and request a transmit stamp of the last byte. Also return the
    /// stamp's key.
    fn write_stamped(&mut self, slot: u32, bytes: &[u8]) -> io::Result<(usize, u32)> {
        self.write(slot, bytes).map(|n| (n, 0))
    }

    /// Return the next available transmit stamp.
    fn next_transmit_stamp(&mut self, _slot: u32) -> Option<TransmitStamp> {
        None
    }

    /// Read as [`Transport::read`] does. Also return the receive stamp of the last byte.
    fn read_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        self.read(slot, into).map(|n| (n, Stamp::default()))
    }

    /// Read as [`StampedTransport::read_stamped`] does, but leave the bytes in the socket for
    /// [`StampedTransport::take`]. Only called on a transport with stamps; the default consumes the bytes.
    fn peek_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        self.read_stamped(slot, into)
    }

    /// Consume `bytes` of the peeked bytes and return the receive stamp of the last one. `more`: whether more
    /// bytes were peeked after them.
    fn take(&mut self, _slot: u32, _bytes: usize, _more: bool) -> Segment {
        Segment::default()
    }
}
