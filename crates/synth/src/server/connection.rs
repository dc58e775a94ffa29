//! One client: its socket, what it sent, and what it has not taken yet.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use hindmost_clock::Nanos;
use mio::net::TcpStream;

use crate::protocol::{Context, Disposition, Pipeline};
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
    ServerRecorder,
    /// All that the client sent has been read.
    Ended,
    /// Nothing more is to be read, whatever the client sends; what is in the send buffer still goes out.
    Leaving,
    /// Hung up.
    Gone,
}

/// A request of this connection that goes back to the queue later.
#[derive(Clone, Copy)]
pub(super) struct Deferred {
    pub(super) number: u64,
    pub(super) takes_service: bool,
    pub(super) arrival: Nanos,
}

pub(super) struct Connection {
    stream: TcpStream,
    pub(super) pipeline: Pipeline,
    send_buffer: Vec<u8>,
    written: usize,
    /// The kernel may hold bytes that we have not read. Events are edge-triggered: nobody reminds us.
    pub(super) readable: bool,
    phase: Phase,
    /// Requests whose turn came while the send buffer was clogged.
    pub(super) deferred: Vec<Deferred>,
    /// Listed for writing at the end of the batch.
    pub(super) listed: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, protocol: Protocol) -> Self {
        Self {
            stream,
            pipeline: Pipeline::new(protocol),
            send_buffer: Vec::new(),
            written: 0,
            readable: true,
            phase: Phase::Open,
            deferred: Vec::new(),
            listed: false,
        }
    }

    /// Reads once, as far as there is room.
    pub(super) fn receive(&mut self) -> io::Result<Received> {
        if !self.readable || self.phase >= Phase::Ended || self.is_clogged() {
            return Ok(Received::Dry);
        }
        let Some(space) = self.pipeline.space() else {
            return Ok(Received::Dry);
        };
        let room = space.len();
        match self.stream.read(space) {
            Ok(0) => {
                self.phase = Phase::Ended;
                Ok(Received::Dry)
            }
            Ok(count) => {
                self.pipeline.fill(count);
                // A short read has emptied the socket (epoll(7), question 9): saves one call a request.
                self.readable = count == room || self.phase == Phase::ServerRecorder;
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

    /// Executes request `number`; its reply goes to `reply`, for later. The request goes on waiting, so that nothing
    /// behind it is answered first. `None` if there is no such request (any more).
    pub(super) fn execute(
        &self,
        number: u64,
        context: Context,
        now: Nanos,
        reply: &mut Vec<u8>,
    ) -> Option<Disposition> {
        let (command, frame) = self.pipeline.request(number)?;
        Some(command.execute(frame, context, now, reply))
    }

    /// Executes request `number` and puts its reply into the send buffer.
    #[inline]
    pub(super) fn execute_at_once(&mut self, number: u64, context: Context, now: Nanos) {
        if self.pipeline.is_first(number) {
            if let Some((command, frame)) = self.pipeline.request(number) {
                let disposition = command.execute(frame, context, now, &mut self.send_buffer);
                self.pipeline.pop();
                self.after(disposition);
            }
        } else {
            let mut reply = Vec::new();
            if let Some(disposition) = self.execute(number, context, now, &mut reply) {
                self.pipeline.finish(number, reply, disposition);
            }
        }
    }

    /// Hands out the reply of request `number`: into the send buffer, or to wait for those before it.
    pub(super) fn reply(&mut self, number: u64, reply: &mut Vec<u8>, disposition: Disposition) {
        if self.pipeline.is_first(number) {
            self.send_buffer.extend_from_slice(reply);
            self.pipeline.pop();
            self.after(disposition);
        } else {
            self.pipeline.finish(number, std::mem::take(reply), disposition);
        }
    }

    /// A reply has gone out, and so may those that waited for it.
    #[inline]
    fn after(&mut self, mut disposition: Disposition) {
        loop {
            if disposition == Disposition::Close {
                self.leave();
                return;
            }
            match self.pipeline.pop_done() {
                Some((reply, next)) => {
                    self.send_buffer.extend_from_slice(&reply);
                    disposition = next;
                }
                None => return,
            }
        }
    }

    /// Whether so much is unsent that no more should be produced.
    pub(super) fn is_clogged(&self) -> bool {
        self.send_buffer.len() - self.written > CLOGGED
    }

    /// The kernel has something to tell: bytes, or that no more will come.
    pub(super) fn notice(&mut self, closed: bool) {
        self.readable = true;
        if closed {
            self.phase = self.phase.max(Phase::ServerRecorder);
        }
    }

    /// Takes in nothing more; what is in the send buffer still goes out.
    fn leave(&mut self) {
        self.phase = Phase::Leaving;
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.phase >= Phase::Leaving
    }

    /// Writes as much as the kernel takes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.written < self.send_buffer.len() {
            match self.stream.write(&self.send_buffer[self.written..]) {
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
        self.send_buffer.clear();
        self.send_buffer.shrink_to(KEEP);
        self.written = 0;
        Ok(())
    }

    /// A client that always lags a little must not make the send buffer grow for ever.
    fn forget_written(&mut self) {
        if self.written > self.send_buffer.len() / 2 {
            self.send_buffer.drain(..self.written);
            self.written = 0;
        }
    }

    /// Whether nothing is left to do for this client.
    pub(super) fn is_finished(&self) -> bool {
        self.send_buffer.is_empty()
            && match self.phase {
                Phase::Open | Phase::ServerRecorder => false,
                Phase::Ended => self.pipeline.waiting() == 0,
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
