//! A scripted server and kernel. Time passes only here: polls, writes and sleeps take the scripted time, so
//! every run is the same.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::ops::Range;

use hindmost_clock::{Clock, FakeClock, Nanos};

use super::MS;
use crate::transport::{Ready, Segment, Source, Stamp, StampedTransport, Stamper, TransmitStamp, Transport};

/// The server's reaction to one request.
pub struct Answer {
    /// Time from arrival to reply. A reply never precedes the reply before it.
    pub delay_ns: u64,
    /// The reply, in pieces that arrive `gap_ns` apart.
    pub pieces: Vec<Vec<u8>>,
    pub gap_ns: u64,
    /// Whether the server closes the connection after the reply.
    pub ends: bool,
}

impl Answer {
    pub fn after(delay_ns: u64, reply: &[u8]) -> Self {
        Self { delay_ns, pieces: vec![reply.to_vec()], gap_ns: GAP_NS, ends: false }
    }
}

/// Time between the pieces of a reply, in nanoseconds.
pub const GAP_NS: u64 = 1_000;

/// One write call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteCall {
    pub at_ns: u64,
    pub slot: u32,
    pub bytes: Vec<u8>,
}

pub const HIT: &[u8] = b"VALUE k 0 3\r\nabc\r\nEND\r\n";
/// Realtime clock reading when our clock is at zero, in nanoseconds.
pub const EPOCH: u64 = 1_000_000 * MS;
pub const NEVER: Range<u64> = u64::MAX..u64::MAX;
/// Local port of the first connection; the others follow it.
pub const FIRST_PORT: u16 = 4000;
/// Time to connect, in nanoseconds.
pub const HANDSHAKE_NS: u64 = 50_000;

#[derive(Default)]
struct Line {
    /// Time when the handshake ends; `None` while closed.
    opens_at: Option<u64>,
    open: bool,
    unparsed: Vec<u8>,
    inbox: VecDeque<(u64, Vec<u8>)>,
    ends_at: Option<u64>,
    watched: bool,
    unreachable: bool,
    served_at: u64,
    unanswered: usize,
    /// Number of bytes written, and transmit stamps with the times when they become available.
    streamed: u32,
    stamps: VecDeque<(u64, TransmitStamp)>,
}

type Behaviour = Box<dyn FnMut(u64, &[u8]) -> Answer>;

pub struct Fake {
    pub clock: FakeClock,
    /// Duration of a poll or a write.
    pub tick: Nanos,
    /// The server's reaction to its n-th request.
    pub behaviour: Behaviour,
    /// Extracts the first complete request from the received bytes.
    pub framing: fn(&mut Vec<u8>) -> Option<Vec<u8>>,
    /// Period in which the server does nothing.
    pub frozen: Range<u64>,
    /// Period in which the kernel accepts no bytes.
    pub full: Range<u64>,
    /// Most bytes accepted by one write.
    pub takes: usize,
    /// Period in which the port is closed: a write causes an error in the next read.
    pub closed_port: Range<u64>,
    /// Period in which connections are refused.
    pub refuses: Range<u64>,
    /// Period without free local ports.
    pub portless: Range<u64>,
    /// Period in which connection attempts hang.
    pub hangs: Range<u64>,
    /// Period in which new handshakes take the given time.
    pub slow_handshake: (Range<u64>, u64),
    /// An interruption of the worker while it polls: start and duration.
    pub stall: Option<(u64, u64)>,
    /// Runs during the interruption.
    pub while_stalled: Option<Box<dyn FnOnce()>>,
    /// An interruption of the worker within a write call.
    pub stall_writing: Option<(u64, u64)>,
    /// Connection resets as time and slot, the last one first.
    pub breaks: Vec<(u64, u32)>,
    pub wire: Vec<WriteCall>,
    pub requests: u64,
    /// The stamps of the transport.
    pub stamper: Stamper,
    /// Steps of the realtime clock: time and size.
    pub steps: Vec<(u64, i64)>,
    /// Delay of the NIC's transmit stamps; `u64::MAX` for none.
    pub card_tells_ns: u64,
    /// Number of peeks at stamped replies.
    pub peeks: u32,
    /// Largest number of unanswered requests on one connection.
    pub deepest: usize,
    lines: Vec<Line>,
}

