use serde_json::{json, Value};

use super::super::tests::plan;
use super::super::{Reader, Reply};
use super::*;

fn codec(workload: Value) -> Http2 {
    let mut plan = plan("http2");
    plan.workload = serde_json::from_value(workload).unwrap();
    Http2::new(&plan)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::write(kind, flags, stream, payload, &mut out);
    out
}

/// Return a connection with this many pending requests.
fn session_with_requests<P: Protocol<Session = Session>>(codec: &P, requests: u32) -> Session {
    let (mut session, mut out) = (codec.session(), Vec::new());
    codec.begin(&mut session, &mut out);
    for tag in 0..requests {
        codec.write(&mut session, Request { kind: Kind::GET, item: 0, value_bytes: 0 }, tag, &mut out);
    }
    session
}

/// Return tags, outcomes and status codes of the replies in `pieces`.
fn replies<P: Protocol<Session = Session>>(
    codec: &P,
    requests: u32,
    pieces: &[&[u8]],
) -> Result<Vec<(u32, Outcome, u16)>, Garbage> {
    Ok(cut_up(codec, requests, pieces)?.into_iter().map(|one| (one.tag, one.outcome, one.code)).collect())
}

fn cut_up<P: Protocol<Session = Session>>(
    codec: &P,
    requests: u32,
    pieces: &[&[u8]],
) -> Result<Vec<Reply>, Garbage> {
    let (mut reader, mut session, mut found) =
        (Reader::new::<P>(), session_with_requests(codec, requests), Vec::new());
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let Some(reply) = reader.next(codec, &mut session, Kind::GET, rest, |_| ())? else { break };
            rest = &rest[reply.taken..];
            found.push(reply);
        }
    }
    Ok(found)
}

#[test]
fn a_request_is_a_frame_of_fields_and_frames_of_its_body() {
    let body = "b".repeat(MAX_PAYLOAD + 10);
    let codec = codec(json!({"kind": "http", "host": "a.b", "requests": [
        {"method": "POST", "path": "/o", "headers": {"X-Y": "z", "Connection": "close"}, "body": body},
    ]}));
    let (mut session, mut out) = (codec.session(), Vec::new());
    session.begin();
    codec.write(&mut session, Request { kind: Kind::GET, item: 0, value_bytes: 0 }, 3, &mut out);
    let head = Frame::parse(&out);
    assert_eq!((head.kind, head.flags, head.stream), (frames::HEADERS, frames::END_HEADERS, 7));
    let agent = concat!("hindmost/", env!("CARGO_PKG_VERSION"));
    let fields = [
        &b"\x02\x04POST\x06\x04http\x01\x03a.b\x04\x02/o\x0f\x2b"[..],
        &[agent.len() as u8],
        agent.as_bytes(),
        b"\x0f\x04\x03*/*\x00\x03x-y\x01z\x0f\x0d\x0516394",
    ]
    .concat();
    assert_eq!(out[HEAD..HEAD + head.length], fields);
    let rest = &out[HEAD + head.length..];
    let first = Frame { length: MAX_PAYLOAD, kind: frames::DATA, flags: 0, stream: 7 };
    assert_eq!(Frame::parse(rest), first);
    let last = Frame { length: 10, kind: frames::DATA, flags: frames::END_STREAM, stream: 7 };
    assert_eq!(Frame::parse(&rest[HEAD + MAX_PAYLOAD..]), last);
    assert_eq!(rest.len(), 2 * HEAD + MAX_PAYLOAD + 10);
    assert!(rest[HEAD..HEAD + MAX_PAYLOAD]
        .iter()
        .chain(&rest[2 * HEAD + MAX_PAYLOAD..])
        .all(|&byte| byte == b'b'));
    assert!(
        out.len() <= codec.largest() && codec.largest() < out.len() + 40,
        "{} {}",
        out.len(),
        codec.largest()
    );
}

