use proptest::prelude::*;

use super::parse::{MAX_BODY, MAX_HEAD};
use crate::protocol::converse;
use crate::Protocol;

const OK: &str = "HTTP/1.1 200 OK|Content-Type: text/plain|Content-Length: 2||ok";

fn replies<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
    String::from_utf8(converse(Protocol::Http, chunks)).unwrap().replace("\r\n", "|")
}

fn check(input: &str, expected: &str) {
    let input = input.replace('|', "\r\n");
    assert_eq!(replies([input.as_bytes()]), expected, "{input:?}");
}

fn error_reply(status: &str) -> String {
    format!("HTTP/1.1 {status}|Content-Type: text/plain|Content-Length: 2|Connection: close||ok<closed>")
}

#[test]
fn every_path_exists() {
    check("GET / HTTP/1.1|Host: x||", OK);
    check("GET /a/b?c HTTP/1.1|Host: x||GET /d HTTP/1.1|Host: x||", &format!("{OK}{OK}"));
    check("HEAD / HTTP/1.1|Host: x||", OK.strip_suffix("ok").unwrap());
    check("POST / HTTP/1.1|Content-Length: 6||12|45GET / HTTP/1.1||", &format!("{OK}{OK}"));
    check("|GET / HTTP/1.1||", OK);
}

#[test]
fn the_connection_closes_when_the_client_asks_for_it() {
    let last = "HTTP/1.1 200 OK|Content-Type: text/plain|Content-Length: 2|Connection: close||ok<closed>";
    check("GET / HTTP/1.1|connection: Close||GET / HTTP/1.1||", last);
    check("GET / HTTP/1.0||", last);
}

#[test]
fn invalid_requests_are_refused() {
    check("nonsense||", &error_reply("400 Bad Request"));
    check("GET / HTTP/2.0||", &error_reply("505 HTTP Version Not Supported"));
    check("GET / HTTP/1.1|Content-Length: -1||", &error_reply("400 Bad Request"));
    check("GET / HTTP/1.1|Content-Length: 1|Content-Length: 2||", &error_reply("400 Bad Request"));
    check("POST / HTTP/1.1|Transfer-Encoding: chunked||", &error_reply("501 Not Implemented"));
    let long = format!("POST / HTTP/1.1|Content-Length: {}||", MAX_BODY + 1);
    check(&long, &error_reply("413 Content Too Large"));
    check("POST / HTTP/1.1|Content-Length: 99999999999999999999999||", &error_reply("413 Content Too Large"));
    let endless = format!("GET /{}", "x".repeat(MAX_HEAD));
    check(&endless, &error_reply("431 Request Header Fields Too Large"));
    let many = format!("GET / HTTP/1.1|{}|", "a: b|".repeat(101));
    check(&many, &error_reply("431 Request Header Fields Too Large"));
    let other = "HTTP/1.1 405 Method Not Allowed|Allow: GET, HEAD, POST, PUT|Content-Type: text/plain|Content-Length: 2||ok";
    check("BREW / HTTP/1.1||GET / HTTP/1.1||", &format!("{other}{OK}"));
}

proptest! {
    #[test]
    fn replies_do_not_depend_on_how_a_stream_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "GET / HTTP/1.1\r\n", "Host: x\r\n", "\r\n", "\n", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
            "123456789", "\0", "GET ", "/ HTTP/1.1\r\n\r\n", "Connection: close\r\n",
        ]), 0..12),
        cuts in prop::collection::vec(0_usize..200, 0..6),
    ) {
        let stream = parts.concat().into_bytes();
        let whole = replies([stream.as_slice()]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]);
        prop_assert_eq!(replies(pieces), whole);
    }
}
