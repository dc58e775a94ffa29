//! Connections over `io_uring(7)`. The ring sends and receives bytes. Polling for replies needs no system
//! call, because the kernel sets a flag in shared memory.
//!
//! ```text
//! write   one entry; submit: io_uring_enter sends it at once
//! wait    check the flag; if it is set: io_uring_enter receives all available bytes into buffers
//! read    copies bytes out of the buffers
//! ```
//!
//! That takes two system calls per request at low load, and fewer if requests or replies coincide. A receive
//! stays armed for the life of its connection (multishot). It needs Linux 6.1 and a container that allows
//! `io_uring`. Otherwise, use [`super::Tcp`] with epoll.
#![allow(unsafe_code)]

mod buffers;
mod completions;
mod line;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};

use hindmost_clock::Nanos;
use io_uring::types::Fd;
use io_uring::{opcode, IoUring};

use self::buffers::Buffers;
use self::line::{Chunk, Line, NO_CHUNK};
use super::peers::Peers;
use super::stamps::{self, Segment, Stamp, Stamper, TransmitStamp};
use super::{Ready, StampedTransport, Transport};

/// Size of the submission queue.
const ENTRIES: u32 = 256;
/// Most connections reported ready by one call, as with epoll.
const BATCH: usize = 64;
/// A third purpose of entries, besides receiving and sending; the high byte of the user data.
const CONNECT: u8 = 3;
/// `io_uring_enter(2)`: `IORING_ENTER_GETEVENTS`.
const GETEVENTS: u32 = 1;

/// The connections of one worker over its own ring.
pub struct Uring {
    // Dropped first: the kernel may use the memory of the other fields until then.
    ring: IoUring,
    buffers: Buffers,
    /// The header of a stamped receive: control messages, no address.
    request: Box<libc::msghdr>,
    lines: Vec<Line>,
    /// Received bytes by buffer. The buffers of one connection form a list.
    chunks: Vec<Chunk>,
    /// Slots with an unreported event; each occurs once.
    announcements: VecDeque<u32>,
    /// Slots whose receive has ended and must be armed again.
    unarmed: Vec<u32>,
    peers: Peers,
    stamper: Stamper,
}

// SAFETY: the pointers in `request` are null; everything else is owned.
unsafe impl Send for Uring {}

impl Uring {
    /// Create `slots` closed connections to `peers`.
    ///
    /// # Errors
    /// The kernel lacks `io_uring` or a required feature, or forbids its use.
    pub fn new(peers: Peers, slots: u32, stamping: bool) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize((4 * slots).next_power_of_two().max(4 * ENTRIES))
            .build(ENTRIES)?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(ErrorKind::Unsupported.into());
        }
        let buffers = Buffers::new(&ring)?;
        // SAFETY: an all-zero msghdr is a valid empty one.
        let mut request: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        request.msg_controllen = stamps::CONTROL as _;
        Ok(Self {
            ring,
            chunks: vec![Chunk::default(); buffers::count()],
            buffers,
            request,
            lines: (0..slots).map(|_| Line::new()).collect(),
            announcements: VecDeque::with_capacity(slots as usize),
            unarmed: Vec::with_capacity(slots as usize),
            stamper: Stamper::new(peers.peer(0).address(), stamping),
            peers,
        })
    }
}

