use std::io;

use hdrhistogram::serialization::{DeserializeError, V2DeflateSerializeError};
use thiserror::Error;

use super::TagError;

/// The reason why a log could not be written or read.
#[derive(Debug, Error)]
pub enum HlogError {
    /// The file could not be written or read.
    #[error("the .hlog file: {0}")]
    Io(#[from] io::Error),
    /// Times must be finite, non-negative and in order.
    #[error("an interval cannot last from {start_s} s to {end_s} s")]
    Times {
        /// Start of the interval, in seconds.
        start_s: f64,
        /// End of the interval, in seconds.
        end_s: f64,
    },
    /// The format cannot encode a count above 2^63 - 1.
    #[error("the histogram from {start_s} s on cannot be encoded: {source}")]
    Encode {
        /// Start of the interval, in seconds.
        start_s: f64,
        /// The error of the encoder.
        source: V2DeflateSerializeError,
    },
    /// A line does not conform to the format.
    #[error("line {line} of the .hlog file: {fault}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// The fault of the line.
        #[source]
        fault: LineFault,
    },
}

/// The fault of a line of a log.
#[derive(Debug, Error)]
pub enum LineFault {
    /// The line is not a comment, legend or interval.
    #[error("neither a comment nor an interval (tag, start, length, maximum, histogram)")]
    Unreadable,
    /// The payload is not base64: it is truncated, or the file is not a log.
    #[error("the histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The payload is not a V2 histogram.
    #[error("the histogram cannot be decoded: {0}")]
    Decode(#[from] DeserializeError),
    /// The payload claims more counts than it contains.
    #[error("the histogram claims {claimed} bytes of counts, but contains {held}")]
    Claim {
        /// Claimed number of bytes.
        claimed: u64,
        /// Actual number of bytes.
        held: u64,
    },
    /// The tag is not one that this crate would write.
    #[error(transparent)]
    Tag(#[from] TagError),
    /// A Hindmost comment is malformed.
    #[error("a #[Hindmost: ...] comment that cannot be read")]
    Exact,
    /// A Hindmost comment belongs to another interval.
    #[error("the #[Hindmost: ...] comment contradicts the histogram that follows it")]
    Contradiction,
}
