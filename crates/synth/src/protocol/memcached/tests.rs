use proptest::prelude::*;

use super::parse::MAX_LINE;
use crate::protocol::converse as talk;
use crate::protocol::Pipeline;
use crate::Protocol;

fn converse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    talk(Protocol::Memcached, chunks)
}

fn check(input: &str, expected: &str) {
    let input = input.replace('|', "\r\n");
    let reply = String::from_utf8(converse([input.as_bytes()])).unwrap();
    assert_eq!(reply.replace("\r\n", "|"), expected, "{input:?}");
}

#[test]
fn requests_get_the_replies_of_the_protocol() {
    for (input, expected) in [
        ("set a 5 0 3|abc|get a|", "STORED|VALUE a 5 3|abc|END|"),
        ("get a|", "END|"),
        ("set a 0 0 1|x|set b 0 0 1|y|get a nope b|", "STORED|STORED|VALUE a 0 1|x|VALUE b 0 1|y|END|"),
        ("set a 0 0 1|x|gets a|", "STORED|VALUE a 0 1 1|x|END|"),
        ("set a 0 0 1 noreply|x|get a|", "VALUE a 0 1|x|END|"),
        ("set a 0 0 0||get a|", "STORED|VALUE a 0 0||END|"),
        ("set a 0 0 4|a|b|get a|", "STORED|VALUE a 0 4|a|b|END|"),
        ("add a 0 0 1|x|add a 0 0 1|y|get a|", "STORED|NOT_STORED|VALUE a 0 1|x|END|"),
        ("replace a 0 0 1|x|", "NOT_STORED|"),
        ("delete a|set a 0 0 1|x|delete a|", "NOT_FOUND|STORED|DELETED|"),
        ("set a 0 0 1|x|flush_all|get a|", "STORED|OK|END|"),
        ("set a 0 -1 1|x|get a|", "STORED|END|"),
        ("quit|version|", "<closed>"),
        ("GET a|frobnicate|get|||", "ERROR|ERROR|ERROR|ERROR|ERROR|"),
        (
            "set a 0 0|set a 0 0 x|set a 0 0 -1|",
            "ERROR|CLIENT_ERROR bad command line format|CLIENT_ERROR bad command line format|",
        ),
        (
            "set a 0 0 3|abcd|version|",
            concat!(
                "CLIENT_ERROR bad data chunk|ERROR|VERSION ",
                env!("CARGO_PKG_VERSION"),
                "-hindmost-synth|"
            ),
        ),
        ("delete a 1|", "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]|"),
        ("flush_all x|", "CLIENT_ERROR invalid exptime argument|"),
    ] {
        check(input, expected);
    }
}

#[test]
fn too_long_keys_are_refused() {
    let (good, bad) = ("k".repeat(250), "k".repeat(251));
    check(&format!("set {good} 0 0 1|x|delete {good}|"), "STORED|DELETED|");
    check(&format!("get a {bad} b|"), "CLIENT_ERROR bad command line format|");
    check(&format!("set {bad} 0 0 1|"), "CLIENT_ERROR bad command line format|");
}

#[test]
fn an_oversize_value_is_skipped_and_the_old_one_dropped() {
    let value = "v".repeat((1 << 20) + 1);
    let request = format!("set a 0 0 1|x|set a 0 0 {}|{value}|get a|", value.len());
    check(&request, "STORED|SERVER_ERROR object too large for cache|END|");
    let greatest = &value[1..];
    check(
        &format!("set a 0 0 {}|{greatest}|get a|", 1 << 20),
        &format!("STORED|VALUE a 0 {}|{greatest}|END|", 1 << 20),
    );
}

#[test]
fn a_full_store_reports_out_of_memory() {
    let value = "v".repeat(1 << 20);
    let set = |key: &str| format!("set {key} 0 0 {}|{value}|", value.len());
    let sets = ["a", "b", "c", "d", "a"].map(set).concat();
    check(&sets, "STORED|STORED|STORED|SERVER_ERROR out of memory storing object|STORED|");
}

