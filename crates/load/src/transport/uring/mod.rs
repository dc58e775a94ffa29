//! The same connections over `io_uring(7)`: bytes are sent and received by the ring, and looking for replies
//! costs no system call, because the kernel raises a flag in shared memory when it has something.
//!
//! ```text
//! write   one entry; submit: io_uring_enter sends it at once
//! wait    look at the flag; when it is raised: io_uring_enter receives all that came, into buffers
//! read    copies out of the buffers
//! ```
//!
//! That makes two system calls a request at low load, and fewer where requests or replies come together.
//! A receive stays armed for the life of its connection (multishot). Needs Linux 6.1 and a container
//! that allows io_uring; where it is not to be had, [`super::Tcp`] does the same with epoll.
#![allow(unsafe_code)]

mod buffers;
mod line;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use hindmost_clock::Nanos;
use io_uring::types::{Fd, RecvMsgOut, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode, squeue, IoUring};

use self::buffers::{Buffers, GROUP};
use self::line::{Chunk, Line, Piece, NO_CHUNK};
use super::stamps::{self, Offset};
use super::{socket, Ready, Transport};

/// Entries that can wait to be submitted.
const ENTRIES: u32 = 256;
/// Connections told ready by one call, as with epoll.
const BATCH: usize = 64;

/// What an entry was for; the high byte of its name.
const RECEIVE: u8 = 1;
const SEND: u8 = 2;
const CONNECT: u8 = 3;

/// One worker's connections over a ring of its own.
pub struct Uring {
    // Dropped first: what follows is memory that the kernel may use until then.
    ring: IoUring,
    buffers: Buffers,
    /// What a stamped receive asks for: control messages and no address.
    request: Box<libc::msghdr>,
    lines: Vec<Line>,
    /// What arrived in each buffer; buffers of one connection form a list.
    chunks: Vec<Chunk>,
    /// Slots that have something to tell, each once.
    news: VecDeque<u32>,
    /// Slots whose receive has ended and has to be armed again.
    unarmed: Vec<u32>,
    address: SocketAddr,
    stamping: Option<Offset>,
}

// SAFETY: the pointers in `request` are null; everything else is owned.
unsafe impl Send for Uring {}

impl Uring {
    /// Room for `slots` connections to `address`; none is open yet.
    ///
    /// # Errors
    /// The kernel has no `io_uring`, or not all that is needed, or does not let us.
    pub fn new(address: SocketAddr, slots: u32, stamping: bool) -> io::Result<Self> {
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
        // Saves the look-up of the ring at each call; older kernels lack it.
        let _ = ring.submitter().register_ring_fd();
        // SAFETY: an all-zero msghdr is a valid empty one.
        let mut request: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        request.msg_controllen = stamps::CONTROL as _;
        Ok(Self {
            ring,
            chunks: vec![Chunk::default(); buffers::count()],
            buffers,
            request,
            lines: (0..slots).map(|_| Line::new()).collect(),
            news: VecDeque::with_capacity(slots as usize),
            unarmed: Vec::with_capacity(slots as usize),
            address,
            stamping: stamping.then(Offset::measure),
        })
    }

    fn name(&self, what: u8, slot: u32) -> u64 {
        u64::from(what) << 56 | u64::from(self.lines[slot as usize].generation) << 32 | u64::from(slot)
    }

