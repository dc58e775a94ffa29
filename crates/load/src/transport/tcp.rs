//! Non-blocking TCP connections.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

use hindmost_clock::Nanos;

use super::peers::Peers;
use super::poller::Poller;
use super::stamps::{self, Segment, Stamp, Stamper, TransmitStamp};
use super::{Ready, StampedTransport, Transport};

/// One connection, and the number of bytes written to it, from which the keys of transmit stamps follow.
struct Line {
    stream: TcpStream,
    written: u32,
}

/// The TCP or Unix socket connections of one worker.
pub struct Tcp {
    peers: Peers,
    poller: Poller,
    lines: Vec<Option<Line>>,
    stamper: Stamper,
}

impl Tcp {
    /// Create `slots` closed connections to `peers`. `stamping`: enable kernel time stamps if they are
    /// available.
    pub fn new(peers: Peers, slots: u32, stamping: bool) -> io::Result<Self> {
        let stamper = Stamper::new(peers.peer(0).address(), stamping);
        Ok(Self { peers, poller: Poller::new()?, lines: (0..slots).map(|_| None).collect(), stamper })
    }

    #[inline]
    fn line(&mut self, slot: u32) -> io::Result<&mut Line> {
        self.lines[slot as usize].as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn fd(&self, slot: u32) -> io::Result<RawFd> {
        let line = self.lines[slot as usize].as_ref();
        line.map(|line| line.stream.as_raw_fd()).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Transport for Tcp {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.close(slot);
        let stream = self.peers.start_connecting(slot)?;
        self.poller.add(stream.as_raw_fd(), slot, true)?;
        self.lines[slot as usize] = Some(Line { stream, written: 0 });
        Ok(())
    }

    fn finish_connect(&mut self, slot: u32) -> io::Result<()> {
        let fd = self.fd(slot)?;
        if let Some(error) = self.line(slot)?.stream.take_error()? {
            return Err(error);
        }
        self.stamper.enable(fd);
        self.poller.change(fd, slot, false)
    }

    fn local_port(&self, slot: u32) -> u16 {
        let line = self.lines[slot as usize].as_ref();
        line.and_then(|line| line.stream.local_addr().ok()).map_or(0, |address| address.port())
    }

    #[inline]
    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize> {
        let line = self.line(slot)?;
        let n = line.stream.write(bytes)?;
        line.written = line.written.wrapping_add(n as u32);
        Ok(n)
    }

    #[inline]
    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize> {
        self.line(slot)?.stream.read(into)
    }

    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()> {
        self.poller.change(self.fd(slot)?, slot, on)
    }

    fn descriptor(&self, slot: u32) -> Option<RawFd> {
        self.fd(slot).ok()
    }

    fn close(&mut self, slot: u32) {
        if let Some(line) = self.lines[slot as usize].take() {
            self.poller.remove(line.stream.as_raw_fd());
        }
    }

    #[inline]
    fn wait(&mut self, timeout: Nanos, expected: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.poller.wait(timeout, expected, ready)
    }
}

impl StampedTransport for Tcp {
    fn stamps(&self) -> &Stamper {
        &self.stamper
    }

    fn write_stamped(&mut self, slot: u32, bytes: &[u8]) -> io::Result<(usize, u32)> {
        let fd = self.fd(slot)?;
        let n = self.stamper.write(fd, bytes)?;
        let line = self.line(slot)?;
        line.written = line.written.wrapping_add(n as u32);
        Ok((n, line.written.wrapping_sub(1)))
    }

    fn next_transmit_stamp(&mut self, slot: u32) -> Option<TransmitStamp> {
        stamps::next_transmit_stamp(self.fd(slot).ok()?)
    }

    fn read_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        stamps::read(self.fd(slot)?, into)
    }

    fn peek_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        stamps::peek(self.fd(slot)?, into)
    }

    fn take(&mut self, slot: u32, bytes: usize, more: bool) -> Segment {
        self.fd(slot).map(|fd| stamps::take(fd, bytes, more)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::transport::Peer;

    #[test]
    fn a_closed_connection_reports_nothing_though_a_forked_child_still_holds_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = Peer::Tcp(listener.local_addr().unwrap());
        let mut tcp = Tcp::new(Peers::new(vec![peer], Vec::new(), 0).unwrap(), 1, false).unwrap();
        let mut ready = Vec::new();
        let mut open = |tcp: &mut Tcp| {
            tcp.connect(0).unwrap();
            tcp.wait(Nanos::from_millis(5_000), true, &mut ready).unwrap();
            let flags = ready.iter().map(|one| (one.readable, one.writable)).collect::<Vec<_>>();
            assert_eq!(flags, [(false, true)]);
            tcp.finish_connect(0).unwrap();
            listener.accept().unwrap().0
        };
        let server = open(&mut tcp);
        let held = tcp.line(0).unwrap().stream.try_clone().unwrap();
        drop(server);
        let _server = open(&mut tcp);
        drop(held);
    }
}
