//! PostgreSQL: statements by simple queries, or prepared when a connection begins (PostgreSQL 15, "Frontend/Backend
//! Protocol").

mod messages;
mod opening;
mod scram;
mod written;

use hindmost_plan::{Plan, Workload};

use self::messages::{header, HEADER};
use self::opening::{Login, Session};
use self::written::Written;
use super::{Garbage, Opening, Outcome, Parsed, Protocol, Refusal, Rest};
use crate::workload::{Kind, List, Request};

pub use messages::Messages;

/// The codec.
pub struct Postgresql {
    login: Login,
    list: List,
    written: Vec<Written>,
    /// What prepares the statements; empty where none is to be.
    prepare: Vec<u8>,
}

/// The most bytes that a request of `sql` has.
pub fn largest_statement(sql: &hindmost_plan::Sql) -> usize {
    let all = sql.statements.iter().enumerate();
    all.map(|(at, one)| Written::new(at, one, sql.data.as_ref()).largest()).max().unwrap_or(0)
}

impl Protocol for Postgresql {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Postgresql;
    /// What is said before the first row, and errors with all their fields.
    const MAX_HEAD: usize = 16 * 1024;

    type Session = Session;

    fn new(plan: &Plan) -> Self {
        let Workload::Sql(sql) = &plan.workload else {
            unreachable!("the plan has checked that {:?} gets statements of SQL", plan.target.protocol)
        };
        let given = plan.target.login.clone().unwrap_or_default();
        let user = given.user.unwrap_or_else(|| "postgres".to_owned());
        let all = || sql.statements.iter().enumerate();
        Self {
            login: Login {
                database: given.database.unwrap_or_else(|| user.clone()),
                password: given.password,
                user,
            },
            list: List::new(plan.seed, &sql.listed(), sql.data.as_ref()),
            written: all().map(|(at, one)| Written::new(at, one, sql.data.as_ref())).collect(),
            prepare: written::preparation(all()),
        }
    }

    fn begin(&self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        session.begin(&self.login, out);
        false
    }

    fn opening(&self, session: &mut Session, bytes: &[u8], out: &mut Vec<u8>) -> Result<Opening, Refusal> {
        session.step(&self.login, &self.prepare, bytes, out)
    }

    /// Terminate.
    fn farewell(&self, _: &mut Session, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"X\0\0\0\x04");
        true
    }

    #[inline]
    fn write(&self, _: &mut Session, request: Request, _: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        self.written[self.list.which(values)].write(values, out);
    }

    /// The head ends behind an error that is the first thing said, so that its words are known; else before whatever
    /// may be long.
    fn read(&self, _: &mut Session, kind: Kind, bytes: &[u8]) -> Result<Parsed, Garbage> {
        let mut at = 0;
        loop {
            let Some(&next) = bytes[at..].first_chunk::<HEADER>() else { return Ok(Parsed::More) };
            let (of, length) = header(next).ok_or_else(|| Garbage::new::<Self>(kind, &bytes[at..]))?;
            let end = at + HEADER + length as usize;
            let short = matches!(of, b'1' | b'2' | b'3' | b'n' | b'N' | b'S' | b'E') && end < Self::MAX_HEAD;
            if short && bytes.len() < end {
                return Ok(Parsed::More);
            }
            if !short || of == b'E' {
                let head = if short { end } else { at + HEADER };
                let mut messages = Messages::default();
                let passed = messages.pass(&bytes[..head]).map_err(|_| Garbage::new::<Self>(kind, bytes))?;
                debug_assert_eq!(passed.bytes, head);
                let outcome = if of == b'E' { Outcome::Error } else { messages.outcome() };
                return Ok(Parsed::reply(head, Rest::Messages(messages), outcome));
            }
            at = end;
        }
    }

    fn complaint(head: &[u8]) -> &[u8] {
        // The fields of the error that ends the head; that which starts with M is its message.
        let message = head.split(|&b| b == 0).rev().find_map(|field| field.strip_prefix(b"M"));
        message.unwrap_or(head)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_reply, plan};
    use super::super::Reader;
    use super::messages::tests::message;
    use super::*;

    fn reply(messages: &[(u8, &[u8])]) -> Vec<u8> {
        messages.iter().flat_map(|&(of, body)| message(of, body)).collect()
    }

    const ERROR: (u8, &[u8]) = (b'E', b"SERROR\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0\0");
    const READY: (u8, &[u8]) = (b'Z', b"I");

    #[test]
    fn replies_are_told_apart_however_they_arrive() {
        let codec = Postgresql::new(&plan("postgresql"));
        let row: (u8, &[u8]) = (b'D', b"\0\x01\0\0\0\x011");
        let long = vec![b'x'; 20_000];
        for (messages, outcome) in [
            (&[(b'T', &b"\0\x01"[..]), row, (b'C', b"SELECT 1\0"), READY][..], Outcome::Hit),
            (&[(b'2', b""), row, (b'C', b"SELECT 1\0"), READY], Outcome::Hit),
            (&[(b'2', b""), (b'D', &long), (b'C', b"SELECT 1\0"), READY], Outcome::Hit),
            (&[(b'2', b""), (b'C', b"SELECT 0\0"), READY], Outcome::Miss),
            (&[ERROR, READY], Outcome::Error),
            (&[(b'2', b""), ERROR, READY], Outcome::Error),
            (&[(b'2', b""), row, ERROR, READY], Outcome::Error),
            (&[(b'E', &long), READY], Outcome::Error),
            (&[(b'N', &long), (b'C', b"SELECT 1\0"), READY], Outcome::Hit),
        ] {
            let bytes = reply(messages);
            if bytes.len() < 1000 {
                check_reply(&codec, Kind(0), &bytes, outcome);
            }
            let found =
                Reader::new::<Postgresql>().next(&codec, &mut Session::default(), Kind(0), &bytes, |_| ());
            let found = found.unwrap().unwrap();
            assert_eq!((found.taken, found.outcome), (bytes.len(), outcome));
        }
    }

    #[test]
    fn an_error_is_told_by_its_message() {
        let codec = Postgresql::new(&plan("postgresql"));
        let mut told = Vec::new();
        let bytes = reply(&[(b'2', b""), ERROR, READY]);
        let tell = |words: &[u8]| told.extend_from_slice(words);
        Reader::new::<Postgresql>().next(&codec, &mut Session::default(), Kind(0), &bytes, tell).unwrap();
        assert_eq!(told, b"relation \"x\" does not exist");
    }
}
