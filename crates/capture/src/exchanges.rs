//! Matches requests with their replies by stream position.
//!
//! A connection captured from its first byte is framed from there without any guess. If a connection is captured
//! from the middle, or a packet is missing, framing resumes at a packet that starts a request while every earlier
//! byte is answered and acknowledged. If a reply then arrives without a request, or before the server had received
//! the request, the guess was wrong and the exchanges matched since the guess are discarded.

use std::collections::VecDeque;
use std::io::Read;
use std::net::SocketAddr;

use serde::Serialize;

use crate::flow::{each_segment, Side, Table};
use crate::framing::{Framer, Grammar, Outcome, Protocol, ReplyKind, UnparsedBytes};
use crate::packet::Segment;
use crate::stream::{Chunk, Stream};
use crate::CaptureError;

/// A request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Number of the connection, in order of first appearance.
    pub flow: u32,
    /// When the packet with the request's last byte was captured, in nanoseconds since the epoch.
    pub out_ns: u64,
    /// When the packet with the reply's last byte was captured, in nanoseconds since the epoch.
    pub in_ns: u64,
    /// Length of the request in bytes.
    pub request_bytes: u64,
    /// Length of the reply in bytes.
    pub reply_bytes: u64,
    /// Outcome stated by the reply.
    pub outcome: Outcome,
}

/// Counts over a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets in the file.
    pub packets: u64,
    /// Packets that are not a TCP segment of the port, or that could not be parsed.
    pub skipped: u64,
    /// Whether the file ends within a packet.
    pub cut: bool,
    /// Segments whose bytes were captured before: retransmissions.
    pub repeated: u64,
    /// Gaps where packets are missing.
    pub holes: u64,
    /// How often the messages of a connection could not be followed further.
    pub lost: u64,
    /// Exchanges discarded because they were matched wrongly.
    pub taken_back: u64,
    /// Requests whose reply was not captured.
    pub unanswered: u64,
    /// Requests that expect no reply.
    pub silent: u64,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowReport {
    /// Address and port of the client.
    pub client: String,
    /// Address and port of the server.
    pub server: String,
    /// Whether it was captured from its first byte.
    pub whole: bool,
    /// Number of exchanges.
    pub exchanges: u64,
}

/// All exchanges of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// In the order of `out_ns`.
    pub all: Vec<Exchange>,
    /// The connections, by number.
    pub flows: Vec<FlowReport>,
    /// Counts over the capture.
    pub counts: Counts,
}

/// Return the exchanges of the capture `input` with the server's `port`.
///
/// # Errors
/// [`CaptureError`] if the file cannot be read.
pub fn exchanges<R: Read>(input: R, port: u16, protocol: Protocol) -> Result<Exchanges, CaptureError> {
    let mut table = Table::default();
    let mut all: Vec<Conversation> = Vec::new();
    let seen = each_segment(input, port, |at_ns, side, client, server, segment| {
        let opens = side == Side::Request && segment.syn;
        let Some(mut number) = table.number(client, server) else { return };
        if let Some(known) = all.get(number as usize) {
            // The same two ports are used by a new connection.
            if opens && known.requests.base() != Some(segment.seq.wrapping_add(1)) {
                let Some(new) = table.renew(client, server) else { return };
                number = new;
            }
        }
        if number as usize == all.len() {
            all.push(Conversation::new(number, protocol, opens));
        }
        all[number as usize].take(at_ns, side, segment);
    })?;
    let mut result = Exchanges {
        counts: Counts { packets: seen.packets, skipped: seen.skipped, cut: seen.cut, ..Counts::default() },
        ..Exchanges::default()
    };
    for (mut one, addresses) in all.into_iter().zip(table.addresses) {
        one.finish();
        result.add(one, addresses);
    }
    result.all.sort_by_key(|one| one.out_ns);
    Ok(result)
}

impl Exchanges {
    fn add(&mut self, one: Conversation, (client, server): (SocketAddr, SocketAddr)) {
        self.flows.push(FlowReport {
            client: client.to_string(),
            server: server.to_string(),
            whole: one.whole,
            exchanges: one.done.len() as u64,
        });
        let counts = &mut self.counts;
        counts.repeated += one.requests.repeated + one.replies.repeated;
        counts.holes += one.requests.holes + one.replies.holes;
        counts.lost += one.lost;
        counts.taken_back += one.taken_back;
        counts.unanswered += one.unanswered;
        counts.silent += one.silent;
        self.all.extend(one.done);
    }
}

/// Most unanswered requests tracked on one connection.
const MAX_OUTSTANDING: usize = 1 << 20;

/// A request without a reply so far.
struct Pending {
    at_ns: u64,
    bytes: u64,
    /// Position after its last byte.
    end: u64,
    asked: ReplyKind,
}

/// How certain the assignment of replies to requests is.
enum Alignment {
    /// Followed from the first byte.
    Certain,
    /// Resumed in the middle, when `done` had this many entries.
    Tentative(usize),
    /// Unknown: framing must resume at a later packet.
    Lost,
}

/// One connection.
struct Conversation {
    number: u32,
    protocol: Protocol,
    whole: bool,
    requests: Stream,
    replies: Stream,
    messages: Messages,
    done: Vec<Exchange>,
    lost: u64,
    taken_back: u64,
    unanswered: u64,
    silent: u64,
}

/// The messages of one connection.
struct Messages {
    alignment: Alignment,
    grammar: Box<dyn Grammar>,
    request_framer: Framer<ReplyKind>,
    reply_framer: Framer<Outcome>,
    outstanding: VecDeque<Pending>,
    /// Position of the next byte of each direction.
    next_request: u64,
    next_reply: u64,
    /// How many request bytes the server had acknowledged when it last sent data.
    received: Option<u64>,
}

