use serde::Serialize;

/// A request to a server and the meaning of its answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ask {
    /// The request, with placeholders `{path}` and `{address}`. Empty: only the login sequence of the engine's
    /// codec is sent, and its replies, or the text of its refusal, are matched.
    pub send: &'static str,
    /// Patterns for the first line of the reply; the first match counts. A line without a match belongs to
    /// another protocol.
    pub answers: &'static [Answer],
    /// Patterns for the whole reply; the first match is the server's version. Empty if this request does not
    /// return it.
    pub versions: &'static [Version],
}

/// One class of answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answer {
    /// Pattern for the start of the line. Its first group, if any, is the `{reply}` of the message.
    pub pattern: &'static str,
    /// The conclusion.
    #[serde(flatten)]
    pub means: Meaning,
    /// The outcome of every request, if it is known.
    pub shows: Option<Shows>,
}

/// The outcome of requests to a server with such an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// An error.
    Failing,
    /// A miss.
    Missing,
}

impl Answer {
    /// The server is ready.
    pub(crate) const fn serves(pattern: &'static str) -> Self {
        Self { pattern, means: Meaning::Serves, shows: None }
    }
}

/// The conclusion from an answer. Messages may contain `{address}`, `{path}` and `{reply}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "means", rename_all = "snake_case")]
pub enum Meaning {
    /// Continue with the next request.
    Serves,
    /// The server speaks the protocol but is not ready yet: try again later.
    NotReady {
        /// What happened.
        message: &'static str,
        /// What to do; may be empty.
        hint: &'static str,
    },
    /// The server refuses requests.
    Refuses {
        /// What happened.
        message: &'static str,
        /// What to do.
        hint: &'static str,
    },
}

/// Pattern for the server's version in a reply.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Version {
    /// Its first group is the version.
    pub pattern: &'static str,
    /// Text of the version, with `{}` for the group.
    pub written: &'static str,
}

impl Version {
    /// The group, unchanged.
    pub(crate) const fn plain(pattern: &'static str) -> Self {
        Self { pattern, written: "{}" }
    }
}
