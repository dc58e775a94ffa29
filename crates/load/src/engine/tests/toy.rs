//! A text protocol with every feature of a session.
//!
//! ```text
//! client                      server
//! hello                       ok N (limit of requests in flight), or: no REASON
//! ask TAG                     re TAG, in any order;  err TAG;  no TAG: resend it
//! pong X                      ping X
//!                             ok N: new limit of requests in flight
//!                             bye N: answers requests below N and no others
//! ```

use std::io::Write;

use hindmost_plan::Plan;

use crate::protocol::{quote, Garbage, Incoming, Opening, Outcome, Protocol, Refusal, Remainder};
use crate::workload::{Kind, Request};

pub struct Toy;

#[derive(Debug, Default)]
pub struct Talk {
    /// Limit of requests in flight.
    most: usize,
    pings: Vec<u32>,
    closing_tag: Option<u32>,
}

/// Most pings that wait for their pongs.
const PINGS: usize = 512;

impl Protocol for Toy {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Http;
    const MAY_CLOSE: bool = true;
    const MAX_HEAD: usize = 64;
    const TAGGED: bool = true;
    const HAS_CONTROL: bool = true;
    const BOUNDED: bool = true;
    const REFUSAL: Option<&'static [u8]> = Some(b"refused twice");

    type Session = Talk;

    fn new(_plan: &Plan) -> Self {
        Self
    }

    fn session(&self) -> Talk {
        Talk { pings: Vec::with_capacity(PINGS), ..Talk::default() }
    }

    fn begin(&self, session: &mut Talk, out: &mut Vec<u8>) -> bool {
        session.pings.clear();
        session.closing_tag = None;
        out.extend_from_slice(b"hello\n");
        false
    }

    fn opening(&self, session: &mut Talk, bytes: &[u8], out: &mut Vec<u8>) -> Result<Opening, Refusal> {
        let Some((end, word, number)) = line(bytes) else { return Ok(Opening::More) };
        match word {
            b"wait" => {
                out.extend_from_slice(b"pong 0\n");
                Ok(Opening::Step(end))
            }
            b"ok" => {
                session.most = number as usize;
                Ok(Opening::Done(end))
            }
            _ => Err(Refusal::Login(quote("the server says", bytes))),
        }
    }

    fn in_flight(&self, session: &Talk) -> usize {
        if session.closing_tag.is_some() {
            return 0;
        }
        session.most
    }

    fn write(&self, _: &mut Talk, _: Request, tag: u32, out: &mut Vec<u8>) {
        let _ = writeln!(out, "ask {tag}");
    }

    fn write_control(&self, session: &mut Talk, out: &mut Vec<u8>) {
        for ping in session.pings.drain(..) {
            if out.capacity() - out.len() >= 16 {
                let _ = writeln!(out, "pong {ping}");
            }
        }
    }

    fn closing_tag(&self, session: &Talk) -> Option<u32> {
        session.closing_tag
    }

    fn read(&self, session: &mut Talk, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some((head, word, tag)) = line(bytes) else { return Ok(Incoming::More) };
        let (rest, closes, code) = (Remainder::EMPTY, false, 0);
        match word {
            b"re" => Ok(Incoming::Reply { head, rest, outcome: Outcome::Hit, closes, code, tag }),
            b"err" => Ok(Incoming::Reply { head, rest, outcome: Outcome::Error, closes, code, tag }),
            b"no" => Ok(Incoming::Refused { head, code, tag }),
            b"ok" => {
                session.most = tag as usize;
                Ok(Incoming::Aside { head, rest })
            }
            b"ping" if session.pings.len() < PINGS => {
                session.pings.push(tag);
                Ok(Incoming::Aside { head, rest })
            }
            b"bye" => {
                session.closing_tag = Some(tag);
                Ok(Incoming::Aside { head, rest })
            }
            _ => Err(Garbage::new::<Self>(kind, bytes)),
        }
    }
}

/// Parse the first line. Return its length, word and number.
pub fn line(bytes: &[u8]) -> Option<(usize, &[u8], u32)> {
    let end = bytes.iter().position(|&b| b == b'\n')?;
    let mut words = bytes[..end].split(|&b| b == b' ');
    let word = words.next()?;
    let number = words.next().and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(0);
    Some((end + 1, word, number))
}