impl Conversation {
    fn new(number: u32, protocol: Protocol, whole: bool) -> Self {
        let alignment = if whole { Alignment::Certain } else { Alignment::Lost };
        Self {
            number,
            protocol,
            whole,
            requests: Stream::default(),
            replies: Stream::default(),
            messages: Messages::new(protocol, alignment),
            done: Vec::new(),
            lost: 0,
            taken_back: 0,
            unanswered: 0,
            silent: 0,
        }
    }

    fn take(&mut self, at_ns: u64, side: Side, segment: &Segment<'_>) {
        let seq = segment.seq.wrapping_add(u32::from(segment.syn));
        let (mine, other) = match side {
            Side::Request => (&mut self.requests, &mut self.replies),
            Side::Reply => (&mut self.replies, &mut self.requests),
        };
        if segment.syn {
            mine.begin(seq);
        } else {
            // Captured from the middle: the acknowledgement gives the position of the other direction.
            other.begin(segment.ack);
        }
        let acked = u64::try_from(other.position(segment.ack)).unwrap_or(0);
        let mut lost = false;
        let (messages, done, silent) = (&mut self.messages, &mut self.done, &mut self.silent);
        let number = self.number;
        mine.take(at_ns, seq, segment.length, segment.bytes, acked, |chunk| {
            lost |= messages.read_chunk(side, &chunk, number, done, silent).is_none();
        });
        if lost {
            self.lose_alignment();
        }
    }

    fn finish(&mut self) {
        let number = self.number;
        let mut lost = false;
        for side in [Side::Request, Side::Reply] {
            let (messages, done, silent) = (&mut self.messages, &mut self.done, &mut self.silent);
            let stream = if side == Side::Request { &mut self.requests } else { &mut self.replies };
            stream.finish(|chunk| lost |= messages.read_chunk(side, &chunk, number, done, silent).is_none());
        }
        if lost {
            self.lose_alignment();
        }
        self.unanswered += self.messages.outstanding.len() as u64;
    }

    fn lose_alignment(&mut self) {
        self.lost += 1;
        self.unanswered += self.messages.outstanding.len() as u64;
        if let Alignment::Tentative(since) = self.messages.alignment {
            self.taken_back += (self.done.len() - since) as u64;
            self.done.truncate(since);
        }
        let Messages { next_request, next_reply, received, .. } = self.messages;
        self.messages =
            Messages { next_request, next_reply, received, ..Messages::new(self.protocol, Alignment::Lost) };
    }
}

impl Messages {
    fn new(protocol: Protocol, alignment: Alignment) -> Self {
        Self {
            alignment,
            grammar: protocol.grammar(),
            request_framer: Framer::default(),
            reply_framer: Framer::default(),
            outstanding: VecDeque::new(),
            next_request: 0,
            next_reply: 0,
            received: None,
        }
    }

    /// Process new bytes; return `None` if the alignment is lost.
    fn read_chunk(
        &mut self,
        side: Side,
        chunk: &Chunk<'_>,
        flow: u32,
        done: &mut Vec<Exchange>,
        silent: &mut u64,
    ) -> Option<()> {
        let end = chunk.from + chunk.length;
        let next = match side {
            Side::Request => std::mem::replace(&mut self.next_request, end),
            Side::Reply => {
                self.received = Some(chunk.acked);
                std::mem::replace(&mut self.next_reply, end)
            }
        };
        if matches!(self.alignment, Alignment::Lost) {
            let answered = self.received.is_none_or(|received| received >= chunk.from);
            if side == Side::Reply || !answered || chunk.acked < self.next_reply {
                return Some(());
            }
            self.alignment = Alignment::Tentative(done.len());
        } else if next != chunk.from {
            return None;
        }
        match side {
            Side::Request => self.read_requests(chunk, silent),
            Side::Reply => self.read_replies(chunk, flow, done),
        }
    }

    fn read_requests(&mut self, chunk: &Chunk<'_>, silent: &mut u64) -> Option<()> {
        let mut unparsed = UnparsedBytes::new(chunk);
        let grammar = &mut self.grammar;
        while let Some((asked, bytes)) =
            self.request_framer.next(&mut unparsed, |b| grammar.request(b)).ok()?
        {
            if asked == ReplyKind::Silence {
                *silent += 1;
                continue;
            }
            let end = chunk.from + chunk.length - unparsed.length();
            self.outstanding.push_back(Pending { at_ns: chunk.at_ns, bytes, end, asked });
        }
        (self.outstanding.len() <= MAX_OUTSTANDING).then_some(())
    }

    fn read_replies(&mut self, chunk: &Chunk<'_>, flow: u32, done: &mut Vec<Exchange>) -> Option<()> {
        let mut unparsed = UnparsedBytes::new(chunk);
        while !unparsed.is_empty() {
            let request = self.outstanding.front()?;
            if self.reply_framer.is_idle() && chunk.acked < request.end {
                return None;
            }
            let (grammar, asked) = (&mut self.grammar, request.asked);
            let Some((outcome, reply_bytes)) =
                self.reply_framer.next(&mut unparsed, |b| grammar.reply(asked, b)).ok()?
            else {
                break;
            };
            done.push(Exchange {
                flow,
                out_ns: request.at_ns,
                in_ns: chunk.at_ns,
                request_bytes: request.bytes,
                reply_bytes,
                outcome,
            });
            self.outstanding.pop_front();
        }
        Some(())
    }
}
