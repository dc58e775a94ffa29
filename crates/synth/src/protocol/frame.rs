//! Places and lengths of requests in a stream of bytes.

use std::ops::Range;

/// A place inside a frame. Frames are shorter than 4 GiB by far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    from: u32,
    to: u32,
}

impl Span {
    pub(super) fn new(range: Range<usize>) -> Self {
        Self { from: range.start as u32, to: range.end as u32 }
    }

    /// The bytes of `frame` at this place.
    pub(crate) fn of(self, frame: &[u8]) -> &[u8] {
        &frame[self.from as usize..self.to as usize]
    }
}

/// What the next bytes of a stream are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<C> {
    /// Not enough to say.
    More,
    /// So many bytes belong to no request.
    Skip(usize),
    /// A request that takes so many bytes.
    Frame(C, usize),
}

/// So many bytes belong to no request; nothing is known where there are none.
pub(super) fn skip<C>(bytes: usize) -> Step<C> {
    if bytes == 0 {
        Step::More
    } else {
        Step::Skip(bytes)
    }
}

impl<C> Step<C> {
    pub(super) fn map<D>(self, of: impl FnOnce(C) -> D) -> Step<D> {
        match self {
            Self::More => Step::More,
            Self::Skip(bytes) => Step::Skip(bytes),
            Self::Frame(command, bytes) => Step::Frame(of(command), bytes),
        }
    }
}
