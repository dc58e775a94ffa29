//! A plan's protocol on one connection, for callers that own the connection: the opening, used to identify a
//! server before the load, and single requests, used by probes.

use hindmost_arrivals::Part;
use hindmost_plan::Plan;

use super::{Garbage, Outcome, Protocol, Reader, Refusal, Reply};
use crate::random::{stream, Purpose};
use crate::workload::{Kind, Requests};

/// A conversation in a plan's protocol on one connection.
pub struct Dialogue(Box<dyn AnyCodec>);

/// A complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the server closes the connection after it.
    pub closes: bool,
    /// Text of an error reply.
    pub words: Option<String>,
}

/// A codec with its session.
trait AnyCodec: Send + Sync {
    fn begin(&mut self, out: &mut Vec<u8>) -> bool;
    fn receive_opening(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Refusal>;
    fn write_request(&mut self, out: &mut Vec<u8>);
    fn read_reply(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<Answer>, Garbage>;
    fn end(&mut self) -> Option<Answer>;
}

struct CodecSession<P: Protocol> {
    codec: P,
    session: P::Session,
    reader: Reader,
    requests: Requests,
    kind: Kind,
    tag: u32,
    words: Option<String>,
}

impl<P: Protocol> CodecSession<P> {
    fn take_answer(&mut self, Reply { outcome, closes, .. }: Reply) -> Answer {
        Answer { outcome, closes, words: self.words.take() }
    }
}

impl<P: Protocol + Sync> AnyCodec for CodecSession<P>
where
    P::Session: Sync,
{
    fn begin(&mut self, out: &mut Vec<u8>) -> bool {
        self.reader.reset();
        (self.tag, self.words) = (0, None);
        self.codec.begin(&mut self.session, out)
    }

    fn receive_opening(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Refusal> {
        Ok(self.reader.opening(&self.codec, &mut self.session, bytes, out)?.is_some())
    }

    fn write_request(&mut self, out: &mut Vec<u8>) {
        let request = self.requests.draw();
        self.kind = request.kind;
        self.codec.write(&mut self.session, request, self.tag, out);
        out.extend_from_slice(self.codec.tail(request));
        self.tag += 1;
    }

    fn read_reply(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<Answer>, Garbage> {
        let Self { codec, session, reader, kind, words, .. } = self;
        let tell = |head: &[u8]| *words = Some(String::from_utf8_lossy(&P::error_text(head)).into_owned());
        let reply = reader.next(codec, session, *kind, bytes, tell)?;
        codec.write_control(session, out);
        Ok(reply.map(|reply| self.take_answer(reply)))
    }

    fn end(&mut self) -> Option<Answer> {
        let reply = self.reader.end(&self.codec, &mut self.session, self.kind)?;
        Some(self.take_answer(reply))
    }
}

fn new_dialogue<P: Protocol + Sync + 'static>(plan: &Plan) -> Dialogue
where
    P::Session: Sync,
{
    let codec = P::new(plan);
    let session = codec.session();
    let random = stream(plan.seed, 0, 0, Purpose::Contents);
    let requests = Requests::new(plan, Part::WHOLE, random);
    let (reader, kind, tag, words) = (Reader::new::<P>(), Kind::GET, 0, None);
    Dialogue(Box::new(CodecSession { codec, session, reader, requests, kind, tag, words }))
}

impl Dialogue {
    /// Create the dialogue for the plan's target.
    pub fn new(plan: &Plan) -> Self {
        hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, new_dialogue(plan))
    }

    /// Start a new connection. Append the client's first message and return whether the connection can carry
    /// requests at once.
    pub fn begin(&mut self, out: &mut Vec<u8>) -> bool {
        self.0.begin(out)
    }

    /// Parse the server's part of the opening and append the answer. Return whether the connection can carry
    /// requests now.
    ///
    /// # Errors
    /// [`Refusal`] with the server's message.
    pub fn receive_opening(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Refusal> {
        self.0.receive_opening(bytes, out)
    }

    /// Append the plan's next request.
    pub fn write_request(&mut self, out: &mut Vec<u8>) {
        self.0.write_request(out);
    }

    /// Parse bytes of the reply to the last request. Return the reply once it is complete.
    ///
    /// # Errors
    /// [`Garbage`] if the bytes are not a reply.
    pub fn read_reply(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<Answer>, Garbage> {
        self.0.read_reply(bytes, out)
    }

    /// Handle the end of the stream. Return the reply that it completes, if any.
    pub fn end(&mut self) -> Option<Answer> {
        self.0.end()
    }
}
