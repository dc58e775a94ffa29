//! Splits a connection's bytes into replies, independently of how packets split them.

use super::{quote, Garbage, Incoming, Opening, Outcome, Protocol, Refusal, Remainder};
use crate::workload::Kind;

/// The state of the arriving reply. Only an unfinished head is stored, at most [`Protocol::MAX_HEAD`] bytes.
#[derive(Debug)]
pub struct Reader {
    /// An unfinished head; after the head, the text of an error. Never grows beyond its initial capacity.
    head: Vec<u8>,
    /// An incomplete reply whose head is parsed.
    tail: Option<Tail>,
}

#[derive(Clone, Copy, Debug)]
struct Tail {
    rest: Remainder,
    /// `None` for an aside.
    reply: Option<Reply>,
}

/// A complete reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Number of given bytes that belong to it.
    pub taken: usize,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the server closes the connection after it.
    pub closes: bool,
    /// A status code such as HTTP's; 0 if the protocol has none.
    pub code: u16,
    /// Tag of the answered request; 0 if the protocol has none.
    pub tag: u32,
    /// Whether it is a refusal instead: the server has not processed the request ([`Incoming::Refused`]).
    pub refused: bool,
    /// Whether it redirects the request ([`Protocol::write_redirected`]).
    pub redirects: bool,
}

impl Reader {
    /// Create a reader at the start of a stream of `P`.
    pub fn new<P: Protocol>() -> Self {
        Self { head: Vec::with_capacity(P::MAX_HEAD), tail: None }
    }

    /// Reset everything except the capacity.
    pub fn reset(&mut self) {
        self.head.clear();
        self.tail = None;
    }

    /// Return the number of stored bytes.
    pub fn buffered(&self) -> usize {
        self.head.len()
    }

    /// Whether no byte of the next reply has arrived.
    pub fn is_fresh(&self) -> bool {
        self.head.is_empty() && self.tail.is_none()
    }

    /// Whether a reply's head is complete but not the rest.
    pub fn is_in_reply(&self) -> bool {
        self.tail.is_some_and(|tail| tail.reply.is_some())
    }

    /// Handle the end of the stream. Return the reply to a request of `kind` that it completes, if any.
    pub fn end<P: Protocol>(&mut self, codec: &P, session: &mut P::Session, kind: Kind) -> Option<Reply> {
        let mut reply = self.tail.take_if(|tail| tail.rest.ends_at_close())?.reply?;
        codec.finish_reply(session, kind, &mut reply);
        Some(reply)
    }

    /// Return the reply to a request of `kind` that ends in `bytes`, which follow those of earlier calls.
    /// `None`: all bytes are consumed and the reply is incomplete. An error reply is passed to `error` in the
    /// form that [`Protocol::error_text`] takes.
    ///
    /// # Errors
    /// [`Garbage`] if the bytes are not a reply. Later bytes are meaningless then.
    #[inline]
    pub fn next<P: Protocol>(
        &mut self,
        codec: &P,
        session: &mut P::Session,
        kind: Kind,
        bytes: &[u8],
        error: impl FnMut(&[u8]),
    ) -> Result<Option<Reply>, Garbage> {
        self.next_with_messages(codec, session, kind, bytes, error, |_, _| ())
    }