    /// Queues an entry; makes room first if there is none.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: what an entry points to (a line's bytes, the buffers, `request`) outlives it: a line's
        // bytes are not touched before its completion, the rest lives as long as the ring.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter(0)?;
        }
        Ok(())
    }

    /// Gives the kernel what is queued, without looking for what has come.
    fn enter(&mut self, flags: u32) -> io::Result<()> {
        let queued = self.ring.submission().len() as u32;
        // SAFETY: no argument is passed.
        match unsafe { self.ring.submitter().enter::<libc::sigset_t>(queued, 0, flags, None) } {
            Err(e) if !matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ResourceBusy) => Err(e),
            _ => Ok(()),
        }
    }

    /// Arms the receive of `slot`, which stays armed until it fails or the buffers run out.
    fn arm(&mut self, slot: u32) -> io::Result<()> {
        let line = &self.lines[slot as usize];
        let Some(socket) = &line.socket else { return Ok(()) };
        let fd = Fd(socket.as_raw_fd());
        let entry = if self.stamping.is_some() {
            opcode::RecvMsgMulti::new(fd, &raw const *self.request, GROUP).build()
        } else {
            opcode::RecvMulti::new(fd, GROUP).build()
        };
        let name = self.name(RECEIVE, slot);
        self.push(&entry.user_data(name))
    }

    fn tell(&mut self, slot: u32) {
        let line = &mut self.lines[slot as usize];
        if !line.told {
            line.told = true;
            self.news.push_back(slot);
        }
    }

    /// Takes all completions that are there.
    fn harvest(&mut self) {
        loop {
            let Some(entry) = self.ring.completion().next() else { return };
            let (name, result, flags) = (entry.user_data(), entry.result(), entry.flags());
            let (what, generation, slot) = ((name >> 56) as u8, (name >> 32) as u32 & 0xff_ffff, name as u32);
            let current = self.lines[slot as usize].generation == generation;
            match what {
                RECEIVE => self.received(slot, current, result, flags),
                SEND => self.sent(slot, current, result),
                _ if current => {
                    self.lines[slot as usize].connected = true;
                    self.tell(slot);
                }
                _ => {}
            }
        }
    }

    fn received(&mut self, slot: u32, current: bool, result: i32, flags: u32) {
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
                let piece = self.piece(id, result as usize);
                if piece.length == 0 {
                    self.buffers.give_back(id);
                    self.lines[slot as usize].ended = Some(0);
                } else {
                    self.lines[slot as usize].append(&mut self.chunks, id, piece);
                }
                self.tell(slot);
            }
            (buffer, result) => {
                if let Some(id) = buffer {
                    self.buffers.give_back(id);
                }
                let retry = [-libc::ENOBUFS, -libc::EAGAIN, -libc::EINTR].contains(&result);
                if !retry {
                    self.lines[slot as usize].ended = Some(-result);
                    self.tell(slot);
                    return;
                }
            }
        }
        if !armed && self.lines[slot as usize].ended.is_none() {
            self.unarmed.push(slot);
        }
    }

    /// Where the bytes lie in buffer `id`, and when the last of them came in.
    fn piece(&self, id: u16, length: usize) -> Piece {
        if self.stamping.is_none() {
            return Piece { start: 0, length: length as u32, at_ns: 0 };
        }
        let bytes = self.buffers.bytes(id, length);
        let Ok(message) = RecvMsgOut::parse(bytes, &self.request) else { return Piece::default() };
        let payload = message.payload_data();
        Piece {
            start: (payload.as_ptr() as usize - bytes.as_ptr() as usize) as u32,
            length: payload.len() as u32,
            at_ns: stamps::received(message.control_data()).unwrap_or(0),
        }
    }

    fn sent(&mut self, slot: u32, current: bool, result: i32) {
        let line = &mut self.lines[slot as usize];
        line.sending = 0;
        if !current {
            // A former connection's; the present one may wait for these bytes to be free.
            if line.watched {
                self.tell(slot);
            }
            return;
        }
        if result < 0 {
            line.failed = Some(-result);
            self.tell(slot);
            return;
        }
        line.at += result as usize;
        if line.at < line.out.len() {
            // The kernel took less than all: the rest is a new entry, submitted at the next wait.
            let _ = self.queue_send(slot);
        } else if line.watched {
            self.tell(slot);
        }
    }

    fn queue_send(&mut self, slot: u32) -> io::Result<()> {
        let line = &mut self.lines[slot as usize];
        let Some(socket) = &line.socket else { return Err(ErrorKind::NotConnected.into()) };
        let rest = &line.out[line.at..];
        line.sending = rest.len() as u32;
        let entry = opcode::Send::new(Fd(socket.as_raw_fd()), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build();
        let name = self.name(SEND, slot);
        self.push(&entry.user_data(name))
    }

    fn drop_chunks(&mut self, slot: u32) {
        while let Some(id) = self.lines[slot as usize].pop(&self.chunks) {
            self.buffers.give_back(id);
        }
    }
}

