//! A connection's bytes, cut into replies. How they were cut into packets makes no difference.

use super::{quote, Garbage, Opening, Outcome, Parsed, Protocol, Refusal, Rest};
use crate::workload::Kind;

/// What is known of the reply that is arriving. Of its bytes only an unfinished head is kept, and that
/// is never longer than [`Protocol::MAX_HEAD`].
#[derive(Debug)]
pub struct Reader {
    /// The start of a reply, too short to tell; once its head is known, the words of an error that follow it. Never grows
    /// beyond its first capacity.
    head: Vec<u8>,
    /// The reply whose head is known, while it is not whole.
    tail: Option<Tail>,
}

#[derive(Clone, Copy, Debug)]
struct Tail {
    rest: Rest,
    /// `None` of an aside.
    reply: Option<Reply>,
}

/// A whole reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// How many of the bytes given belong to it.
    pub taken: usize,
    /// What it says.
    pub outcome: Outcome,
    /// The server closes the connection after it.
    pub closes: bool,
    /// HTTP's status code; 0 where the protocol has none.
    pub code: u16,
    /// Of the request that it answers; 0 where the protocol has none.
    pub tag: u32,
    /// It is none: the server has not worked on the request ([`Parsed::Refused`]).
    pub refused: bool,
}

impl Reader {
    /// At the start of a stream of `P`.
    pub fn new<P: Protocol>() -> Self {
        Self { head: Vec::with_capacity(P::MAX_HEAD), tail: None }
    }

    /// Forgets everything but the capacity.
    pub fn reset(&mut self) {
        self.head.clear();
        self.tail = None;
    }

    /// Bytes kept.
    pub fn held(&self) -> usize {
        self.head.len()
    }

    /// Whether nothing has come of the next reply.
    pub fn is_fresh(&self) -> bool {
        self.head.is_empty() && self.tail.is_none()
    }

    /// Whether the head of a reply has come, and not all that follows it.
    pub fn is_in_reply(&self) -> bool {
        self.tail.is_some_and(|tail| tail.reply.is_some())
    }

    /// The stream has ended: the reply that is whole by that, if it is one.
    pub fn end(&mut self) -> Option<Reply> {
        self.tail.take_if(|tail| tail.rest == Rest::UntilClosed)?.reply
    }

    /// The reply to a request of `kind` that ends in `bytes`, which follow those of earlier calls.
    /// `None`: all of them are taken and it is not whole. A reply with an error is shown to `error`, as
    /// [`Protocol::complaint`] takes it.
    ///
    /// # Errors
    /// [`Garbage`] when the bytes cannot be a reply; nothing that follows means anything then.
    #[inline]
    pub fn next<P: Protocol>(
        &mut self,
        codec: &P,
        session: &mut P::Session,
        kind: Kind,
        bytes: &[u8],
        mut error: impl FnMut(&[u8]),
    ) -> Result<Option<Reply>, Garbage> {
        let mut at = 0;
        loop {
            let (mut tail, head) = match self.tail.take() {
                Some(tail) => (tail, 0),
                None => match self.head(codec, session, kind, &bytes[at..], &mut error)? {
                    Some(known) => known,
                    None => return Ok(None),
                },
            };
            let body = &bytes[at + head..];
            let passed = tail
                .rest
                .pass(body, &mut self.head)
                .map_err(|wrong| Garbage::new::<P>(kind, &body[wrong.at..]))?;
            if !passed.whole {
                self.tail = Some(tail);
                return Ok(None);
            }
            at += head + passed.bytes;
            codec.ended(session, &tail.rest);
            if let Some(reply) = tail.reply {
                let outcome = tail.rest.outcome().unwrap_or(reply.outcome);
                if outcome == Outcome::Error && reply.outcome != Outcome::Error {
                    error(&self.head);
                }
                self.head.clear();
                return Ok(Some(Reply { taken: at, outcome, ..reply }));
            }
            self.head.clear();
            if at == bytes.len() {
                return Ok(None);
            }
        }
    }

    /// The head that ends in `bytes`, and how many of them it takes.
    #[inline]
    fn head<P: Protocol>(
        &mut self,
        codec: &P,
        session: &mut P::Session,
        kind: Kind,
        bytes: &[u8],
        error: impl FnOnce(&[u8]),
    ) -> Result<Option<(Tail, usize)>, Garbage> {
        let held = self.head.len();
        // Never more than the limit, even if more is there: how much is there is chance.
        let window = &bytes[..bytes.len().min(P::MAX_HEAD - held)];
        if held > 0 {
            self.head.extend_from_slice(window);
        }
        let start = if held > 0 { &self.head[..] } else { window };
        match codec.read(session, kind, start)? {
            Parsed::Reply { head, rest, outcome, closes, code, tag } => {
                if outcome == Outcome::Error {
                    error(&start[..head]);
                }
                self.head.clear();
                let reply = Reply { taken: 0, outcome, closes, code, tag, refused: false };
                Ok(Some((Tail { rest, reply: Some(reply) }, head - held)))
            }
            Parsed::Refused { head, code, tag } => {
                self.head.clear();
                let (outcome, closes) = (Outcome::Error, false);
                let reply = Reply { taken: 0, outcome, closes, code, tag, refused: true };
                Ok(Some((Tail { rest: Rest::NOTHING, reply: Some(reply) }, head - held)))
            }
            Parsed::Aside { head, rest } => {
                self.head.clear();
                Ok(Some((Tail { rest, reply: None }, head - held)))
            }
            Parsed::More if start.len() >= P::MAX_HEAD => Err(Garbage::endless::<P>(kind, start)),
            Parsed::More => {
                if held == 0 {
                    self.head.extend_from_slice(window);
                }
                Ok(None)
            }
        }
    }

    /// Shows `codec` what has come of an opening; returns how many of `bytes` belong to it once it is done.
    ///
    /// # Errors
    /// [`Refusal`], of the server or of what cannot be an opening.
    pub fn opening<P: Protocol>(
        &mut self,
        codec: &P,
        session: &mut P::Session,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Refusal> {
        let mut at = 0;
        loop {
            let held = self.head.len();
            let window = &bytes[at..bytes.len().min(at + P::MAX_HEAD - held)];
            self.head.extend_from_slice(window);
            let step = codec.opening(session, &self.head, out)?;
            let (Opening::Step(taken) | Opening::Done(taken)) = step else {
                if self.head.len() == P::MAX_HEAD {
                    return Err(Refusal::Protocol(quote("its greeting has no end:", &self.head)));
                }
                return Ok(None);
            };
            // What was there before was too short for a step, so it is all taken.
            at += taken.saturating_sub(held);
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
