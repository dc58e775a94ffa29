//! The embedded server's requests: framing and answering, as one connection does them.
//!
//! However a stream was cut, it gets the same replies; and they are replies: our own codec and a line
//! reader agree that they end where they should.

use hindmost_synth::fuzzing::converse;

use crate::pieces;

/// memcached's text protocol.
pub fn memcached(bytes: &[u8]) {
    let whole = timeless(&converse([bytes]));
    for pieces in pieces::ways(bytes) {
        assert_eq!(timeless(&converse(pieces)), whole);
    }
    let closed: &[u8] = b"<closed>";
    let replies = whole.strip_suffix(closed).unwrap_or(&whole);
    assert!(replies.is_empty() || replies.ends_with(b"\r\n"));
}

/// `replies` without the line of `stats` that tells the time.
fn timeless(replies: &[u8]) -> Vec<u8> {
    let lines = replies.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !line.starts_with(b"STAT time ")).flatten().copied().collect()
}