impl Fake {
    /// Create a server that answers every request with a hit after `delay_ns`.
    pub fn new(slots: u32, delay_ns: u64) -> Self {
        let clock = FakeClock::new(Nanos::ZERO);
        clock.step_realtime(EPOCH as i64);
        Self {
            clock,
            tick: Nanos(500),
            behaviour: Box::new(move |_, request| {
                Answer::after(delay_ns, if request.starts_with(b"get") { HIT } else { b"STORED\r\n" })
            }),
            framing: next_request,
            frozen: NEVER,
            full: NEVER,
            takes: usize::MAX,
            closed_port: NEVER,
            refuses: NEVER,
            portless: NEVER,
            hangs: NEVER,
            slow_handshake: (NEVER, 0),
            stall: None,
            while_stalled: None,
            stall_writing: None,
            breaks: Vec::new(),
            wire: Vec::new(),
            requests: 0,
            stamper: Stamper::default(),
            steps: Vec::new(),
            card_tells_ns: 0,
            peeks: 0,
            deepest: 0,
            lines: (0..slots).map(|_| Line::default()).collect(),
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().0
    }

    /// Let the server read what has arrived and script its replies.
    fn serve(&mut self, slot: u32) {
        let now = self.now();
        let line = &mut self.lines[slot as usize];
        while let Some(request) = (self.framing)(&mut line.unparsed) {
            let answer = (self.behaviour)(self.requests, &request);
            self.requests += 1;
            line.unanswered += 1;
            self.deepest = self.deepest.max(line.unanswered);
            let mut at = (now + answer.delay_ns).max(line.served_at);
            if self.frozen.contains(&at) {
                at = self.frozen.end;
            }
            for (i, piece) in answer.pieces.into_iter().enumerate() {
                at += answer.gap_ns * u64::from(i > 0);
                line.inbox.push_back((at, piece));
            }
            line.served_at = at;
            if answer.ends {
                line.ends_at.get_or_insert(at);
            }
        }
    }

    /// Return the stamps of a packet that passes at `at`. The NIC's clock differs from ours.
    fn stamp(&self, at: u64) -> Stamp {
        let ahead: i64 = self.steps.iter().filter(|(when, _)| *when <= at).map(|(_, by)| by).sum();
        let hardware = self.stamper.source() == Some(Source::Hardware);
        Stamp {
            software_ns: EPOCH.wrapping_add_signed(ahead) + at,
            hardware_ns: if hardware { 7_000 * MS + at } else { 0 },
        }
    }

    /// Read the available bytes without consuming them.
    fn peek(&self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        let now = self.now();
        let line = &self.lines[slot as usize];
        let (mut n, mut last) = (0, 0);
        let there = line.inbox.iter().take_while(|(at, _)| *at <= now);
        for (at, piece) in there {
            if piece.len() > into.len() - n {
                break;
            }
            into[n..n + piece.len()].copy_from_slice(piece);
            n += piece.len();
            last = *at;
        }
        match n {
            0 if line.ends_at.is_some_and(|at| at <= now) => Ok((0, Stamp::default())),
            0 => Err(ErrorKind::WouldBlock.into()),
            n => Ok((n, self.stamp(last))),
        }
    }

    /// Consume `bytes`. Return when the last of them arrived.
    fn drain(&mut self, slot: u32, mut bytes: usize) -> u64 {
        let line = &mut self.lines[slot as usize];
        let mut last = 0;
        while bytes > 0 {
            let Some((at, piece)) = line.inbox.front_mut() else { break };
            last = *at;
            let here = bytes.min(piece.len());
            bytes -= here;
            let whole = here == piece.len();
            line.unanswered -= usize::from(whole && piece.ends_with(b"\n") && line.unanswered > 0);
            if whole {
                line.inbox.pop_front();
            } else {
                piece.drain(..here);
            }
        }
        last
    }

    /// Apply the scripted steps of the realtime clock since `from`.
    fn step(&mut self, from: u64) {
        let now = self.now();
        for (_, by) in self.steps.iter().filter(|(at, _)| (from + 1..=now).contains(at)) {
            self.clock.step_realtime(*by);
        }
    }

    fn collect(&mut self, ready: &mut Vec<Ready>) {
        let now = self.now();
        while self.breaks.last().is_some_and(|&(at, _)| at <= now) {
            let Some((_, slot)) = self.breaks.pop() else { break };
            let line = &mut self.lines[slot as usize];
            line.inbox.clear();
            line.ends_at = Some(now);
        }
        for (slot, line) in (0..).zip(&self.lines) {
            let handshake = line.opens_at.is_some_and(|at| at <= now) && !line.open;
            let bytes = line.inbox.front().is_some_and(|&(at, _)| at <= now);
            let readable =
                line.open && (line.unreachable || bytes || line.ends_at.is_some_and(|at| at <= now));
            let writable = handshake || line.open && line.watched && !self.full.contains(&now);
            let stamped = line.stamps.front().is_some_and(|&(at, _)| at <= now);
            if readable || writable || stamped {
                ready.push(Ready { slot, readable, writable, stamped });
            }
        }
    }

    /// Return the time of the next event.
    fn next_event(&self) -> u64 {
        let next_of = |line: &Line| {
            let opening = line.opens_at.filter(|_| !line.open);
            let reply = line.inbox.front().map(|&(at, _)| at);
            let room = line.watched.then_some(self.full.end);
            let stamp = line.stamps.front().map(|&(at, _)| at);
            [opening, reply, line.ends_at, room, stamp].into_iter().flatten().min()
        };
        let breaking = self.breaks.last().map(|&(at, _)| at);
        self.lines.iter().filter_map(next_of).chain(breaking).min().unwrap_or(u64::MAX)
    }
}

/// Extract a complete get or set from `bytes`.
pub fn next_request(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let line = bytes.windows(2).position(|two| two == b"\r\n")? + 2;
    let mut length = line;
    if bytes.starts_with(b"set ") {
        let text = std::str::from_utf8(&bytes[..line - 2]).expect("we write text");
        length += text.rsplit(' ').next()?.parse::<usize>().expect("a set ends with a size") + 2;
    }
    (bytes.len() >= length).then(|| bytes.drain(..length).collect())
}

impl Transport for Fake {
    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.close(slot);
        let now = self.now();
        if self.refuses.contains(&now) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        if self.portless.contains(&now) {
            return Err(ErrorKind::AddrNotAvailable.into());
        }
        let (when, longer) = &self.slow_handshake;
        let takes = if when.contains(&now) { *longer } else { HANDSHAKE_NS };
        let hangs = self.hangs.contains(&now);
        self.lines[slot as usize].opens_at = Some(if hangs { u64::MAX } else { now + takes });
        Ok(())
    }

