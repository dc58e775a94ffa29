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
#[error("{0}")]
pub struct Refusal(pub String);

impl Refusal {
    /// Words, and the first line of what the server sent, made printable.
    pub fn quoting(words: &str, bytes: &[u8]) -> Self {
        let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or_default();
        Self(format!("{words} {:?}", String::from_utf8_lossy(&line[..line.len().min(120)])))
    }
}
