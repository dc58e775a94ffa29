//! The embedded server's requests: parsing and answering, as one connection does them.
//!
//! The replies do not depend on how a stream was split; and they are valid: our own codec and a line reader agree
//! on where they end.

use hindmost_synth::fuzzing::converse;
use hindmost_synth::Protocol;

use super::pieces;

/// memcached's text protocol.
pub fn memcached(bytes: &[u8]) {
    let talk = |pieces: Vec<&[u8]>| timeless(&converse(Protocol::Memcached, pieces));
    let whole = talk(vec![bytes]);
    for pieces in pieces::ways(bytes) {
        assert_eq!(talk(pieces), whole);
    }
    let closed: &[u8] = b"<closed>";
    let replies = whole.strip_suffix(closed).unwrap_or(&whole);
    assert!(replies.is_empty() || replies.ends_with(b"\r\n"));
}

/// HTTP/1.1.
pub fn http(bytes: &[u8]) {
    let talk = |pieces: Vec<&[u8]>| converse(Protocol::Http, pieces);
    let whole = talk(vec![bytes]);
    for pieces in pieces::ways(bytes) {
        assert_eq!(talk(pieces), whole);
    }
    let mut rest = whole.strip_suffix(b"<closed>").unwrap_or(&whole);
    while !rest.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut reply = httparse::Response::new(&mut headers);
        let head = reply.parse(rest).expect("every reply is HTTP").unwrap();
        rest = &rest[head..];
        // A reply to HEAD has no body.
        rest = rest.strip_prefix(b"ok").unwrap_or(rest);
    }
}

/// Return `replies` without the line of `stats` that contains the time.
fn timeless(replies: &[u8]) -> Vec<u8> {
    let lines = replies.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !line.starts_with(b"STAT time ")).flatten().copied().collect()
}