#[test]
fn too_long_replies_are_refused() {
    let value = "v".repeat(1 << 20);
    let input = format!("set a 0 0 {}|{value}|get{}|get b|", value.len(), " a".repeat(9));
    check(&input, "STORED|SERVER_ERROR out of memory writing get response|END|");
}

#[test]
fn the_line_limit_does_not_depend_on_chunks() {
    let long = vec![b'x'; MAX_LINE + 10];
    let reply = b"CLIENT_ERROR line too long\r\n<closed>";
    assert_eq!(converse([&long[..]]), reply);
    assert_eq!(converse(long.chunks(1000)), reply);
    let mut fits = vec![b'x'; MAX_LINE - 1];
    fits.push(b'\n');
    assert_eq!(converse([&fits[..]]), b"ERROR\r\n");
    let mut late = fits.clone();
    late.insert(0, b'x');
    assert_eq!(converse([&late[..]]), reply);
}

/// Generate streams of requests with some garbage between them.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let key = prop_oneof![Just("a".to_owned()), Just("b".to_owned()), "[a-z]{1,8}", Just("k".repeat(251))];
    let end = prop_oneof![9 => Just("\r\n"), 1 => Just("\n")];
    let noreply = prop_oneof![3 => Just(""), 1 => Just(" noreply")];
    let verb = prop_oneof![Just("set"), Just("add"), Just("replace")];
    let store = (
        verb,
        key.clone(),
        prop::collection::vec(any::<u8>(), 0..40),
        -2_i64..3,
        noreply.clone(),
        end.clone(),
    )
        .prop_map(|(verb, key, value, lie, noreply, end)| {
            let length = value.len() as i64 + if lie.abs() == 2 { lie } else { 0 };
            let mut bytes = format!("{verb} {key} 7 0 {length}{noreply}{end}").into_bytes();
            bytes.extend_from_slice(&value);
            bytes.extend_from_slice(b"\r\n");
            bytes
        });
    let large = (1_048_570_usize..1_048_590).prop_map(|length| {
        let mut bytes = format!("set a 0 0 {length}\r\n").into_bytes();
        bytes.resize(bytes.len() + length, b'v');
        bytes.extend_from_slice(b"\r\n");
        bytes
    });
    let get = (prop::collection::vec(key.clone(), 0..5), end.clone())
        .prop_map(|(keys, end)| format!("get {}{end}", keys.join(" ")).into_bytes());
    let delete = (key, noreply, end)
        .prop_map(|(key, noreply, end)| format!("delete {key}{noreply}{end}").into_bytes());
    let fixed = prop_oneof![Just("version\r\n"), Just("flush_all\r\n"), Just("\r\n"), Just("quit\r\n")];
    let garbage = prop::collection::vec(any::<u8>(), 0..60);
    let piece = prop_oneof![
        200 => store,
        200 => get,
        100 => delete,
        20 => fixed.prop_map(|text| text.as_bytes().to_vec()),
        50 => garbage,
        2 => large,
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn chunking_does_not_change_replies(stream in streams(), cuts in prop::collection::vec(1_usize..200, 1..50)) {
        let whole = converse([&stream[..]]);
        let mut rest = &stream[..];
        let mut sizes = cuts.iter().cycle();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            // Small pieces for small requests, large ones if a value makes the stream long.
            let size = sizes.next().unwrap() * if stream.len() > 100_000 { 997 } else { 1 };
            let (chunk, more) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = more;
        }
        prop_assert_eq!(converse(chunks), whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20)) {
        converse(chunks.iter().map(Vec::as_slice));
    }

    #[test]
    fn waiting_requests_are_bounded(stream in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a')], 1..64)) {
        // No request is served: the pipeline must soon refuse more bytes.
        let mut pipeline = Pipeline::new(Protocol::Memcached);
        let mut taken = 0;
        while let Some(space) = pipeline.space() {
            for (place, byte) in space.iter_mut().zip(stream.iter().cycle()) {
                *place = *byte;
            }
            let filled = space.len();
            pipeline.fill(filled);
            taken += filled;
            while pipeline.advance().is_some() {}
            prop_assert!(taken <= 1 << 20);
        }
        prop_assert!(pipeline.waiting() <= 16 << 10);
    }
}
