//! What became of a call of gRPC: its status, which stands in the trailers (grpc.io, PROTOCOL-HTTP2).

use super::frames::{Frame, HEAD};
use super::hpack;
use crate::protocol::Outcome;

/// Names of statuses, in the order of their numbers.
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
const OK: u16 = 0;
const UNKNOWN: u16 = 2;
const NOT_FOUND: u16 = 5;

/// What results call a status.
pub fn status_name(code: u16) -> &'static str {
    NAMES.get(usize::from(code)).unwrap_or(&NAMES[usize::from(UNKNOWN)])
}

/// What it means.
pub fn status_outcome(code: u16) -> Outcome {
    match code {
        OK => Outcome::Hit,
        NOT_FOUND => Outcome::Miss,
        _ => Outcome::Error,
    }
}

/// That of a reply that has none, since whatever answered speaks no gRPC (grpc.io, http-grpc-status-mapping).
pub fn of_http(status: u16) -> u16 {
    match status {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502 | 503 | 504 => 14,
        _ => UNKNOWN,
    }
}

/// The name of the status in a frame of trailers.
pub fn complaint(head: &[u8]) -> &'static [u8] {
    let fields = (head.len() >= HEAD).then(|| Frame::of(head).fields(&head[HEAD..])).flatten();
    let found = fields.and_then(|fields| hpack::look(fields).ok()).and_then(|found| found.grpc);
    found.map_or("a reply without grpc-status", status_name).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ok_is_a_success_and_what_is_not_there_is_a_miss() {
        let of = |code| (status_name(code), status_outcome(code));
        assert_eq!(of(0), ("OK", Outcome::Hit));
        assert_eq!(of(5), ("NOT_FOUND", Outcome::Miss));
        assert_eq!(of(14), ("UNAVAILABLE", Outcome::Error));
        assert_eq!(of(99), ("UNKNOWN", Outcome::Error));
        assert_eq!(of(of_http(503)), ("UNAVAILABLE", Outcome::Error));
        assert_eq!(of(of_http(200)), ("UNKNOWN", Outcome::Error), "a page is no reply to a call");
    }
}
