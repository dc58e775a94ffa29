use serde::Serialize;

/// One question to a server, and what its answers mean.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ask {
    /// The request; `{path}` and `{address}` are filled in. Empty: nothing beyond what the engine's codec says first on a
    /// connection, whose replies are looked at, or the words in which it was refused.
    pub send: &'static str,
    /// By the first line of the reply: the first that matches counts. A line that none matches is of another
    /// protocol.
    pub answers: &'static [Answer],
    /// In the whole reply: the first that is found is the server's version. Empty if this question is not about it.
    pub versions: &'static [Version],
}

/// One class of answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answer {
    /// What the line starts with. Its first group, if any, is the `{reply}` of the message.
    pub pattern: &'static str,
    /// What follows from it.
    #[serde(flatten)]
    pub means: Meaning,
    /// What every request would come to, where that is known.
    pub shows: Option<Shows>,
}

/// What requests come to at a server that answers so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// An error.
    Failing,
    /// A miss.
    Missing,
}

impl Answer {
    /// The server serves.
    pub(crate) const fn serves(pattern: &'static str) -> Self {
        Self { pattern, means: Meaning::Serves, shows: None }
    }
}

/// What follows from an answer. Messages may hold `{address}`, `{path}` and `{reply}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "means", rename_all = "snake_case")]
pub enum Meaning {
    /// Go on with the next question.
    Serves,
    /// It speaks the protocol but does not serve yet: ask again later.
    NotReady {
        /// What happened.
        message: &'static str,
        /// What to do; may be empty.
        hint: &'static str,
    },
    /// It will not serve us.
    Refuses {
        /// What happened.
        message: &'static str,
        /// What to do.
        hint: &'static str,
    },
}

/// Where a reply says the server's version.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Version {
    /// Its first group is the version.
    pub pattern: &'static str,
    /// How we write it, `{}` for the group.
    pub written: &'static str,
}

impl Version {
    /// The group as it stands.
    pub(crate) const fn plain(pattern: &'static str) -> Self {
        Self { pattern, written: "{}" }
    }
}
