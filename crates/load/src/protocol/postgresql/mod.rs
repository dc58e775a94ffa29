//! PostgreSQL: simple queries, and statements prepared at the start of a connection (PostgreSQL 15,
//! "Frontend/Backend Protocol").

mod messages;
mod opening;
mod scram;
mod statements;

use std::borrow::Cow;

use hindmost_plan::{Plan, Workload};

use self::messages::{header, HEADER};
use self::opening::{format_error, Login, Session};
use self::statements::{begins_transaction, CompiledStatement};
use super::{Garbage, Incoming, Opening, Outcome, Protocol, Refusal, Remainder};
use crate::workload::{Kind, List, Request};

pub use messages::Messages;

/// The codec for PostgreSQL.
pub struct Postgresql {
    login: Login,
    list: List,
    statements: Vec<CompiledStatement>,
    /// The messages that prepare the statements; empty if there are none.
    prepare: Vec<u8>,
    /// Whether a statement begins a transaction.
    transactions: bool,
}

/// Ends a failed transaction.
const ROLLBACK: &[u8] = b"Q\0\0\0\x0dROLLBACK\0";

/// Return an upper bound on the bytes of a request of `sql`.
pub fn largest_statement(sql: &hindmost_plan::Sql) -> usize {
    let all = sql.statements.iter().enumerate();
    all.map(|(at, one)| CompiledStatement::new(at, one, sql.data.as_ref()).largest()).max().unwrap_or(0)
}

impl Protocol for Postgresql {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Postgresql;
    /// Room for the messages before the first row, and for errors with all their fields.
    const MAX_HEAD: usize = 16 * 1024;

    /// Notices, settings and notifications may arrive at any time.
    const HAS_CONTROL: bool = true;

    type Session = Session;

    fn new(plan: &Plan) -> Self {
        let Workload::Sql(sql) = &plan.workload else {
            unreachable!("the plan has checked that {:?} gets statements of SQL", plan.target.protocol)
        };
        let login = plan.target.login.clone().unwrap_or_default();
        let user = login.user.unwrap_or_else(|| "postgres".to_owned());
        let all = || sql.statements.iter().enumerate();
        Self {
            login: Login {
                database: login.database.unwrap_or_else(|| user.clone()),
                password: login.password,
                user,
            },
            list: List::new(plan.seed, &sql.weighted_kinds(), sql.data.as_ref())
                .in_sessions(sql.session.is_some()),
            statements: all().map(|(at, one)| CompiledStatement::new(at, one, sql.data.as_ref())).collect(),
            prepare: statements::prepare_messages(all()),
            transactions: sql.statements.iter().any(|one| begins_transaction(&one.sql)),
        }
    }

    fn begin(&self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        session.begin(&self.login, out);
        false
    }

    fn opening(&self, session: &mut Session, bytes: &[u8], out: &mut Vec<u8>) -> Result<Opening, Refusal> {
        session.step(&self.login, &self.prepare, bytes, out)
    }

