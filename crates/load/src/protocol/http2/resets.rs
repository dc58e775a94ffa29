//! Errors with which a server resets a stream (RFC 9113, 7).

use super::frames;

/// Error texts in the order of the error numbers.
const WORDS: [&str; 14] = [
    "RST_STREAM: NO_ERROR",
    "RST_STREAM: PROTOCOL_ERROR",
    "RST_STREAM: INTERNAL_ERROR",
    "RST_STREAM: FLOW_CONTROL_ERROR",
    "RST_STREAM: SETTINGS_TIMEOUT",
    "RST_STREAM: STREAM_CLOSED",
    "RST_STREAM: FRAME_SIZE_ERROR",
    "RST_STREAM: REFUSED_STREAM",
    "RST_STREAM: CANCEL",
    "RST_STREAM: COMPRESSION_ERROR",
    "RST_STREAM: CONNECT_ERROR",
    "RST_STREAM: ENHANCE_YOUR_CALM",
    "RST_STREAM: INADEQUATE_SECURITY",
    "RST_STREAM: HTTP_1_1_REQUIRED",
];
const UNKNOWN: &str = "RST_STREAM";

/// Return the text for a stream reset with that error.
pub fn error_text(error: u32) -> &'static str {
    WORDS.get(error as usize).unwrap_or(&UNKNOWN)
}

/// Return the code under which such requests are counted: 1 and up, which HTTP does not use as a status.
pub fn code(error: u32) -> u16 {
    1 + WORDS.len().min(error as usize) as u16
}

/// Return the name of that code in results, or `None` for an HTTP status.
pub fn reset_name(code: u16) -> Option<&'static str> {
    let error = code.checked_sub(1).filter(|&error| usize::from(error) <= WORDS.len())?;
    Some(error_text(error.into()).trim_start_matches("RST_STREAM: "))
}

/// Return the gRPC status of a call whose stream is reset with that error (grpc.io, PROTOCOL-HTTP2,
/// "Errors").
pub fn grpc_status(error: u32) -> u16 {
    match error {
        frames::REFUSED_STREAM => 14, // UNAVAILABLE
        8 => 1,                       // CANCEL, CANCELLED
        11 => 8,                      // ENHANCE_YOUR_CALM, RESOURCE_EXHAUSTED
        12 => 7,                      // INADEQUATE_SECURITY, PERMISSION_DENIED
        _ => 13,                      // INTERNAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_errors_have_distinct_codes_outside_http_and_unknown_errors_share_one() {
        let named = [0, 7, 13, 14, u32::MAX].map(|error| (code(error), reset_name(code(error)).unwrap()));
        let expected = [
            (1, "NO_ERROR"),
            (8, "REFUSED_STREAM"),
            (14, "HTTP_1_1_REQUIRED"),
            (15, "RST_STREAM"),
            (15, "RST_STREAM"),
        ];
        assert_eq!(named, expected);
        assert_eq!([0, 16, 100, 200].map(reset_name), [None; 4]);
    }
}
