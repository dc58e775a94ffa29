//! The opening of one connection, for whoever has the connection: a greeting asks a server who it is before there is a
//! load.

use hindmost_plan::Plan;

use super::{Protocol, Reader, Refusal};

/// What is said on a fresh connection in a plan's protocol, until it can carry requests.
pub struct Dialogue(Box<dyn Speaks>);

/// A codec with its session.
trait Speaks: Send + Sync {
    fn begin(&mut self, out: &mut Vec<u8>) -> bool;
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Refusal>;
}

struct Speaker<P: Protocol> {
    codec: P,
    session: P::Session,
    reader: Reader,
}

impl<P: Protocol + Sync> Speaks for Speaker<P>
where
    P::Session: Sync,
{
    fn begin(&mut self, out: &mut Vec<u8>) -> bool {
        self.codec.begin(&mut self.session, out)
    }

    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Refusal> {
        Ok(self.reader.opening(&self.codec, &mut self.session, bytes, out)?.is_some())
    }
}

fn speaker<P: Protocol + Sync + 'static>(plan: &Plan) -> Dialogue
where
    P::Session: Sync,
{
    let codec = P::new(plan);
    let session = codec.session();
    Dialogue(Box::new(Speaker { codec, session, reader: Reader::new::<P>() }))
}

impl Dialogue {
    /// Of the plan's target.
    pub fn new(plan: &Plan) -> Self {
        hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, speaker(plan))
    }

    /// Appends what is said first; whether the connection can carry requests at once.
    pub fn begin(&mut self, out: &mut Vec<u8>) -> bool {
        self.0.begin(out)
    }

    /// Takes what the server has said, and appends the answer; whether the connection can carry requests now.
    ///
    /// # Errors
    /// [`Refusal`] in the server's words.
    pub fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, Refusal> {
        self.0.hear(bytes, out)
    }
}