impl Transport for Uring {
    fn queues(&self) -> bool {
        true
    }

    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.close(slot);
        let stream = self.peers.start_connecting(slot)?;
        let fd = Fd(stream.as_raw_fd());
        let line = &mut self.lines[slot as usize];
        line.socket = Some(stream);
        let name = self.user_data(CONNECT, slot);
        self.push(&opcode::PollAdd::new(fd, libc::POLLOUT as u32).build().user_data(name))
    }

    fn finish_connect(&mut self, slot: u32) -> io::Result<()> {
        let line = &mut self.lines[slot as usize];
        let Some(socket) = &line.socket else { return Err(ErrorKind::NotConnected.into()) };
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        self.stamper.enable(socket.as_raw_fd());
        self.arm(slot)
    }

    #[inline]
    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize> {
        let line = &mut self.lines[slot as usize];
        if let Some(error) = line.failed {
            return Err(io::Error::from_raw_os_error(error));
        }
        if line.sending > 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let n = line.take(bytes);
        self.queue_send(slot)?;
        Ok(n)
    }

    fn submit(&mut self) -> io::Result<()> {
        self.enter(0)?;
        self.harvest();
        Ok(())
    }

    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize> {
        self.read_stamped(slot, into).map(|(n, _)| n)
    }

    fn local_port(&self, slot: u32) -> u16 {
        let socket = self.lines[slot as usize].socket.as_ref();
        socket.and_then(|socket| socket.local_addr().ok()).map_or(0, |address| address.port())
    }

    fn descriptor(&self, slot: u32) -> Option<RawFd> {
        self.lines[slot as usize].socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()> {
        self.lines[slot as usize].watched = on;
        if on && self.lines[slot as usize].sending == 0 {
            self.announce(slot);
        }
        Ok(())
    }

    fn close(&mut self, slot: u32) {
        self.drop_chunks(slot);
        // The kernel holds the socket while an entry is armed; the shutdown ends that.
        if let Some(socket) = &self.lines[slot as usize].socket {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        self.lines[slot as usize].close();
    }

    fn wait(&mut self, timeout: Nanos, _expected: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        if !self.unarmed.is_empty() {
            let mut unarmed = std::mem::take(&mut self.unarmed);
            for &slot in &unarmed {
                self.arm(slot)?;
            }
            unarmed.clear();
            self.unarmed = unarmed;
        }
        self.harvest();
        let submission = self.ring.submission();
        let (queued, raised) = (!submission.is_empty(), submission.taskrun() || submission.cq_overflow());
        drop(submission);
        if self.announcements.is_empty() {
            if timeout > Nanos::ZERO {
                self.sleep(timeout)?;
            } else if queued || raised {
                self.enter(GETEVENTS)?;
            } else {
                std::hint::spin_loop();
                return Ok(());
            }
            self.harvest();
        } else if queued {
            self.enter(0)?;
        }
        while ready.len() < BATCH {
            let Some(slot) = self.announcements.pop_front() else { break };
            let line = &mut self.lines[slot as usize];
            line.announced = false;
            let writable = line.connected || line.watched && line.sending == 0;
            line.connected = false;
            let readable = line.first != NO_CHUNK || line.ended.is_some() || line.failed.is_some();
            if readable || writable {
                ready.push(Ready { slot, readable, writable, stamped: false });
            }
        }
        Ok(())
    }
}

impl StampedTransport for Uring {
    fn stamps(&self) -> &Stamper {
        &self.stamper
    }

    fn write_stamped(&mut self, slot: u32, bytes: &[u8]) -> io::Result<(usize, u32)> {
        let line = &mut self.lines[slot as usize];
        if line.sending > 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let Some(socket) = &line.socket else { return Err(ErrorKind::NotConnected.into()) };
        let n = self.stamper.write(socket.as_raw_fd(), bytes).inspect_err(|e| {
            if !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
                line.failed = e.raw_os_error();
            }
        })?;
        line.written = line.written.wrapping_add(n as u32);
        Ok((n, line.written.wrapping_sub(1)))
    }

    fn next_transmit_stamp(&mut self, slot: u32) -> Option<TransmitStamp> {
        stamps::next_transmit_stamp(self.descriptor(slot)?)
    }

    fn read_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        let got = self.peek_stamped(slot, into)?;
        if got.0 > 0 {
            self.take(slot, got.0, false);
        }
        Ok(got)
    }

    fn peek_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        if self.lines[slot as usize].failed.is_some() {
            self.receive_pending(slot)?;
        }
        let line = &self.lines[slot as usize];
        let (mut got, mut stamp, mut at) = (0, Stamp::default(), line.first);
        while got < into.len() && at != NO_CHUNK {
            let Chunk { piece, next } = self.chunks[usize::from(at)];
            let n = (piece.length as usize).min(into.len() - got);
            let from = piece.start as usize;
            into[got..got + n].copy_from_slice(&self.buffers.bytes(at, from + n)[from..]);
            got += n;
            (stamp, at) = (piece.stamp, next);
        }
        match line.ended.or(line.failed) {
            _ if got > 0 => Ok((got, stamp)),
            None => Err(ErrorKind::WouldBlock.into()),
            Some(0) => Ok((0, stamp)),
            Some(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn take(&mut self, slot: u32, mut bytes: usize, _more: bool) -> Segment {
        let mut segment = Segment::default();
        while bytes > 0 {
            let line = &mut self.lines[slot as usize];
            let id = line.first;
            if id == NO_CHUNK {
                break;
            }
            let piece = &mut self.chunks[usize::from(id)].piece;
            let n = (piece.length as usize).min(bytes);
            bytes -= n;
            piece.start += n as u32;
            piece.length -= n as u32;
            segment =
                Segment { stamp: piece.stamp, shared: piece.length > 0 && piece.stamp != Stamp::default() };
            if piece.length == 0 {
                line.pop(&self.chunks);
                self.buffers.give_back(id);
            }
        }
        let line = &self.lines[slot as usize];
        if line.first != NO_CHUNK || line.ended.is_some() || line.failed.is_some() {
            self.announce(slot);
        }
        segment
    }
}
