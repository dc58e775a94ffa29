//! The probes' parser, compiled for this machine: requests end at the same places however reads split them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use proptest::prelude::*;

/// Return the path of the parser, built once.
fn parser() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("framing");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/framing.c");
        let flags = ["-std=gnu11", "-O1", "-Wall", "-Werror"];
        let built = Command::new("cc").args(flags).arg(source).arg("-o").arg(&program).status();
        assert!(built.expect("cc is installed").success());
        program
    })
}

const MEMCACHED: &[&str] = &["1"];
const HTTP: &[&str] = &["2"];
const REDIS: &[&str] = &["3"];

/// Parse a stream that is read in pieces of these lengths, repeated.
fn parse(protocol: &[&str], stream: &[u8], cuts: &[usize]) -> String {
    let mut input = Vec::new();
    let mut rest = stream;
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((*cuts.next().unwrap()).clamp(1, rest.len()));
        input.extend((piece.len() as u32).to_ne_bytes());
        input.extend(piece);
        rest = after;
    }
    let mut child =
        Command::new(parser()).args(protocol).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&input).ok(); // after losing sync, the parser reads no more
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Check the parser's output for each request, with many ways of splitting reads.
fn check(protocol: &[&str], requests: &[(&str, &str)]) {
    let stream: String = requests.iter().map(|(bytes, _)| *bytes).collect();
    let mut end = 0;
    let mut expected = String::new();
    for (bytes, line) in requests {
        end += bytes.len();
        if !line.is_empty() {
            writeln!(expected, "{end} {line}").unwrap();
        }
    }
    for cuts in [&[1][..], &[2], &[3, 1], &[7], &[9, 30, 1], &[8], &[16, 5], &[100_000]] {
        assert_eq!(parse(protocol, stream.as_bytes(), cuts), expected, "read in {cuts:?}");
    }
}

#[test]
fn memcached_commands_end_with_their_line_or_their_block() {
    check(
        MEMCACHED,
        &[
            ("get some-key\r\n", "1"),
            ("gets a b c\r\n", "1"),
            ("set k 0 0 5\r\nhello\r\n", "2"),
            ("set get 4 8 13\r\nget fake\r\nx\r\n\r\n", "2"),
            ("cas k 1 2 3 99 noreply\r\nabc\r\n", "2 silent"),
            ("append k 0 0 0\r\n\r\n", "2"),
            ("prepend key-of-more-than-eight 0 0 12 noreply\r\nhello, world\r\n", "2 silent"),
            ("ms k 5 T0\r\nhello\r\n", "2"),
            ("mg k v\r\n", "1"),
            ("mn\r\n", "0"),
            ("delete k noreply\r\n", "3 silent"),
            ("delete noreplykey\r\n", "3"),
            ("incr k 5\r\n", "0"),
            ("version\r\n", "0"),
            ("stats\r\n", "0"),
            ("get x\n", "1"),
        ],
    );
}

