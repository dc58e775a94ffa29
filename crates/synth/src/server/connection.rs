//! A client's connection: its socket, received requests and unsent replies.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use hindmost_clock::Nanos;
use mio::net::TcpStream;

use crate::protocol::{Context, Disposition, Pipeline};
use crate::Protocol;

/// Unsent bytes beyond which requests of a client are not served until it reads.
const MAX_UNSENT: usize = 1 << 20;
/// Capacity to which a larger reply buffer shrinks once it is empty.
const KEPT_CAPACITY: usize = 64 << 10;

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadResult {
    /// Bytes were read, and there may be more.
    More,
    /// No more bytes for now.
    Empty,
}

/// Phase of closing a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// The client has closed its side; unread bytes may remain.
    HalfClosed,
    /// All bytes of the client have been read.
    Ended,
    /// Ignore further requests, but send the buffered replies.
    Leaving,
    /// The connection is closed.
    Gone,
}

/// A request that returns to the queue later.
#[derive(Clone, Copy)]
pub(super) struct DeferredRequest {
    pub(super) number: u64,
    pub(super) takes_service: bool,
    pub(super) arrival: Nanos,
}

pub(super) struct Connection {
    stream: TcpStream,
    pub(super) pipeline: Pipeline,
    send_buffer: Vec<u8>,
    written: usize,
    /// Whether the kernel may hold unread bytes. Events are edge-triggered and do not repeat.
    pub(super) readable: bool,
    phase: Phase,
    /// Requests whose turn came while the send buffer was too full.
    pub(super) deferred: Vec<DeferredRequest>,
    /// Whether it is listed for writing at the end of the batch.
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

    /// Read once, as much as there is space for.
    pub(super) fn receive(&mut self) -> io::Result<ReadResult> {
        if !self.readable || self.phase >= Phase::Ended || self.is_clogged() {
            return Ok(ReadResult::Empty);
        }
        let Some(space) = self.pipeline.space() else {
            return Ok(ReadResult::Empty);
        };
        let length = space.len();
        match self.stream.read(space) {
            Ok(0) => {
                self.phase = Phase::Ended;
                Ok(ReadResult::Empty)
            }
            Ok(count) => {
                self.pipeline.fill(count);
                // A short read has emptied the socket (epoll(7), question 9); this saves a system call per request.
                self.readable = count == length || self.phase == Phase::HalfClosed;
                Ok(ReadResult::More)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(ReadResult::Empty)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(ReadResult::More),
            Err(error) => Err(error),
        }
    }

    /// Execute request `number` and write its reply to `reply`. The request stays in the pipeline, so that no later
    /// one is answered before it. Return `None` if the request does not exist.
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

    /// Execute request `number`, and append its reply to the send buffer.
    #[inline]
    pub(super) fn execute_at_once(&mut self, number: u64, context: Context, now: Nanos) {
        if self.pipeline.is_first(number) {
            if let Some((command, frame)) = self.pipeline.request(number) {
                let disposition = command.execute(frame, context, now, &mut self.send_buffer);
                self.pipeline.pop();
                self.release_replies(disposition);
            }
        } else {
            let mut reply = Vec::new();
            if let Some(disposition) = self.execute(number, context, now, &mut reply) {
                self.pipeline.finish(number, reply, disposition);
            }
        }
    }

    /// Deliver the reply of request `number`: to the send buffer, or to the pipeline until all earlier requests are
    /// answered.
    pub(super) fn reply(&mut self, number: u64, reply: &mut Vec<u8>, disposition: Disposition) {
        if self.pipeline.is_first(number) {
            self.send_buffer.extend_from_slice(reply);
            self.pipeline.pop();
            self.release_replies(disposition);
        } else {
            self.pipeline.finish(number, std::mem::take(reply), disposition);
        }
    }

    /// Send the replies that waited for this one.
    #[inline]
    fn release_replies(&mut self, mut disposition: Disposition) {
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

    /// Whether too much is unsent to produce more.
    pub(super) fn is_clogged(&self) -> bool {
        self.send_buffer.len() - self.written > MAX_UNSENT
    }

    /// Handle an event: there are bytes, or no more will come.
    pub(super) fn notice(&mut self, closed: bool) {
        self.readable = true;
        if closed {
            self.phase = self.phase.max(Phase::HalfClosed);
        }
    }

    /// Ignore further requests, but send the buffered replies.
    fn leave(&mut self) {
        self.phase = Phase::Leaving;
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.phase >= Phase::Leaving
    }

    /// Write as much as the kernel accepts.
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
        self.send_buffer.shrink_to(KEPT_CAPACITY);
        self.written = 0;
        Ok(())
    }

    /// Drop written bytes: the send buffer of a client that is always slightly behind must not grow forever.
    fn forget_written(&mut self) {
        if self.written > self.send_buffer.len() / 2 {
            self.send_buffer.drain(..self.written);
            self.written = 0;
        }
    }

    /// Whether there is nothing left to do for this client.
    pub(super) fn is_finished(&self) -> bool {
        self.send_buffer.is_empty()
            && match self.phase {
                Phase::Open | Phase::HalfClosed => false,
                Phase::Ended => self.pipeline.waiting() == 0,
                Phase::Leaving | Phase::Gone => true,
            }
    }

    /// Close the connection. Return false if it is closed already. Read the remaining bytes first: unread bytes would
    /// cause a reset, which can destroy replies on their way.
    pub(super) fn hang_up(&mut self) -> bool {
        if self.phase == Phase::Gone {
            return false;
        }
        self.phase = Phase::Gone;
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut discarded = [0; 4096];
        for _ in 0..64 {
            if !matches!(self.stream.read(&mut discarded), Ok(1..)) {
                break;
            }
        }
        true
    }
}