    fn finish_connect(&mut self, slot: u32) -> io::Result<()> {
        self.lines[slot as usize].open = true;
        Ok(())
    }

    fn local_port(&self, slot: u32) -> u16 {
        FIRST_PORT + slot as u16
    }

    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize> {
        let from = self.now();
        self.clock.advance(self.tick);
        let held_up = self.stall_writing.take_if(|(at, _)| *at <= from);
        self.clock.advance(Nanos(held_up.map_or(0, |(_, span)| span)));
        self.step(from);
        let now = self.now();
        let line = &mut self.lines[slot as usize];
        if !line.open || line.ends_at.is_some_and(|at| at <= now) {
            return Err(ErrorKind::ConnectionReset.into());
        }
        if self.full.contains(&now) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let n = bytes.len().min(self.takes);
        if self.closed_port.contains(&now) {
            line.unreachable = true;
            return Ok(n);
        }
        line.streamed = line.streamed.wrapping_add(n as u32);
        line.unparsed.extend_from_slice(&bytes[..n]);
        self.wire.push(WriteCall { at_ns: now, slot, bytes: bytes[..n].to_vec() });
        self.serve(slot);
        Ok(n)
    }

    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize> {
        self.read_stamped(slot, into).map(|(n, _)| n)
    }

    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()> {
        self.lines[slot as usize].watched = on;
        Ok(())
    }

    fn close(&mut self, slot: u32) {
        self.lines[slot as usize] = Line::default();
    }

    fn wait(&mut self, timeout: Nanos, _expected: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let from = self.now();
        self.clock.advance(self.tick);
        self.collect(ready);
        let held_up = self.stall.take_if(|(from, _)| *from <= self.clock.now().0);
        if let (Some(action), true) = (&mut self.while_stalled, held_up.is_some()) {
            std::mem::replace(action, Box::new(|| ()))();
        }
        self.clock.advance(Nanos(held_up.map_or(0, |(_, span)| span)));
        if ready.is_empty() && timeout > Nanos::ZERO {
            let woken = self.next_event().clamp(self.now(), self.now() + timeout.0);
            self.clock.set(Nanos(woken));
            self.collect(ready);
        }
        self.step(from);
        Ok(())
    }
}

impl StampedTransport for Fake {
    fn stamps(&self) -> &Stamper {
        &self.stamper
    }

    fn write_stamped(&mut self, slot: u32, bytes: &[u8]) -> io::Result<(usize, u32)> {
        let n = self.write(slot, bytes)?;
        let (now, stamp) = (self.now(), self.stamp(self.now()));
        let line = &mut self.lines[slot as usize];
        let key = line.streamed.wrapping_sub(1);
        let software = Stamp { hardware_ns: 0, ..stamp };
        line.stamps.push_back((now, TransmitStamp { key, stamp: software }));
        if self.stamper.source() == Some(Source::Hardware) && self.card_tells_ns < u64::MAX {
            let hardware = Stamp { software_ns: 0, ..stamp };
            line.stamps.push_back((now + self.card_tells_ns, TransmitStamp { key, stamp: hardware }));
        }
        Ok((n, key))
    }

    fn next_transmit_stamp(&mut self, slot: u32) -> Option<TransmitStamp> {
        let now = self.now();
        let stamps = &mut self.lines[slot as usize].stamps;
        let there = stamps.front().is_some_and(|&(at, _)| at <= now);
        there.then(|| stamps.pop_front()).flatten().map(|(_, sent)| sent)
    }

    fn read_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        if std::mem::take(&mut self.lines[slot as usize].unreachable) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let (n, stamp) = self.peek(slot, into)?;
        self.drain(slot, n);
        Ok((n, stamp))
    }

    fn peek_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        self.peeks += 1;
        self.peek(slot, into)
    }

    fn take(&mut self, slot: u32, bytes: usize, _more: bool) -> Segment {
        let at = self.drain(slot, bytes);
        Segment { stamp: self.stamp(at), shared: false }
    }
}
