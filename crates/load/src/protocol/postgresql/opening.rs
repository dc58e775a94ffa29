//! The start of a session: start-up, authentication and preparation of statements (PostgreSQL 15, "Message
//! Flow", 55.2).

use ring::rand::{SecureRandom, SystemRandom};

use super::messages::HEADER;
use super::scram::{Scram, MECHANISM};
use crate::protocol::{quote, Opening, Refusal};

/// Version number of protocol 3.0.
const VERSION: i32 = 0x0003_0000;

/// The login of a connection.
#[derive(Clone, Debug)]
pub struct Login {
    pub user: String,
    pub password: Option<String>,
    pub database: String,
}

/// The state of one connection.
#[derive(Default)]
pub struct Session {
    scram: Option<Scram>,
    /// Whether the messages that prepare the statements have been sent.
    prepare_sent: bool,
    /// Number of requests without a complete reply.
    pub unanswered: u32,
    /// Whether the last reply left a failed transaction.
    aborted: bool,
    /// After a ROLLBACK was sent: the number of replies before its own.
    rollback: Option<u32>,
}

/// Append a message of type `kind` with the body that `body` appends.
pub fn message(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    write_with_length(out, body);
}

/// Append a length that includes itself, and what `body` appends.
fn write_with_length(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

pub fn write_text(words: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(words.as_bytes());
    out.push(0);
}

impl Session {
    /// Append the first message of a connection.
    pub fn begin(&mut self, login: &Login, out: &mut Vec<u8>) {
        *self = Self::default();
        write_with_length(out, |out| {
            out.extend_from_slice(&VERSION.to_be_bytes());
            let names =
                [("user", &*login.user), ("database", &*login.database), ("application_name", "hindmost")];
            for (name, value) in names {
                write_text(name, out);
                write_text(value, out);
            }
            out.push(0);
        });
    }

    /// Record a complete reply, and whether it left a failed transaction.
    pub fn finish_reply(&mut self, aborted: bool) {
        self.aborted = aborted;
        if self.awaits_rollback_reply() {
            self.rollback = None;
            return;
        }
        self.unanswered = self.unanswered.saturating_sub(1);
        self.rollback = self.rollback.map(|before| before - 1);
    }

    /// Whether the transaction has failed and no ROLLBACK has been sent.
    pub fn needs_rollback(&self) -> bool {
        self.aborted && self.rollback.is_none()
    }

    /// Record that a ROLLBACK was sent after all requests so far.
    pub fn note_rollback(&mut self) {
        self.rollback = Some(self.unanswered);
    }

    /// Whether the next reply answers a ROLLBACK.
    pub fn awaits_rollback_reply(&self) -> bool {
        self.rollback == Some(0)
    }

    /// Parse one message of the server. `statements` are the messages that prepare the statements and a
    /// `Sync`, or empty.
    pub fn step(
        &mut self,
        login: &Login,
        statements: &[u8],
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Opening, Refusal> {
        let Some(&[kind, ref length @ ..]) = bytes.first_chunk::<HEADER>() else { return Ok(Opening::More) };
        let length = u32::from_be_bytes(*length) as usize;
        // Messages of the opening are short. A large length means another protocol, whose end would never
        // come.
        if !(4..1 << 14).contains(&length) || !b"RESKNvZ123C".contains(&kind) {
            let reason = quote("it does not speak PostgreSQL's protocol: it answered", bytes);
            return Err(Refusal::Protocol(reason));
        }
        let Some(body) = bytes.get(HEADER..=length) else { return Ok(Opening::More) };
        match kind {
            b'R' => self.authenticate(login, body, out)?,
            b'E' => return Err(Refusal::Login(format_error(body))),
            b'Z' if self.prepare_sent || statements.is_empty() => return Ok(Opening::Done(1 + length)),
            b'Z' => {
                self.prepare_sent = true;
                out.extend_from_slice(statements);
            }
            _ => {}
        }
        Ok(Opening::Step(1 + length))
    }

    fn authenticate(&mut self, login: &Login, body: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let (code, rest) = body.split_first_chunk::<4>().unwrap_or((&[0xff; 4], &[]));
        let code = u32::from_be_bytes(*code);
        let password = login.password.as_deref().map(str::as_bytes);
        let needed = || {
            Refusal::Login(format!(
                "it requires the password of user {:?}, but none was given (--password env:NAME)",
                login.user
            ))
        };
        let scram = |reason: &'static str| {
            Refusal::Login(format!("authentication of user {:?} failed: {reason}", login.user))
        };
        match code {
            0 => {}
            3 => answer(password.ok_or_else(needed)?, out),
            5 => {
                let Some(&salt) = rest.first_chunk::<4>() else {
                    return Err(Refusal::Protocol("its request for an MD5 password has no salt".to_owned()));
                };
                let md5_password = md5_password(&login.user, password.ok_or_else(needed)?, salt);
                answer(md5_password.as_bytes(), out);
            }
            10 => {
                if !rest.split(|&b| b == 0).any(|one| one == MECHANISM.as_bytes()) {
                    let offered = String::from_utf8_lossy(rest).replace('\0', " ");
                    return Err(Refusal::Login(format!(
                        "it authenticates only by {offered}but Hindmost supports {MECHANISM}"
                    )));
                }
                // The nonce need not be reproducible, so it does not use a random stream of the plan.
                let mut nonce = [0; 18];
                let random = SystemRandom::new().fill(&mut nonce);
                random.map_err(|_| Refusal::Login("the kernel provides no random bytes".to_owned()))?;
                let client = Scram::new(password.ok_or_else(needed)?, &nonce);
                let first = client.first_message();
                message(b'p', out, |out| {
                    write_text(MECHANISM, out);
                    out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                    out.extend_from_slice(first.as_bytes());
                });
                self.scram = Some(client);
            }
            11 | 12 => {
                let client = self.scram.as_mut().ok_or_else(|| {
                    Refusal::Protocol("it continues a SCRAM exchange that was not started".to_owned())
                })?;
                if code == 11 {
                    let answer = client.answer_challenge(rest).map_err(scram)?;
                    message(b'p', out, |out| out.extend_from_slice(answer.as_bytes()));
                } else {
                    client.verify_server(rest).map_err(scram)?;
                }
            }
            other => {
                let known = "trust, password, MD5 and SCRAM-SHA-256";
                return Err(Refusal::Login(format!(
                    "it requires authentication of kind {other}; Hindmost supports {known}"
                )));
            }
        }
        Ok(())
    }
}

/// Return the MD5 response: the hash of (hash of password and user) and salt, in hexadecimal.
fn md5_password(user: &str, password: &[u8], salt: [u8; 4]) -> String {
    let inner = format!("{:x}", md5::compute([password, user.as_bytes()].concat()));
    format!("md5{:x}", md5::compute([inner.as_bytes(), &salt].concat()))
}

/// Append a password message.
fn answer(password: &[u8], out: &mut Vec<u8>) {
    message(b'p', out, |out| {
        out.extend_from_slice(password);
        out.push(0);
    });
}

/// Format an `ErrorResponse`, with or without its header: severity, SQLSTATE and message.
pub fn format_error(error: &[u8]) -> String {
    let field = |kind: u8, is_one: fn(usize) -> bool| {
        let mut parts = error.split(|&b| b == 0).filter(|part| is_one(part.len()));
        let found = parts.find_map(|part| part.strip_prefix(&[kind]));
        String::from_utf8_lossy(found.unwrap_or_default()).into_owned()
    };
    let severity = Some(field(b'V', |_| true)).filter(|found| !found.is_empty());
    let severity = severity.unwrap_or_else(|| field(b'S', |_| true));
    format!("{} {}: {}", severity, field(b'C', |length| length == 6), field(b'M', |_| true))
}

#[cfg(test)]
mod tests {
    use super::super::messages::tests::message as server_message;
    use super::*;

    fn login(password: Option<&str>) -> Login {
        Login { user: "ada".to_owned(), password: password.map(str::to_owned), database: "engine".to_owned() }
    }

    fn step(
        session: &mut Session,
        login: &Login,
        kind: u8,
        body: &[u8],
    ) -> (Result<Opening, Refusal>, Vec<u8>) {
        let mut out = Vec::new();
        let bytes = server_message(kind, body);
        for cut in 0..bytes.len() {
            assert_eq!(session.step(login, b"prepare", &bytes[..cut], &mut out), Ok(Opening::More));
        }
        (session.step(login, b"prepare", &bytes, &mut out), out)
    }

    #[test]
    fn a_trusted_user_prepares_the_statements_and_is_ready() {
        let (mut session, login) = (Session::default(), login(None));
        let mut out = Vec::new();
        session.begin(&login, &mut out);
        let expected = b"\0\0\0\x40\0\x03\0\0user\0ada\0database\0engine\0application_name\0hindmost\0\0";
        assert_eq!(out[4..], expected[4..]);
        assert_eq!(out[..4], (out.len() as u32).to_be_bytes());
        for (kind, body, expected) in [
            (b'R', &[0; 4][..], &b""[..]),
            (b'S', b"server_version\x0015.18\0", b""),
            (b'K', &[0; 8], b""),
            (b'Z', b"I", b"prepare"),
            (b'1', b"", b""),
        ] {
            let (found, out) = step(&mut session, &login, kind, body);
            assert_eq!(
                (found, &out[..]),
                (Ok(Opening::Step(5 + body.len())), expected),
                "{}",
                char::from(kind)
            );
        }
        assert_eq!(step(&mut session, &login, b'Z', b"I").0, Ok(Opening::Done(6)));
    }

    #[test]
    fn passwords_are_sent_in_the_requested_form() {
        let login = login(Some("secret"));
        let (found, out) = step(&mut Session::default(), &login, b'R', &[0, 0, 0, 3]);
        assert_eq!((found, &out[..]), (Ok(Opening::Step(9)), &b"p\0\0\0\x0bsecret\0"[..]));
        // The MD5 hash of (MD5 hash of "secretada") and the salt, as in `pg_authid` and the manual.
        let (_, out) = step(&mut Session::default(), &login, b'R', b"\0\0\0\x05\x01\x02\x03\x04");
        assert_eq!(out[5..], [md5_password("ada", b"secret", [1, 2, 3, 4]).as_bytes(), b"\0"].concat());
        let (_, out) = step(&mut Session::default(), &login, b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        assert!(out[5..].starts_with(b"SCRAM-SHA-256\0\0\0\0\x20n,,n=,r="), "{out:?}");
    }

    #[test]
    fn a_refusal_has_the_text_of_the_server() {
        let body = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user \"ada\"\0\0";
        for (kind, body, code, text) in [
            (
                b'E',
                &body[..],
                "login-refused",
                "FATAL 28P01: password authentication failed for user \"ada\"",
            ),
            (b'R', &[0, 0, 0, 3], "login-refused", "--password"),
            (b'R', b"\0\0\0\x07", "login-refused", "7"),
            (b'R', b"\0\0\0\x0aSCRAM-SHA-512\0\0", "login-refused", "SCRAM-SHA-512"),
            (b'R', b"\0\0\0\x0bx", "wrong-protocol", ""),
        ] {
            let refusal = step(&mut Session::default(), &login(None), kind, body).0.unwrap_err();
            assert!(refusal.code() == code && refusal.to_string().contains(text), "{refusal}");
        }
        let other = Session::default().step(&login(None), b"", b"HTTP/1.1 400 Bad Request", &mut Vec::new());
        assert!(matches!(other, Err(Refusal::Protocol(_))), "{other:?}");
    }
}
