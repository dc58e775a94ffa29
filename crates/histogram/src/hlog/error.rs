use std::io;

use hdrhistogram::serialization::{DeserializeError, V2DeflateSerializeError};
use thiserror::Error;

use super::TagError;

/// Why a log could not be written or read.
#[derive(Debug, Error)]
pub enum HlogError {
    /// The file could not be written or read.
    #[error("the .hlog file: {0}")]
    Io(#[from] io::Error),
    /// Times must be finite, not negative, and in order.
    #[error("an interval cannot last from {start_s} s to {end_s} s")]
    Times {
        /// The start that was asked for.
        start_s: f64,
        /// The end that was asked for.
        end_s: f64,
    },
    /// The format has no code for a count above 2^63 - 1.
    #[error("the histogram from {start_s} s on cannot be encoded: {source}")]
    Encode {
        /// Start of the interval.
        start_s: f64,
        /// What the encoder says.
        source: V2DeflateSerializeError,
    },
    /// A line is not what the format wants there.
    #[error("line {line} of the .hlog file: {fault}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        fault: LineFault,
    },
}

/// What is wrong with a line of a log.
#[derive(Debug, Error)]
pub enum LineFault {
    /// Neither comment, legend nor interval.
    #[error("neither a comment nor an interval (tag, start, length, maximum, histogram)")]
    Unreadable,
    /// The payload is not base64: cut off, or not a log.
    #[error("the histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The payload is not a V2 histogram.
    #[error("the histogram cannot be decoded: {0}")]
    Decode(#[from] DeserializeError),
    /// The payload says that it holds more than it can.
    #[error("the histogram claims {claimed} bytes of counts, but has {held}")]
    Claim {
        /// Bytes that it says it holds.
        claimed: u64,
        /// Bytes that there are.
        held: u64,
    },
    /// The tag could not be one that we write.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// A comment of ours that we did not write.
    #[error("a #[Hindmost: ...] comment that cannot be read")]
    Exact,
    /// A comment of ours that belongs to another interval.
    #[error("the #[Hindmost: ...] comment contradicts the histogram that follows it")]
    Contradiction,
}