#[test]
fn variable_values_have_their_own_length() {
    let codec = codec(
        json!({"kind": "http", "requests": [{"path": "/{{sequence:95}}", "body": "{{sequence:95}}", "method": "PUT"}]}),
    );
    for (item, path, body) in [(3, "/98", 2), (7, "/102", 3)] {
        let mut out = Vec::new();
        let mut session = session_with_requests(&codec, 0);
        codec.write(&mut session, Request { kind: Kind::GET, item, value_bytes: 0 }, 0, &mut out);
        let length = Frame::parse(&out).length;
        let (head, data) = out.split_at(HEAD + length);
        let field = [&[4, path.len() as u8], path.as_bytes()].concat();
        assert!(head.windows(field.len()).any(|some| some == field), "{head:?}");
        assert_eq!((Frame::parse(data).length, &data[HEAD..]), (body, &path.as_bytes()[1..]));
    }
}

#[test]
fn replies_are_recognised_in_any_order_however_they_are_split() {
    let codec = codec(json!({"kind": "http", "paths": ["/"]}));
    let stream = [
        frame(frames::HEADERS, frames::END_HEADERS, 5, b"\x88"),
        frame(frames::PING, 0, 0, b"12345678"),
        frame(frames::HEADERS, frames::END_HEADERS, 1, b"\x08\x03103"),
        frame(frames::DATA, 0, 5, b"abc"),
        frame(frames::HEADERS, frames::END_HEADERS | frames::END_STREAM, 3, b"\x8d"),
        frame(frames::HEADERS, 0, 1, b"\x20"),
        frame(frames::CONTINUATION, frames::END_HEADERS, 1, b"\x8e"),
        frame(frames::DATA, frames::END_STREAM, 1, b""),
        frame(frames::RST_STREAM, 0, 7, b"\0\0\0\x08"),
        frame(frames::DATA, 0, 5, b"def"),
        frame(frames::HEADERS, frames::END_HEADERS | frames::END_STREAM, 5, b"\x00\x01x\x01y"),
        frame(0xfa, 0, 0, b"whatever"),
    ]
    .concat();
    let expected = vec![
        (1, Outcome::Miss, 404),
        (0, Outcome::Error, 500),
        (3, Outcome::Error, 9),
        (2, Outcome::Hit, 200),
    ];
    assert_eq!(replies(&codec, 4, &[&stream]), Ok(expected.clone()));
    assert_eq!(replies(&codec, 4, &stream.chunks(1).collect::<Vec<_>>()), Ok(expected.clone()));
    for cut in 0..stream.len() {
        assert_eq!(replies(&codec, 4, &[&stream[..cut], &stream[cut..]]), Ok(expected.clone()), "{cut}");
    }
}

/// Return the results of resets of streams without a reply, with a partial reply, and without a request.
fn resets<P: Protocol<Session = Session>>(codec: &P) -> Vec<(u32, u16, bool)> {
    let reset = |stream, error: u32| frame(frames::RST_STREAM, 0, stream, &error.to_be_bytes());
    let stream = [
        reset(3, frames::REFUSED_STREAM),
        reset(5, 8),
        frame(frames::HEADERS, frames::END_HEADERS, 1, b"\x88"),
        reset(1, frames::REFUSED_STREAM),
        reset(1, frames::REFUSED_STREAM),
        reset(7, 0),
    ]
    .concat();
    let results = |pieces: &[&[u8]]| -> Vec<_> {
        let found = cut_up(codec, 4, pieces).unwrap();
        assert!(found.iter().all(|one| one.outcome == Outcome::Error), "{found:?}");
        found.iter().map(|one| (one.tag, one.code, one.refused)).collect()
    };
    let whole = results(&[&stream]);
    assert_eq!(results(&stream.chunks(1).collect::<Vec<_>>()), whole);
    whole
}

#[test]
fn a_refused_stream_differs_from_a_reset_or_partially_answered_one() {
    let http = codec(json!({"kind": "http"}));
    assert_eq!(resets(&http), [(1, 8, true), (2, 9, false), (0, 8, false), (3, 1, false)]);
    let text =
        |error: u32| Http2::error_text(&frame(frames::RST_STREAM, 0, 1, &error.to_be_bytes())).to_vec();
    let text = |error| String::from_utf8(text(error)).unwrap();
    assert_eq!([7, 8].map(text), ["RST_STREAM: REFUSED_STREAM", "RST_STREAM: CANCEL"]);
    // UNAVAILABLE, CANCELLED, INTERNAL: none of them is OK, whose number is 0.
    assert_eq!(resets(&grpc()), [(1, 14, true), (2, 1, false), (0, 14, false), (3, 13, false)]);
}

