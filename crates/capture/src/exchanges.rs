//! Requests with their replies, matched by stream position.
//!
//! A connection seen from its first byte is framed from there, and nothing is guessed. One met midway, or
//! with a packet missing, is taken up again at a packet that starts a request while all that was said
//! before is answered and acknowledged; if a reply then comes for which nothing was asked, or before the
//! server had the request, the guess was wrong: what was matched since is taken back.

use std::collections::VecDeque;
use std::io::Read;
use std::net::SocketAddr;

use serde::Serialize;

use crate::flow::{each_segment, Side, Table};
use crate::framing::{Asked, Framer, Grammar, Outcome, Protocol, Rest};
use crate::packet::Segment;
use crate::stream::{Chunk, Stream};
use crate::CaptureError;

/// A request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Number of the connection, in the order of appearance.
    pub flow: u32,
    /// When the packet with the request's last byte was seen, in nanoseconds since the epoch.
    pub out_ns: u64,
    /// When the packet with the reply's last byte was seen.
    pub in_ns: u64,
    /// Length of the request.
    pub request_bytes: u64,
    /// Length of the reply.
    pub reply_bytes: u64,
    /// What the reply says.
    pub outcome: Outcome,
}

/// What a capture holds, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets in the file.
    pub packets: u64,
    /// Those that are no TCP segment of the port, or could not be taken apart.
    pub skipped: u64,
    /// The file ended in mid-packet.
    pub cut: bool,
    /// Segments with bytes seen before: retransmissions.
    pub repeated: u64,
    /// Places where packets are missing.
    pub holes: u64,
    /// Times that a connection's messages could not be followed any further.
    pub lost: u64,
    /// Exchanges taken back, because they had been matched wrongly.
    pub taken_back: u64,
    /// Requests whose reply was not seen.
    pub unanswered: u64,
    /// Requests that want no reply.
    pub silent: u64,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowReport {
    /// Address and port of the client.
    pub client: String,
    /// Address and port of the server.
    pub server: String,
    /// Seen from its first byte on.
    pub whole: bool,
    /// Exchanges on it.
    pub exchanges: u64,
}

/// All that was asked and answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// In the order of `out_ns`.
    pub all: Vec<Exchange>,
    /// The connections, by number.
    pub flows: Vec<FlowReport>,
    /// What else there was.
    pub counts: Counts,
}

