//! One client: its socket, what it sent, and what it has not taken yet.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use hindmost_clock::Nanos;
use mio::net::TcpStream;

use super::hall::Ticket;
use super::inbox::Inbox;
use crate::protocol::{Desk, Next};
use crate::Protocol;

/// Bytes of replies beyond which a client that does not read is not served.
const CLOGGED: usize = 1 << 20;
/// A reply buffer that had to grow beyond this is given back once empty.
const KEEP: usize = 64 << 10;

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Bytes, and there may be more.
    Some,
    /// All there is for now.
    Dry,
}

/// How a connection nears its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// The client has said that it sends no more; what it sent may still have to be read.
    Closing,
    /// All that the client sent has been read.
    Ended,
    /// Nothing more is to be read, whatever the client sends; what is in the outbox still goes out.
    Leaving,
    /// Hung up.
    Gone,
}

pub(super) struct Connection {
    stream: TcpStream,
    pub(super) inbox: Inbox,
    outbox: Vec<u8>,
    written: usize,
    /// The kernel may hold bytes that we have not read. Events are edge-triggered: nobody reminds us.
    pub(super) readable: bool,
    phase: Phase,
    /// Requests whose turn was passed over because the outbox was clogged.
    pub(super) owed: Vec<Ticket>,
    /// Listed for writing at the end of the batch.
    pub(super) listed: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, protocol: Protocol) -> Self {
        Self {
            stream,
            inbox: Inbox::new(protocol),
            outbox: Vec::new(),
            written: 0,
            readable: true,
            phase: Phase::Open,
            owed: Vec::new(),
            listed: false,
        }
    }

    /// Reads once, as far as there is room.
    pub(super) fn receive(&mut self) -> io::Result<Received> {
        if !self.readable || self.phase >= Phase::Ended || self.is_clogged() {
            return Ok(Received::Dry);
        }
        let Some(space) = self.inbox.space() else {
            return Ok(Received::Dry);
        };
        let room = space.len();
        match self.stream.read(space) {
            Ok(0) => {
                self.phase = Phase::Ended;
                Ok(Received::Dry)
            }
            Ok(count) => {
                self.inbox.fill(count);
                // A short read has emptied the socket (epoll(7), question 9): saves one call a request.
                self.readable = count == room || self.phase == Phase::Closing;
                Ok(Received::Some)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(Received::Dry)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Received::Some),
            Err(error) => Err(error),
        }
    }

    /// Obeys request `number`; its reply goes to `reply`, for later. The request goes on waiting, so that nothing
    /// behind it is answered first. `None` if there is no such request (any more).
    pub(super) fn obey(&self, number: u64, desk: Desk, now: Nanos, reply: &mut Vec<u8>) -> Option<Next> {
        let (command, frame) = self.inbox.request(number)?;
        Some(command.execute(frame, desk, now, reply))
    }

    /// Obeys request `number` and puts its reply into the outbox.
    #[inline]
    pub(super) fn obey_at_once(&mut self, number: u64, desk: Desk, now: Nanos) {
        if self.inbox.is_first(number) {
            if let Some((command, frame)) = self.inbox.request(number) {
                let next = command.execute(frame, desk, now, &mut self.outbox);
                self.inbox.pop();
                self.after(next);
            }
        } else {
            let mut reply = Vec::new();
            if let Some(next) = self.obey(number, desk, now, &mut reply) {
                self.inbox.finish(number, reply, next);
            }
        }
    }

    /// Hands out the reply of request `number`: into the outbox, or to wait for those before it.
    pub(super) fn reply(&mut self, number: u64, reply: &mut Vec<u8>, next: Next) {
        if self.inbox.is_first(number) {
            self.outbox.extend_from_slice(reply);
            self.inbox.pop();
            self.after(next);
        } else {
            self.inbox.finish(number, std::mem::take(reply), next);
        }
    }

    /// A reply has gone out: so may those that waited for it.
    #[inline]
    fn after(&mut self, mut next: Next) {
        loop {
            if next == Next::Close {
                self.leave();
                return;
            }
            match self.inbox.pop_done() {
                Some((reply, then)) => {
                    self.outbox.extend_from_slice(&reply);
                    next = then;
                }
                None => return,
            }
        }
    }

    /// Whether so much is unsent that no more should be produced.
    pub(super) fn is_clogged(&self) -> bool {
        self.outbox.len() - self.written > CLOGGED
    }

    /// The kernel has something to tell: bytes, or that no more will come.
    pub(super) fn notice(&mut self, closed: bool) {
        self.readable = true;
        if closed {
            self.phase = self.phase.max(Phase::Closing);
        }
    }

    /// Goes no further than what is in the outbox.
    fn leave(&mut self) {
        self.phase = Phase::Leaving;
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.phase >= Phase::Leaving
    }

    /// Writes as much as the kernel takes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.written < self.outbox.len() {
            match self.stream.write(&self.outbox[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.forget_written();
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.outbox.clear();
        self.outbox.shrink_to(KEEP);
        self.written = 0;
        Ok(())
    }

    /// A client that always lags a little must not make the outbox grow for ever.
    fn forget_written(&mut self) {
        if self.written > self.outbox.len() / 2 {
            self.outbox.drain(..self.written);
            self.written = 0;
        }
    }

    /// Whether nothing is left to do for this client.
    pub(super) fn is_finished(&self) -> bool {
        self.outbox.is_empty()
            && match self.phase {
                Phase::Open | Phase::Closing => false,
                Phase::Ended => self.inbox.waiting() == 0,
                Phase::Leaving | Phase::Gone => true,
            }
    }

    /// Hangs up; false if that has happened before. Unread bytes would turn this into a reset, which can destroy
    /// replies on their way.
    pub(super) fn hang_up(&mut self) -> bool {
        if self.phase == Phase::Gone {
            return false;
        }
        self.phase = Phase::Gone;
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut scrap = [0; 4096];
        for _ in 0..64 {
            if !matches!(self.stream.read(&mut scrap), Ok(1..)) {
                break;
            }
        }
        true
    }
}