#[test]
fn nonsense_is_refused() {
    let codec = codec(json!({"kind": "http"}));
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n"[..],
        &frame(frames::PUSH_PROMISE, 0, 1, b"\0\0\0\x02"),
        &frame(frames::CONTINUATION, 4, 1, b"\x88"),
        &frame(frames::HEADERS, 4, 1, b"\xff\xff\xff\xff\xff\xff"),
        &[frame(frames::HEADERS, 0, 1, b"\x88"), frame(frames::DATA, 0, 1, b"")].concat(),
        &[frame(frames::HEADERS, 0, 1, b""), frame(frames::CONTINUATION, 4, 3, b"\x88")].concat(),
    ] {
        assert!(replies(&codec, 1, &[bytes]).is_err(), "{bytes:?}");
    }
    let mut session = codec.session();
    let refused = codec.opening(&mut session, b"HTTP/1.1 400 Bad Request\r\n", &mut Vec::new());
    assert!(
        matches!(&refused, Err(Refusal::Protocol(answer)) if answer.contains("\"HTTP/1.1 400 Bad Request\"")),
        "{refused:?}"
    );
}

#[test]
fn the_servers_settings_complete_the_opening_and_limit_the_streams() {
    let codec = codec(json!({"kind": "http"}));
    let (mut session, mut out) = (codec.session(), Vec::with_capacity(500));
    assert!(!codec.begin(&mut session, &mut out));
    assert!(
        out.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0\0\x01\0\0\0\0\0\x02"),
        "{out:?}"
    );
    let answer = [
        frame(frames::SETTINGS, 0, 0, b"\0\x03\0\0\0\x05\0\x04\0\0\0\x64"),
        frame(frames::WINDOW_UPDATE, 0, 0, b"\0\0\0\x01"),
        frame(frames::SETTINGS, frames::ACK, 0, b""),
    ]
    .concat();
    out.clear();
    for cut in 0..21 {
        assert_eq!(codec.opening(&mut session, &answer[..cut], &mut out), Ok(Opening::More), "{cut}");
    }
    assert_eq!(codec.opening(&mut session, &answer, &mut out), Ok(Opening::Done(21 + 13)));
    assert_eq!((&out[..], codec.in_flight(&session)), (&b"\0\0\0\x04\x01\0\0\0\0"[..], 5));
}

#[test]
fn a_body_waits_while_the_servers_windows_are_full() {
    let body = "b".repeat(100);
    let codec = codec(json!({"kind": "http", "requests": [{"method": "POST", "body": body}]}));
    let (mut session, mut out) = (codec.session(), Vec::with_capacity(1_000));
    session.apply_settings(b"\0\x04\0\0\0\x1e");
    codec.write(&mut session, Request { kind: Kind(0), item: 0, value_bytes: 0 }, 0, &mut out);
    let fields = Frame::parse(&out);
    assert!(fields.kind == frames::HEADERS && !fields.has(frames::END_STREAM));
    assert_eq!(out[HEAD + fields.length..], frame(frames::DATA, 0, 1, &body.as_bytes()[..30]));
    assert_eq!(codec.in_flight(&session), 0);
    let mut reader = Reader::new::<Http2>();
    for (opens, piece, flags) in [(60_u32, 60, 0), (1 << 20, 10, frames::END_STREAM)] {
        let update = frame(frames::WINDOW_UPDATE, 0, 1, &opens.to_be_bytes());
        assert_eq!(reader.next(&codec, &mut session, Kind(0), &update, |_| ()).unwrap(), None);
        out.clear();
        codec.write_control(&mut session, &mut out);
        let acknowledged = out.len() - HEAD - piece;
        assert_eq!(out[acknowledged..], frame(frames::DATA, flags, 1, &body.as_bytes()[..piece]));
    }
    assert!(codec.in_flight(&session) > 0);
}

#[test]
fn unprocessed_requests_may_be_repeated_and_broken_ones_only_if_idempotent() {
    let codec = codec(json!({"kind": "http", "requests": [{"method": "POST"}, {"method": "GET"}]}));
    let may = |kind| (codec.may_repeat(kind), codec.may_repeat_unhandled(kind));
    assert_eq!([Kind(0), Kind(1)].map(may), [(false, true), (true, true)]);
    assert!(!codec.takes_turns(), "posts may share a connection");
}