/// The exchanges of the capture `input` with the server's `port`.
///
/// # Errors
/// [`CaptureError`] where the file cannot be read.
pub fn exchanges<R: Read>(input: R, port: u16, protocol: Protocol) -> Result<Exchanges, CaptureError> {
    let mut table = Table::default();
    let mut all: Vec<Conversation> = Vec::new();
    let seen = each_segment(input, port, |at_ns, side, client, server, segment| {
        let opens = side == Side::Request && segment.syn;
        let Some(mut number) = table.number(client, server) else { return };
        if let Some(known) = all.get(number as usize) {
            // The same two ports again, for a new connection.
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

/// Requests without an answer that are kept track of on one connection.
const OUTSTANDING: usize = 1 << 20;

/// A request that waits for its reply.
struct Pending {
    at_ns: u64,
    bytes: u64,
    /// Position behind its last byte.
    end: u64,
    asked: Asked,
}

/// How sure it is which reply belongs to which request.
enum Footing {
    /// Followed from the first byte.
    Firm,
    /// Taken up midway; `done` had so many entries then.
    Midway(usize),
    /// Not at all: a place to take it up again is sought.
    Lost,
}

/// One connection.
struct Conversation {
    number: u32,
    protocol: Protocol,
    whole: bool,
    requests: Stream,
    replies: Stream,
    talk: Talk,
    done: Vec<Exchange>,
    lost: u64,
    taken_back: u64,
    unanswered: u64,
    silent: u64,
}

/// The messages of one connection.
struct Talk {
    footing: Footing,
    grammar: Box<dyn Grammar>,
    asking: Framer<Asked>,
    answering: Framer<Outcome>,
    outstanding: VecDeque<Pending>,
    /// Position of the next byte of each direction.
    next_request: u64,
    next_reply: u64,
    /// How far the server had received when it last sent bytes.
    received: Option<u64>,
}

impl Conversation {
    fn new(number: u32, protocol: Protocol, whole: bool) -> Self {
        let footing = if whole { Footing::Firm } else { Footing::Lost };
        Self {
            number,
            protocol,
            whole,
            requests: Stream::default(),
            replies: Stream::default(),
            talk: Talk::new(protocol, footing),
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
            // Met midway: what was received so far is where the other direction stands.
            other.begin(segment.ack);
        }
        let acked = u64::try_from(other.position(segment.ack)).unwrap_or(0);
        let mut lost = false;
        let (talk, done, silent) = (&mut self.talk, &mut self.done, &mut self.silent);
        let number = self.number;
        mine.take(at_ns, seq, segment.length, segment.bytes, acked, |chunk| {
            lost |= talk.see(side, &chunk, number, done, silent).is_none();
        });
        if lost {
            self.lose();
        }
    }

    fn finish(&mut self) {
        let number = self.number;
        let mut lost = false;
        for side in [Side::Request, Side::Reply] {
            let (talk, done, silent) = (&mut self.talk, &mut self.done, &mut self.silent);
            let stream = if side == Side::Request { &mut self.requests } else { &mut self.replies };
            stream.finish(|chunk| lost |= talk.see(side, &chunk, number, done, silent).is_none());
        }
        if lost {
            self.lose();
        }
        self.unanswered += self.talk.outstanding.len() as u64;
    }

    fn lose(&mut self) {
        self.lost += 1;
        self.unanswered += self.talk.outstanding.len() as u64;
        if let Footing::Midway(since) = self.talk.footing {
            self.taken_back += (self.done.len() - since) as u64;
            self.done.truncate(since);
        }
        let Talk { next_request, next_reply, received, .. } = self.talk;
        self.talk = Talk { next_request, next_reply, received, ..Talk::new(self.protocol, Footing::Lost) };
    }
}

impl Talk {
    fn new(protocol: Protocol, footing: Footing) -> Self {
        Self {
            footing,
            grammar: protocol.grammar(),
            asking: Framer::default(),
            answering: Framer::default(),
            outstanding: VecDeque::new(),
            next_request: 0,
            next_reply: 0,
            received: None,
        }
    }

    /// Takes bytes; `None` when the thread is lost.
    fn see(
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
        if matches!(self.footing, Footing::Lost) {
            let answered = self.received.is_none_or(|received| received >= chunk.from);
            if side == Side::Reply || !answered || chunk.acked < self.next_reply {
                return Some(());
            }
            self.footing = Footing::Midway(done.len());
        } else if next != chunk.from {
            return None;
        }
        match side {
            Side::Request => self.asked(chunk, silent),
            Side::Reply => self.answered(chunk, flow, done),
        }
    }

    fn asked(&mut self, chunk: &Chunk<'_>, silent: &mut u64) -> Option<()> {
        let mut rest = Rest::of(chunk);
        let grammar = &mut self.grammar;
        while let Some((asked, bytes)) = self.asking.next(&mut rest, |b| grammar.request(b)).ok()? {
            if asked == Asked::Silence {
                *silent += 1;
                continue;
            }
            let end = chunk.from + chunk.length - rest.length();
            self.outstanding.push_back(Pending { at_ns: chunk.at_ns, bytes, end, asked });
        }
        (self.outstanding.len() <= OUTSTANDING).then_some(())
    }

    fn answered(&mut self, chunk: &Chunk<'_>, flow: u32, done: &mut Vec<Exchange>) -> Option<()> {
        let mut rest = Rest::of(chunk);
        while !rest.is_empty() {
            let request = self.outstanding.front()?;
            if self.answering.is_idle() && chunk.acked < request.end {
                return None;
            }
            let (grammar, asked) = (&mut self.grammar, request.asked);
            let Some((outcome, reply_bytes)) =
                self.answering.next(&mut rest, |b| grammar.reply(asked, b)).ok()?
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