#[test]
fn http_requests_end_with_their_head_or_their_body() {
    check(
        HTTP,
        &[
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "1"),
            ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nGET / 1\r\n\r\n", "2"),
            ("PUT /x HTTP/1.1\r\nCONTENT-LENGTH:3\r\ncontent-type: text/plain; charset=9\r\n\r\nabc", "5"),
            ("HEAD / HTTP/1.0\n\n", "4"),
            ("DELETE /x HTTP/1.1\r\nContent-Language: 77\r\n\r\n", "3"),
            (
                "POST /c HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nab\r\n\r\n1A;name=3\r\n\
                 abcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: 5\r\n\r\n",
                "2",
            ),
            ("POST /both HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "2"),
            ("\r\nOPTIONS * HTTP/1.1\r\nTransfer-Coding: 3\r\n\r\n", "0"),
            ("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "2"),
        ],
    );
}

#[test]
fn redis_commands_end_with_their_last_element() {
    check(
        REDIS,
        &[
            ("*2\r\n$3\r\nGET\r\n$13\r\nkey\r\n*1\r\n$4\r\n\r\n", "1"),
            ("*3\r\n$3\r\nset\r\n$1\r\nk\r\n$0\r\n\r\n", "2"),
            ("*1\r\n$4\r\nPING\r\n", "0"),
            ("*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n", "3"),
            ("*2\r\n$4\r\nGETX\r\n$1\r\nk\r\n", "0"),
            ("PING\r\n", "0"),
            ("*1\r\n$2\r\nxy\r\n", "0"),
        ],
    );
}

#[test]
fn messages_end_where_their_length_field_says() {
    let message = |field: &[u8], before: usize, rest: usize| {
        let mut bytes = vec![0xff; before];
        bytes.extend(field);
        bytes.extend(vec![0x0a; rest]);
        bytes
    };
    let big =
        [message(&[0, 0, 1, 4], 1, 256), message(&[0, 0, 0, 4], 1, 0), message(&[0, 0, 0, 9], 1, 5)].concat();
    for cuts in [&[1][..], &[3], &[1000]] {
        // PostgreSQL: the length includes its own four bytes.
        assert_eq!(parse(&["4", "1", "4", "0", "-4"], &big, cuts), "261 0\n266 0\n276 0\n");
    }
    let little = [message(&[2, 0], 0, 2), message(&[0, 1], 0, 256)].concat();
    assert_eq!(parse(&["4", "0", "2", "1", "0"], &little, &[5]), "4 0\n262 0\n");
    assert_eq!(
        parse(&["4", "0", "2", "1", "-9"], &little, &[5]),
        "lost\n",
        "a message cannot have a negative length"
    );
}

#[test]
fn bytes_of_another_protocol_are_detected() {
    for (protocol, bytes) in [
        (MEMCACHED, &b"\x80\x00\x00\x01\x00"[..]),
        (MEMCACHED, b"*1\r\n$4\r\n"),
        (HTTP, b"\x16\x03\x01\x02\x00"),
        (HTTP, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x12\x04"),
        (REDIS, b"*1\r\nPING\r\n"),
    ] {
        assert!(parse(protocol, bytes, &[100]).ends_with("lost\n"), "{bytes:?}");
    }
}

fn memcached_requests() -> impl Strategy<Value = (Vec<u8>, &'static str)> {
    let key = "[a-z0-9]{1,40}";
    let block = prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        key.prop_map(|key| (format!("get {key}\r\n").into_bytes(), "1")),
        (key, block, any::<bool>()).prop_map(|(key, block, silent)| {
            let noreply = if silent { " noreply" } else { "" };
            let mut bytes = format!("set {key} 0 0 {}{noreply}\r\n", block.len()).into_bytes();
            bytes.extend(block);
            bytes.extend(b"\r\n");
            (bytes, if silent { "2 silent" } else { "2" })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests_end_at_the_same_place_for_any_content_and_pieces(
        requests in prop::collection::vec(memcached_requests(), 1..30),
        cuts in prop::collection::vec(1usize..200, 1..20),
    ) {
        let stream: Vec<u8> = requests.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let mut end = 0;
        let mut expected = String::new();
        for (bytes, line) in &requests {
            end += bytes.len();
            writeln!(expected, "{end} {line}").unwrap();
        }
        prop_assert_eq!(parse(MEMCACHED, &stream, &cuts), expected);
    }

    #[test]
    fn any_bytes_are_parsed_alike_in_any_pieces(
        stream in prop::collection::vec(any::<u8>(), 0..400),
        cuts in prop::collection::vec(1usize..50, 1..5),
        protocol in prop::sample::select(vec!["1", "2", "3"]),
    ) {
        let whole = parse(&[protocol], &stream, &[1_000]);
        prop_assert_eq!(parse(&[protocol], &stream, &cuts), whole, "the output does not depend on the pieces");
    }
}