fn grpc() -> Grpc {
    let mut plan = plan("grpc");
    plan.workload = serde_json::from_value(json!({"kind": "http", "requests": [
        {"method": "POST", "path": "/a.B/C", "body": {"hex": "0000000000"}},
    ]}))
    .unwrap();
    plan.workload = plan.workload.load_files().unwrap();
    Grpc::new(&plan)
}

#[test]
fn calls_end_with_the_status_in_their_trailers() {
    let codec = grpc();
    let (mut session, mut out) = (codec.session(), Vec::new());
    session.begin();
    codec.write(&mut session, Request { kind: Kind::GET, item: 0, value_bytes: 0 }, 0, &mut out);
    assert!(out.ends_with(b"\0\0\x05\0\x01\0\0\0\x01\0\0\0\0\0"), "{out:?}");
    for field in [&b"\x02te\x08trailers"[..], b"\x0f\x10\x10application/grpc"] {
        assert!(out.windows(field.len()).any(|some| some == field), "{out:?}");
    }
    let last = frames::END_HEADERS | frames::END_STREAM;
    let stream = [
        frame(frames::HEADERS, frames::END_HEADERS, 3, b"\x88"),
        frame(frames::HEADERS, frames::END_HEADERS, 1, b"\x88"),
        frame(frames::DATA, 0, 3, b"\0\0\0\0\0"),
        frame(frames::HEADERS, last, 3, b"\x00\x0bgrpc-status\x010"),
        frame(frames::HEADERS, last, 1, b"\x00\x0bgrpc-status\x0214"),
        frame(frames::HEADERS, last, 5, b"\x88\x00\x0bgrpc-status\x015"),
        frame(frames::HEADERS, last, 7, b"\x88"),
    ]
    .concat();
    let expected =
        vec![(1, Outcome::Hit, 0), (0, Outcome::Error, 14), (2, Outcome::Miss, 5), (3, Outcome::Error, 2)];
    assert_eq!(replies(&codec, 4, &[&stream]), Ok(expected.clone()));
    assert_eq!(replies(&codec, 4, &stream.chunks(1).collect::<Vec<_>>()), Ok(expected));
    let text = |head: &[u8]| String::from_utf8_lossy(&Grpc::error_text(head)).into_owned();
    assert_eq!(text(&frame(frames::HEADERS, last, 1, b"\x00\x0bgrpc-status\x0214")), "UNAVAILABLE");
    assert!(text(&frame(frames::HEADERS, last, 1, b"\x88")).contains("grpc-status"));
}

#[test]
fn a_successful_call_has_exactly_one_complete_message() {
    let codec = grpc();
    let last = frames::END_HEADERS | frames::END_STREAM;
    for (data, flags, code) in [
        (&[&b"\0\0\0\0\0"[..]][..], 0, 0),
        (&[b"\0\0\0\0\x02ok"], 0, 0),
        (&[b"\0\0\0", b"\0", b"\x02o", b"k"], 0, 0),
        (&[b"\x03\0\0\0\0\x02okxxx"], frames::PADDED, 0),
        (&[], 0, 13),
        (&[b""], 0, 13),
        (&[b"\0\0\0"], 0, 13),
        (&[b"\0\0\0\0\x03ok"], 0, 13),
        (&[b"\0\0\0\0\x02okk"], 0, 13),
        (&[b"\0\0\0\0\0", b"\0\0\0\0\0"], 0, 13),
        (&[b"\x01\0\0\0\x02ok"], 0, 13),
    ] {
        let mut stream = frame(frames::HEADERS, frames::END_HEADERS, 1, b"\x88\x00\x0bgrpc-status\x010");
        for payload in data {
            stream.extend(frame(frames::DATA, flags, 1, payload));
        }
        let without = [&stream[..], &frame(frames::DATA, frames::END_STREAM, 1, b"")].concat();
        stream.extend(frame(frames::HEADERS, last, 1, b"\x00\x0bgrpc-status\x010"));
        let outcome = if code == 0 { Outcome::Hit } else { Outcome::Error };
        for pieces in [vec![&stream[..]], stream.chunks(1).collect()] {
            assert_eq!(replies(&codec, 1, &pieces), Ok(vec![(0, outcome, code)]), "{data:?}");
        }
        let missing = Ok(vec![(0, Outcome::Error, 2)]);
        assert_eq!(replies(&codec, 1, &[&without]), missing, "its status is not in trailers");
    }
}

