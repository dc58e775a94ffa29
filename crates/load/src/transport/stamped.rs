//! What a transport whose way is stamped can do beside moving bytes.

use std::io;

use super::{Segment, Sent, Stamp, Stamper, Transport};

/// Stamps of requests and replies. The methods as they stand are those of a transport that has none: it moves bytes
/// as [`Transport`] does, and nothing comes of asking.
pub trait Stamped: Transport {
    /// Who stamps, if anybody.
    fn stamps(&self) -> &Stamper {
        Stamper::NONE
    }

    /// As [`Transport::write`], and asks for the moment at which the last byte leaves; returns the name of its
    /// stamp, too.
    fn write_stamped(&mut self, slot: u32, bytes: &[u8]) -> io::Result<(usize, u32)> {
        self.write(slot, bytes).map(|n| (n, 0))
    }

    /// The next transmit stamp that has come.
    fn sent(&mut self, _slot: u32) -> Option<Sent> {
        None
    }

    /// As [`Transport::read`], and when the last of the bytes came in.
    fn read_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        self.read(slot, into).map(|n| (n, Stamp::default()))
    }

    /// As [`Stamped::read_stamped`], but the bytes stay until they are taken. Only asked of a transport that stamps;
    /// here they are gone at once, and [`Stamped::take`] has nothing to do.
    fn peek_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        self.read_stamped(slot, into)
    }

    /// Takes so many of the bytes peeked at, and says when the last of them came in; `more` says whether
    /// others were peeked at behind them.
    fn take(&mut self, _slot: u32, _bytes: usize, _more: bool) -> Segment {
        Segment::default()
    }
}
