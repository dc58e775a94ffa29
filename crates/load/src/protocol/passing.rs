//! How bytes behind a head are passed over, whatever tells where they end.

/// What a piece brought of a reply's rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Bytes of the piece that belong to the reply.
    pub bytes: usize,
    /// The reply is whole.
    pub whole: bool,
}

/// Bytes that cannot follow what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Where they start in the piece.
    pub at: usize,
}