/// Return the messages of each request in `stream`, and how the requests end. Both must not depend on how the
/// stream is split.
fn count_messages<P: Protocol<Session = Session>>(
    codec: &P,
    stream: &[u8],
) -> ([u32; 3], Vec<(u32, Outcome, u16)>) {
    let halves = (0..stream.len()).map(|cut| vec![&stream[..cut], &stream[cut..]]);
    let mut found = halves.chain([stream.chunks(1).collect()]).map(|pieces| {
        let (mut reader, mut session) = (Reader::new::<P>(), session_with_requests(codec, 3));
        let (mut counts, mut ends) = ([0; 3], Vec::new());
        for mut rest in pieces {
            while !rest.is_empty() {
                let messages = |tag: u32, count: u32| counts[tag as usize] += count;
                let next = reader.next_with_messages(codec, &mut session, Kind::GET, rest, |_| (), messages);
                let Some(reply) = next.unwrap() else { break };
                rest = &rest[reply.taken..];
                ends.push((reply.tag, reply.outcome, reply.code));
            }
        }
        (counts, ends)
    });
    let first = found.next().unwrap();
    assert!(found.all(|one| one == first));
    first
}

#[test]
fn messages_of_streamed_calls_are_counted_by_call() {
    let codec = Grpc { streamed: true, ..grpc() };
    let last = frames::END_HEADERS | frames::END_STREAM;
    let stream = [
        frame(frames::HEADERS, frames::END_HEADERS, 1, b"\x88"),
        frame(frames::HEADERS, frames::END_HEADERS, 3, b"\x88"),
        frame(frames::DATA, 0, 1, b"\0\0\0\0\x02ok\0\0\0\0\0\0\0"),
        frame(frames::DATA, 0, 3, b"\0\0\0\0\x01"),
        frame(frames::DATA, frames::PADDED, 1, b"\x03\0\0\x04abxxx"),
        frame(frames::DATA, 0, 1, b"cd"),
        frame(frames::DATA, 0, 3, b"a"),
        frame(frames::HEADERS, last, 3, b"\x00\x0bgrpc-status\x010"),
        frame(frames::DATA, 0, 1, b"\0\0\0\0\x02o"),
        frame(frames::HEADERS, last, 1, b"\x00\x0bgrpc-status\x010"),
        frame(frames::HEADERS, last, 5, b"\x88\x00\x0bgrpc-status\x010"),
    ]
    .concat();
    // The last message of the first call is incomplete. The third call has none.
    let ends = vec![(1, Outcome::Hit, 0), (0, Outcome::Error, 13), (2, Outcome::Hit, 0)];
    assert_eq!(count_messages(&codec, &stream), ([3, 1, 0], ends));
}

#[test]
fn messages_in_http2_are_events_of_successful_replies() {
    let codec = Http2 { streamed: true, ..codec(json!({"kind": "http"})) };
    let events = |status: &[u8]| [status, b"\x0f\x10\x11text/event-stream"].concat();
    let stream = [
        frame(frames::HEADERS, frames::END_HEADERS, 1, &events(b"\x88")),
        frame(frames::HEADERS, frames::END_HEADERS, 3, &events(b"\x8e")),
        frame(frames::HEADERS, frames::END_HEADERS, 5, b"\x88"),
        frame(frames::DATA, 0, 1, b"data: a\n\nda"),
        frame(frames::DATA, frames::END_STREAM, 3, b"data: a\n\n"),
        frame(frames::DATA, frames::END_STREAM, 5, b"data: a\n\n"),
        frame(frames::DATA, frames::PADDED, 1, b"\x02ta: b\n\n\n\n"),
        frame(frames::DATA, frames::END_STREAM, 1, b"data: c\n\n: d\n\n"),
    ]
    .concat();
    let ends = vec![(1, Outcome::Error, 500), (2, Outcome::Hit, 200), (0, Outcome::Hit, 200)];
    assert_eq!(count_messages(&codec, &stream), ([3, 0, 0], ends));
}
