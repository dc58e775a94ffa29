//! Positions and lengths of requests in a stream of bytes.

use std::ops::Range;

/// A range of bytes inside a frame. Frames are far shorter than 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    from: u32,
    to: u32,
}

impl Span {
    pub(super) fn new(range: Range<usize>) -> Self {
        Self { from: range.start as u32, to: range.end as u32 }
    }

    /// Return the bytes of `frame` in this range.
    pub(crate) fn of(self, frame: &[u8]) -> &[u8] {
        &frame[self.from as usize..self.to as usize]
    }
}

/// Result of parsing the next bytes of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<C> {
    /// More bytes are needed.
    More,
    /// This many bytes belong to no request.
    Skip(usize),
    /// A request, and its length in bytes.
    Frame(C, usize),
}

/// Skip a number of bytes; without any, ask for more.
pub(super) fn skip<C>(bytes: usize) -> Step<C> {
    if bytes == 0 {
        Step::More
    } else {
        Step::Skip(bytes)
    }
}

impl<C> Step<C> {
    pub(super) fn map<D>(self, convert: impl FnOnce(C) -> D) -> Step<D> {
        match self {
            Self::More => Step::More,
            Self::Skip(bytes) => Step::Skip(bytes),
            Self::Frame(command, bytes) => Step::Frame(convert(command), bytes),
        }
    }
}
