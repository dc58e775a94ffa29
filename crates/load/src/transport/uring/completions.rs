//! Submission and completion of ring entries.
#![allow(unsafe_code)]

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

use hindmost_clock::Nanos;
use io_uring::types::{Fd, RecvMsgOut, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode, squeue};

use super::buffers::GROUP;
use super::line::Piece;
use super::{Uring, GETEVENTS};
use crate::transport::stamps::{self, Stamp};

/// Purposes of entries, in the high byte of their user data; `CONNECT` is the third.
const RECEIVE: u8 = 1;
const SEND: u8 = 2;

/// Attempts to make space in the submission queue before giving up.
const TRIES: u32 = 16;

impl Uring {
    pub(super) fn user_data(&self, what: u8, slot: u32) -> u64 {
        u64::from(what) << 56 | u64::from(self.lines[slot as usize].generation) << 32 | u64::from(slot)
    }

    /// Queue an entry, after making space if needed.
    pub(super) fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the memory that an entry points to (a line's bytes, the buffers, `request`) outlives it. A
        // line's bytes do not change before its completion; the rest lives as long as the ring.
        for _ in 0..TRIES {
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.enter(0)?;
        }
        Err(ErrorKind::ResourceBusy.into())
    }

    /// Submit queued entries without waiting for completions.
    pub(super) fn enter(&mut self, flags: u32) -> io::Result<()> {
        let queued = self.ring.submission().len() as u32;
        // SAFETY: no argument is passed.
        match unsafe { self.ring.submitter().enter::<libc::sigset_t>(queued, 0, flags, None) } {
            Err(e) if !matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ResourceBusy) => Err(e),
            _ => Ok(()),
        }
    }

    /// After a failed send of `slot`, receive the bytes that the server sent before.
    #[cold]
    pub(super) fn receive_pending(&mut self, slot: u32) -> io::Result<()> {
        if self.lines[slot as usize].ended.is_none() {
            self.enter(GETEVENTS)?;
            self.harvest();
        }
        Ok(())
    }

    /// Arm the receive of `slot`. It stays armed until it fails or the buffers run out.
    pub(super) fn arm(&mut self, slot: u32) -> io::Result<()> {
        let line = &mut self.lines[slot as usize];
        let Some(socket) = &line.socket else { return Ok(()) };
        let fd = Fd(socket.as_raw_fd());
        line.messages = self.stamper.source().is_some();
        let entry = if line.messages {
            opcode::RecvMsgMulti::new(fd, &raw const *self.request, GROUP).build()
        } else {
            opcode::RecvMulti::new(fd, GROUP).build()
        };
        let name = self.user_data(RECEIVE, slot);
        self.push(&entry.user_data(name))
    }

    pub(super) fn announce(&mut self, slot: u32) {
        let line = &mut self.lines[slot as usize];
        if !line.announced {
            line.announced = true;
            self.announcements.push_back(slot);
        }
    }

    /// Process all available completions.
    pub(super) fn harvest(&mut self) {
        loop {
            let Some(entry) = self.ring.completion().next() else { return };
            let (name, result, flags) = (entry.user_data(), entry.result(), entry.flags());
            let (what, generation, slot) = ((name >> 56) as u8, (name >> 32) as u32 & 0xff_ffff, name as u32);
            let current = self.lines[slot as usize].generation == generation;
            match what {
                RECEIVE => self.on_receive(slot, current, result, flags),
                SEND => self.on_send(slot, current, result),
                _ if current => {
                    self.lines[slot as usize].connected = true;
                    self.announce(slot);
                }
                _ => {}
            }
        }
    }

    fn on_receive(&mut self, slot: u32, current: bool, result: i32, flags: u32) {
        let buffer = cqueue::buffer_select(flags);
        if !current {
            if let Some(id) = buffer {
                self.buffers.give_back(id);
            }
            return;
        }
        let armed = cqueue::more(flags);
        match (buffer, result) {
            (Some(id), 1..) => {
                let piece = self.piece(slot, id, result as usize);
                if piece.length == 0 {
                    self.buffers.give_back(id);
                    self.lines[slot as usize].ended = Some(0);
                } else {
                    self.lines[slot as usize].append(&mut self.chunks, id, piece);
                }
                self.announce(slot);
            }
            (buffer, result) => {
                if let Some(id) = buffer {
                    self.buffers.give_back(id);
                }
                let retry = [-libc::ENOBUFS, -libc::EAGAIN, -libc::EINTR].contains(&result);
                if !retry {
                    self.lines[slot as usize].ended = Some(-result);
                    self.announce(slot);
                    return;
                }
            }
        }
        if !armed && self.lines[slot as usize].ended.is_none() {
            self.unarmed.push(slot);
        }
    }

    /// Return the position of the bytes in buffer `id`, and the receive stamp of the last one.
    fn piece(&self, slot: u32, id: u16, length: usize) -> Piece {
        if !self.lines[slot as usize].messages {
            return Piece { start: 0, length: length as u32, stamp: Stamp::default() };
        }
        let bytes = self.buffers.bytes(id, length);
        let Ok(message) = RecvMsgOut::parse(bytes, &self.request) else { return Piece::default() };
        let payload = message.payload_data();
        Piece {
            start: (payload.as_ptr() as usize - bytes.as_ptr() as usize) as u32,
            length: payload.len() as u32,
            stamp: stamps::receive_stamp(message.control_data()),
        }
    }

    fn on_send(&mut self, slot: u32, current: bool, result: i32) {
        let line = &mut self.lines[slot as usize];
        line.sending = 0;
        if !current {
            // A previous connection's send; the current connection may wait for its bytes to be released.
            if line.watched {
                self.announce(slot);
            }
            return;
        }
        if result < 0 {
            line.failed = Some(-result);
            self.announce(slot);
            return;
        }
        line.at += result as usize;
        if line.at < line.out.len() {
            // The kernel took only part: the rest is a new entry, submitted at the next wait.
            if let Err(error) = self.queue_send(slot) {
                // The request was sent in part and cannot be completed: the connection is lost.
                self.lines[slot as usize].failed = Some(error.raw_os_error().unwrap_or(libc::EBUSY));
                self.announce(slot);
            }
        } else if line.watched {
            self.announce(slot);
        }
    }

    pub(super) fn queue_send(&mut self, slot: u32) -> io::Result<()> {
        let line = &mut self.lines[slot as usize];
        let Some(socket) = &line.socket else { return Err(ErrorKind::NotConnected.into()) };
        let rest = &line.out[line.at..];
        let length = rest.len() as u32;
        let entry = opcode::Send::new(Fd(socket.as_raw_fd()), rest.as_ptr(), length)
            .flags(libc::MSG_NOSIGNAL)
            .build();
        let name = self.user_data(SEND, slot);
        self.push(&entry.user_data(name))?;
        // Set only now: an entry that the ring did not accept would never complete.
        self.lines[slot as usize].sending = length;
        Ok(())
    }

    pub(super) fn drop_chunks(&mut self, slot: u32) {
        while let Some(id) = self.lines[slot as usize].pop(&self.chunks) {
            self.buffers.give_back(id);
        }
    }

    /// Wait at most `timeout` for a completion.
    pub(super) fn sleep(&mut self, timeout: Nanos) -> io::Result<()> {
        let span = Timespec::new().sec(timeout.0 / 1_000_000_000).nsec((timeout.0 % 1_000_000_000) as u32);
        match self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&span)) {
            Err(e)
                if e.raw_os_error() != Some(libc::ETIME)
                    && !matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ResourceBusy) =>
            {
                Err(e)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_partial_send_that_cannot_continue_ends_the_connection_with_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // The ring was created by another thread, so it refuses our entries (IORING_SETUP_SINGLE_ISSUER).
        let made = std::thread::spawn(move || Uring::new(address.into(), 1, false)).join().unwrap();
        let Ok(mut uring) = made else {
            return; // io_uring is missing or disabled
        };
        uring.lines[0].socket = Some(TcpStream::connect(address).unwrap());
        uring.lines[0].take(b"0123456789");
        uring.lines[0].sending = 10;
        // SAFETY: a Nop points to no memory.
        while unsafe { uring.ring.submission().push(&opcode::Nop::new().build()) }.is_ok() {}
        uring.on_send(0, true, 4);
        let line = &uring.lines[0];
        assert_eq!((line.failed, line.sending), (Some(libc::EEXIST), 0));
        assert_eq!(uring.announcements, [0], "the worker gets an event");
    }
}
