//! The status of a gRPC call, which is in the trailers (grpc.io, PROTOCOL-HTTP2).

use super::frames::{self, Frame, HEAD};
use super::hpack;
use crate::protocol::Outcome;

/// Status names in the order of their numbers.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
pub const OK: u16 = 0;
const UNKNOWN: u16 = 2;
const NOT_FOUND: u16 = 5;
pub const INTERNAL: u16 = 13;

/// Length of a message's prefix: a compression flag and the message length.
const PREFIX: usize = 5;

/// The part of a reply's message received so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message {
    prefix: [u8; PREFIX],
    came: usize,
}

impl Message {
    /// Parse a DATA frame with the available part `bytes` of its payload. Return how many of these bytes were
    /// examined. Return `None` and consume nothing if more bytes are needed.
    #[inline]
    pub fn take(&mut self, frame: Frame, bytes: &[u8]) -> Option<usize> {
        let padded = usize::from(frame.has(frames::PADDED) && frame.length > 0);
        let padding = bytes.get(..padded)?.first().map_or(0, |&padding| padding.into());
        let data = frame.length.saturating_sub(padded + padding);
        let missing = PREFIX.saturating_sub(self.came).min(data);
        let seen = bytes.get(padded..padded + missing)?;
        if let Some(rest) = self.prefix.get_mut(self.came..) {
            rest[..missing].copy_from_slice(seen);
        }
        self.came += data;
        Some(padded + missing)
    }

    /// Whether the reply has exactly one complete message. It may be compressed only if the client accepts
    /// that.
    pub fn is_whole(&self, may_be_compressed: bool) -> bool {
        let [compressed, length @ ..] = self.prefix;
        compressed <= may_be_compressed.into() && self.came == PREFIX + u32::from_be_bytes(length) as usize
    }
}

/// Return the name of a status as it appears in results.
pub fn status_name(code: u16) -> &'static str {
    NAMES.get(usize::from(code)).unwrap_or(&NAMES[usize::from(UNKNOWN)])
}

/// Return the outcome of a status.
pub fn status_outcome(code: u16) -> Outcome {
    match code {
        OK => Outcome::Hit,
        NOT_FOUND => Outcome::Miss,
        _ => Outcome::Error,
    }
}

/// Return the status for an HTTP reply without a gRPC status (grpc.io, http-grpc-status-mapping).
pub fn status_from_http(status: u16) -> u16 {
    match status {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502 | 503 | 504 => 14,
        _ => UNKNOWN,
    }
}

/// Return the name of the status in a trailers frame, or what is wrong with the reply that the frame ends.
pub fn error_text(head: &[u8]) -> &'static [u8] {
    let trailers = (head.len() >= HEAD).then(|| Frame::parse(head)).filter(|one| one.kind == frames::HEADERS);
    let fields = trailers.and_then(|frame| frame.fields(&head[HEAD..]));
    match fields.and_then(|fields| hpack::parse_statuses(fields).ok()).and_then(|found| found.grpc) {
        None => "a reply without grpc-status",
        Some(OK) => "OK with an incomplete or compressed message, or not exactly one",
        Some(code) => status_name(code),
    }
    .as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_is_a_hit_not_found_a_miss_and_others_are_errors() {
        let describe = |code| (status_name(code), status_outcome(code));
        assert_eq!(describe(0), ("OK", Outcome::Hit));
        assert_eq!(describe(5), ("NOT_FOUND", Outcome::Miss));
        assert_eq!(describe(14), ("UNAVAILABLE", Outcome::Error));
        assert_eq!(describe(99), ("UNKNOWN", Outcome::Error));
        assert_eq!(describe(status_from_http(503)), ("UNAVAILABLE", Outcome::Error));
        assert_eq!(
            describe(status_from_http(200)),
            ("UNKNOWN", Outcome::Error),
            "a web page is no reply to a call"
        );
    }
}