    /// Append `Terminate`.
    fn write_farewell(&self, _: &mut Session, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"X\0\0\0\x04");
        true
    }

    #[inline]
    fn write(&self, session: &mut Session, request: Request, _: u32, out: &mut Vec<u8>) {
        session.unanswered += 1;
        let values = self.list.values(request.item);
        self.statements[self.list.index(values)].write(values, out);
    }

    /// Whether a statement begins a transaction: a request pipelined behind a failed transaction would fail
    /// with it.
    fn takes_turns(&self) -> bool {
        self.transactions
    }

    fn finish_message(&self, session: &mut Session, rest: &Remainder) {
        let Remainder::Messages(messages) = rest else { return };
        session.finish_reply(messages.aborted);
    }

    fn write_control(&self, session: &mut Session, out: &mut Vec<u8>) {
        if session.needs_rollback() && out.capacity() - out.len() >= ROLLBACK.len() {
            out.extend_from_slice(ROLLBACK);
            session.note_rollback();
        }
    }

    /// The head ends after an error if that is the first message, so that its text is available. Otherwise it
    /// ends before the first message that may be long.
    fn read(&self, session: &mut Session, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let mut at = 0;
        loop {
            let Some(&next) = bytes[at..].first_chunk::<HEADER>() else { return Ok(Incoming::More) };
            let (message_type, length) =
                header(next).ok_or_else(|| Garbage::new::<Self>(kind, &bytes[at..]))?;
            if at == 0 && matches!(message_type, b'A' | b'N' | b'S') {
                return Ok(Incoming::Aside {
                    head: HEADER,
                    rest: Remainder::Bytes { left: length.into(), end: b"" },
                });
            }
            if at == 0 && session.awaits_rollback_reply() {
                let mut messages = Messages::default();
                messages.consume(&next, &mut Vec::new()).map_err(|_| Garbage::new::<Self>(kind, bytes))?;
                return Ok(Incoming::Aside { head: HEADER, rest: Remainder::Messages(messages) });
            }
            let end = at + HEADER + length as usize;
            let short = matches!(message_type, b'1' | b'2' | b'3' | b'n' | b'N' | b'S' | b'E')
                && end < Self::MAX_HEAD;
            if short && bytes.len() < end {
                return Ok(Incoming::More);
            }
            if !short || message_type == b'E' {
                let head = if short { end } else { at + HEADER };
                let mut messages = Messages::default();
                let extent = messages
                    .consume(&bytes[..head], &mut Vec::new())
                    .map_err(|_| Garbage::new::<Self>(kind, bytes))?;
                debug_assert_eq!(extent.bytes, head);
                let outcome = if message_type == b'E' { Outcome::Error } else { messages.outcome() };
                return Ok(Incoming::reply(head, Remainder::Messages(messages), outcome));
            }
            at = end;
        }
    }

    fn error_text(head: &[u8]) -> Cow<'_, [u8]> {
        format_error(head).into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_reply, plan};
    use super::super::Reader;
    use super::messages::tests::message;
    use super::*;

    fn reply(messages: &[(u8, &[u8])]) -> Vec<u8> {
        messages.iter().flat_map(|&(kind, body)| message(kind, body)).collect()
    }

    const ERROR: (u8, &[u8]) = (b'E', b"SERROR\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0P15\0\0");
    const READY: (u8, &[u8]) = (b'Z', b"I");

    #[test]
    fn replies_are_recognised_however_they_are_split() {
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

    /// Return the number of replies in `bytes`, and the text of errors, on the connection of `session`.
    fn read_replies(codec: &Postgresql, session: &mut Session, bytes: &[u8]) -> (usize, String) {
        let (mut replies, mut words) = (0, String::new());
        let (mut reader, mut rest) = (Reader::new::<Postgresql>(), bytes);
        loop {
            let tell =
                |said: &[u8]| words = String::from_utf8_lossy(&Postgresql::error_text(said)).into_owned();
            let Some(reply) = reader.next(codec, session, Kind(0), rest, tell).unwrap() else { break };
            rest = &rest[reply.taken..];
            replies += 1;
        }
        (replies, words)
    }

    fn ask(codec: &Postgresql, session: &mut Session) {
        codec.write(session, Request { kind: Kind(0), item: 0, value_bytes: 0 }, 0, &mut Vec::new());
    }

    #[test]
    fn asynchronous_messages_answer_no_request() {
        let codec = Postgresql::new(&plan("postgresql"));
        let mut session = codec.session();
        let asides =
            [(b'N', &b"SWARNING\0Mhi\0\0"[..]), (b'S', b"TimeZone\0UTC\0"), (b'A', b"\0\0\0\x01c\0p\0")];
        assert_eq!(read_replies(&codec, &mut session, &reply(&asides)), (0, String::new()));
        ask(&codec, &mut session);
        let whole = [&reply(&asides)[..], &reply(&[(b'C', b"SELECT 1\0"), READY]), &reply(&asides)].concat();
        assert_eq!(read_replies(&codec, &mut session, &whole), (1, String::new()));
    }

    #[test]
    fn a_failed_transaction_is_rolled_back_before_the_next_request() {
        let codec = Postgresql::new(&plan("postgresql"));
        let (mut session, mut out) = (codec.session(), Vec::with_capacity(64));
        ask(&codec, &mut session);
        let failed =
            [(b'C', &b"BEGIN\0"[..]), (b'E', b"SERROR\0VERROR\0C22012\0Mdivision by zero\0\0"), (b'Z', b"E")];
        let (replies, words) = read_replies(&codec, &mut session, &reply(&failed));
        assert_eq!((replies, &*words), (1, "ERROR 22012: division by zero"));
        codec.write_control(&mut session, &mut out);
        assert_eq!(out, b"Q\0\0\0\x0dROLLBACK\0");
        codec.write_control(&mut session, &mut out);
        assert_eq!(out.len(), 14, "once");
        ask(&codec, &mut session);
        let rolled_back = reply(&[(b'C', b"ROLLBACK\0"), READY, (b'C', b"SELECT 1\0"), READY]);
        assert_eq!(read_replies(&codec, &mut session, &rolled_back).0, 1);
        codec.write_control(&mut session, &mut out);
        assert_eq!(out.len(), 14);
    }

    #[test]
    fn an_error_is_reported_with_its_message() {
        let codec = Postgresql::new(&plan("postgresql"));
        let mut head = Vec::new();
        let bytes = reply(&[(b'2', b""), ERROR, READY]);
        let tell = |words: &[u8]| head.extend_from_slice(words);
        Reader::new::<Postgresql>().next(&codec, &mut Session::default(), Kind(0), &bytes, tell).unwrap();
        assert_eq!(&*Postgresql::error_text(&head), b"ERROR 42P01: relation \"x\" does not exist");
    }
}
