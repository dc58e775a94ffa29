//! The exchange on a new connection before it can carry requests: passwords, versions, settings.

use thiserror::Error;

/// The result of parsing a step of the opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// More bytes are needed.
    More,
    /// This many bytes are parsed; continue with the bytes after them.
    Step(usize),
    /// This many bytes are parsed, and the connection can carry requests. The following bytes belong to
    /// replies.
    Done(usize),
}

/// The server refused the connection.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// The server does not follow the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The server refused the login, or requires one that was not given.
    #[error("{0}")]
    Login(String),
    /// The server would refuse the plan's requests.
    #[error("{0}")]
    Request(String),
}

impl Refusal {
    /// Return the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Protocol(_) => "wrong-protocol",
            Self::Login(_) => "login-refused",
            Self::Request(_) => "request-refused",
        }
    }
}

/// Return `words` followed by the first line of `bytes` in printable form.
pub fn quote(words: &str, bytes: &[u8]) -> String {
    let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or_default();
    format!("{words} {:?}", String::from_utf8_lossy(&line[..line.len().min(120)]))
}
