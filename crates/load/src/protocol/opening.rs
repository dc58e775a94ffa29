//! What is said on a fresh connection before it can carry requests: passwords, versions, settings.

use thiserror::Error;

/// What a codec makes of the bytes that the server has sent so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Not yet enough to tell.
    More,
    /// So many bytes are taken; go on with what follows them.
    Step(usize),
    /// So many bytes are taken, and the connection can carry requests; what follows is of replies.
    Done(usize),
}

/// The server refuses the connection, and says why.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// What it says is not of the protocol.
    #[error("{0}")]
    Protocol(String),
    /// It refuses the login, or wants one that was not given.
    #[error("{0}")]
    Login(String),
    /// It would not serve these requests.
    #[error("{0}")]
    Request(String),
}

impl Refusal {
    /// A name that programs can rely on.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Protocol(_) => "wrong-protocol",
            Self::Login(_) => "login-refused",
            Self::Request(_) => "request-refused",
        }
    }
}

/// Words, and the first line of what the server sent, made printable.
pub fn quote(words: &str, bytes: &[u8]) -> String {
    let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or_default();
    format!("{words} {:?}", String::from_utf8_lossy(&line[..line.len().min(120)]))
}