    /// Same as [`Reader::next`]. If messages of a streamed reply end in `bytes`, `messages` gets the tag of
    /// their request and their number. It precedes the reply that ends with them.
    ///
    /// # Errors
    /// Those of [`Reader::next`].
    #[inline]
    pub fn next_with_messages<P: Protocol>(
        &mut self,
        codec: &P,
        session: &mut P::Session,
        kind: Kind,
        bytes: &[u8],
        mut error: impl FnMut(&[u8]),
        mut messages: impl FnMut(u32, u32),
    ) -> Result<Option<Reply>, Garbage> {
        let mut at = 0;
        loop {
            let (mut tail, head) = match self.tail.take() {
                Some(tail) => (tail, 0),
                None => match self.parse_head(codec, session, kind, &bytes[at..], &mut error)? {
                    Some(known) => known,
                    None => return Ok(None),
                },
            };
            let body = &bytes[at + head..];
            let extent = tail
                .rest
                .consume(body, &mut self.head, |part| codec.read_body(session, kind, part))
                .map_err(|wrong| Garbage::new::<P>(kind, &body[wrong.at..]))?;
            if P::STREAMS {
                if let Some((tag, count)) = tail.rest.take_messages() {
                    messages(tag, count);
                }
            }
            if !extent.whole {
                self.tail = Some(tail);
                return Ok(None);
            }
            at += head + extent.bytes;
            codec.finish_message(session, &tail.rest);
            if let Some(reply) = tail.reply {
                let outcome = tail.rest.outcome().unwrap_or(reply.outcome);
                if outcome == Outcome::Error && reply.outcome != Outcome::Error {
                    error(&self.head);
                }
                self.head.clear();
                let mut reply = Reply { taken: at, outcome, ..reply };
                codec.finish_reply(session, kind, &mut reply);
                return Ok(Some(reply));
            }
            self.head.clear();
            if at == bytes.len() {
                return Ok(None);
            }
        }
    }

    /// Parse the head that ends in `bytes`. Also return how many bytes it takes.
    #[inline]
    fn parse_head<P: Protocol>(
        &mut self,
        codec: &P,
        session: &mut P::Session,
        kind: Kind,
        bytes: &[u8],
        error: impl FnOnce(&[u8]),
    ) -> Result<Option<(Tail, usize)>, Garbage> {
        let buffered = self.head.len();
        // Limit the window even if more bytes are available, because how many are is random.
        let window = &bytes[..bytes.len().min(P::MAX_HEAD - buffered)];
        if buffered > 0 {
            self.head.extend_from_slice(window);
        }
        let start = if buffered > 0 { &self.head[..] } else { window };
        match codec.read(session, kind, start)? {
            Incoming::Reply { head, rest, outcome, closes, code, tag } => {
                if outcome == Outcome::Error {
                    error(&start[..head]);
                }
                self.head.clear();
                let reply = Reply { taken: 0, outcome, closes, code, tag, refused: false, redirects: false };
                Ok(Some((Tail { rest, reply: Some(reply) }, head - buffered)))
            }
            Incoming::Refused { head, code, tag } => {
                self.head.clear();
                let (outcome, closes) = (Outcome::Error, false);
                let reply = Reply { taken: 0, outcome, closes, code, tag, refused: true, redirects: false };
                Ok(Some((Tail { rest: Remainder::EMPTY, reply: Some(reply) }, head - buffered)))
            }
            Incoming::Aside { head, rest } => {
                self.head.clear();
                Ok(Some((Tail { rest, reply: None }, head - buffered)))
            }
            Incoming::More if start.len() >= P::MAX_HEAD => Err(Garbage::endless::<P>(kind, start)),
            Incoming::More => {
                if buffered == 0 {
                    self.head.extend_from_slice(window);
                }
                Ok(None)
            }
        }
    }

    /// Parse bytes of an opening with `codec`. Return how many of `bytes` belong to it once it is done.
    ///
    /// # Errors
    /// [`Refusal`] by the server, or for an invalid opening.
    pub fn opening<P: Protocol>(
        &mut self,
        codec: &P,
        session: &mut P::Session,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Refusal> {
        let mut at = 0;
        loop {
            let buffered = self.head.len();
            let window = &bytes[at..bytes.len().min(at + P::MAX_HEAD - buffered)];
            self.head.extend_from_slice(window);
            let step = codec.opening(session, &self.head, out)?;
            let (Opening::Step(taken) | Opening::Done(taken)) = step else {
                if self.head.len() == P::MAX_HEAD {
                    return Err(Refusal::Protocol(quote("its greeting is too long:", &self.head)));
                }
                return Ok(None);
            };
            // The stored bytes were too few for a step, so the step consumes them all.
            at += taken.saturating_sub(buffered);
            self.head.clear();
            if matches!(step, Opening::Done(_)) {
                return Ok(Some(at));
            }
            if at == bytes.len() {
                return Ok(None);
            }
        }
    }
}