impl Transport for Uring {
    const QUEUES: bool = true;

    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.close(slot);
        let stream = socket::start_connecting(self.address)?;
        stream.set_nodelay(true)?;
        let fd = Fd(stream.as_raw_fd());
        let line = &mut self.lines[slot as usize];
        line.socket = Some(stream);
        let name = self.name(CONNECT, slot);
        self.push(&opcode::PollAdd::new(fd, libc::POLLOUT as u32).build().user_data(name))
    }

    fn connected(&mut self, slot: u32) -> io::Result<()> {
        let line = &mut self.lines[slot as usize];
        let Some(socket) = &line.socket else { return Err(ErrorKind::NotConnected.into()) };
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if self.stamping.is_some() && stamps::enable(socket.as_raw_fd()).is_err() {
            self.stamping = None;
        }
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

    fn write_stamped(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize> {
        if self.stamping.is_none() {
            return self.write(slot, bytes);
        }
        let line = &mut self.lines[slot as usize];
        if line.sending > 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let Some(socket) = &line.socket else { return Err(ErrorKind::NotConnected.into()) };
        let n = stamps::write_stamped(socket.as_raw_fd(), bytes)?;
        line.written = line.written.wrapping_add(n as u32);
        line.awaited = line.written.wrapping_sub(1);
        Ok(n)
    }

    fn wire_out(&mut self, slot: u32) -> Option<Nanos> {
        let offset = self.stamping?;
        let line = &self.lines[slot as usize];
        let sent = stamps::next_sent(line.socket.as_ref()?.as_raw_fd())?;
        (sent.offset == line.awaited).then(|| offset.monotonic(sent.at_ns))
    }

    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize> {
        self.read_stamped(slot, into).map(|(n, _)| n)
    }

    fn read_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Option<Nanos>)> {
        let (mut got, mut at_ns) = (0, 0);
        while got < into.len() {
            let line = &mut self.lines[slot as usize];
            let id = line.first;
            if id == NO_CHUNK {
                break;
            }
            let piece = &mut self.chunks[usize::from(id)].piece;
            let n = (piece.length as usize).min(into.len() - got);
            let from = piece.start as usize;
            into[got..got + n].copy_from_slice(&self.buffers.bytes(id, from + n)[from..]);
            got += n;
            at_ns = piece.at_ns;
            piece.start += n as u32;
            piece.length -= n as u32;
            if piece.length == 0 {
                line.pop(&self.chunks);
                self.buffers.give_back(id);
            }
        }
        let line = &self.lines[slot as usize];
        if line.first != NO_CHUNK || got > 0 && line.ended.is_some() {
            self.tell(slot);
        }
        match line_end(&self.lines[slot as usize]) {
            _ if got > 0 => {
                let stamp = self.stamping.filter(|_| at_ns != 0).map(|offset| offset.monotonic(at_ns));
                Ok((got, stamp))
            }
            None => Err(ErrorKind::WouldBlock.into()),
            Some(0) => Ok((0, None)),
            Some(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()> {
        self.lines[slot as usize].watched = on;
        if on && self.lines[slot as usize].sending == 0 {
            self.tell(slot);
        }
        Ok(())
    }

    fn close(&mut self, slot: u32) {
        self.drop_chunks(slot);
        // The kernel still holds the socket where something is armed; this ends it.
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
        if self.news.is_empty() {
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
            let Some(slot) = self.news.pop_front() else { break };
            let line = &mut self.lines[slot as usize];
            line.told = false;
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

/// io_uring_enter(2): `IORING_ENTER_GETEVENTS`.
const GETEVENTS: u32 = 1;

impl Uring {
    /// Until something comes, at the longest for `timeout`.
    fn sleep(&mut self, timeout: Nanos) -> io::Result<()> {
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

/// How the stream ended: 0 by the server's will, else an error number.
fn line_end(line: &Line) -> Option<i32> {
    line.ended.or(line.failed)
}
