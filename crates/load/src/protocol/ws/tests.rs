use serde_json::json;

use super::super::tests::{check_reply, plan};
use super::super::Reader;
use super::frame::{FIN, MASKED};
use super::*;

fn codec(workload: serde_json::Value) -> Ws {
    let mut plan = plan("ws");
    plan.workload = serde_json::from_value(workload).unwrap();
    Ws::new(&plan)
}

/// Return a frame as servers send it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        0..=125 => bytes.push(payload.len() as u8),
        126..=0xffff => bytes.extend([&[126][..], &(payload.len() as u16).to_be_bytes()].concat()),
        _ => bytes.extend([&[127][..], &(payload.len() as u64).to_be_bytes()].concat()),
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// Return the first byte and the unmasked payload of a client's frame.
fn unmask(bytes: &[u8]) -> (u8, Vec<u8>) {
    let (header, length) = match bytes[1] & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes([bytes[2], bytes[3]]))),
        127 => (10, u64::from_be_bytes(bytes[2..10].try_into().unwrap()) as usize),
        short => (2, usize::from(short)),
    };
    let (mask, payload) = bytes[header..].split_at(4);
    assert_eq!((bytes[1] & MASKED, payload.len()), (MASKED, length));
    (bytes[0], payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key).collect())
}

#[test]
fn each_opening_has_its_own_key_and_accepts_only_a_matching_answer() {
    let codec = codec(json!({"kind": "messages", "paths": ["/a", "/b"], "headers": {"Origin": "http://x"}}));
    let mut keys = Vec::new();
    for path in ["/a", "/b", "/a"] {
        let (mut session, mut out) = (codec.session(), Vec::new());
        assert!(!codec.begin(&mut session, &mut out));
        let request = String::from_utf8(out).unwrap();
        assert!(request.starts_with(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:1\r\n")), "{request}");
        assert!(request.contains("\r\nOrigin: http://x\r\n") && request.ends_with("==\r\n\r\n"), "{request}");
        keys.push(request.split("Key: ").nth(1).unwrap().to_owned());
        let fits = String::from_utf8(session.accept.to_vec()).unwrap();
        let mut answers = |text: String| codec.opening(&mut session, text.as_bytes(), &mut Vec::new());
        let good = format!("HTTP/1.1 101 Go\r\nupgrade: websocket\r\nsec-websocket-ACCEPT:  {fits}\r\n\r\n");
        assert_eq!(answers(good.clone()), Ok(Opening::Done(good.len())));
        assert_eq!(answers(good[..good.len() - 1].to_owned()), Ok(Opening::More));
        let other = good.replace(&fits, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(matches!(answers(other), Err(Refusal::Protocol(_))));
        let extended = good.replace("upgrade: websocket", "sec-websocket-extensions: permessage-deflate");
        assert!(matches!(answers(extended), Err(Refusal::Protocol(_))));
        let refused = answers("HTTP/1.1 404 Not Found\r\nServer: x\r\n".to_owned()).unwrap_err();
        assert_eq!(refused, Refusal::Request("HTTP/1.1 404 Not Found".to_owned()));
        let foreign = answers("-ERR unknown command\r\n".to_owned());
        assert!(matches!(foreign, Err(Refusal::Protocol(_))), "{foreign:?}");
    }
    assert!(keys[0] != keys[1] && keys[0] != keys[2]);
    let (mut session, mut again) = (codec.session(), Vec::new());
    codec.begin(&mut session, &mut Vec::new());
    let first = session.accept;
    codec.begin(&mut session, &mut again);
    assert_ne!(first, session.accept, "opened again, with another key");
}

#[test]
fn messages_of_any_length_are_masked_and_have_the_planned_content() {
    for (length, binary) in [(0, false), (7, true), (125, false), (126, false), (70_000, true)] {
        let text = "m".repeat(length);
        let codec = codec(json!({"kind": "messages", "requests": [{"send": text, "binary": binary}]}));
        let (mut session, mut out) = (codec.session(), Vec::new());
        codec.write(&mut session, Request { kind: Kind(0), item: 5, value_bytes: 0 }, 0, &mut out);
        let opcode = if binary { opcode::BINARY } else { opcode::TEXT };
        assert_eq!(unmask(&out), (FIN | opcode, text.clone().into_bytes()));
        assert!(length == 0 || !out.ends_with(&text.as_bytes()[..1.min(length)]) || out[2..6] != [0; 4]);
        let Workload::Messages(messages) =
            serde_json::from_value(json!({"kind": "messages", "requests": [{"send": text}]})).unwrap()
        else {
            panic!()
        };
        assert!(out.len() <= largest_message(&messages));
    }
}

#[test]
fn replies_are_recognised_however_they_are_split() {
    let codec = codec(json!({"kind": "messages", "requests": [{"miss": "none", "error": "ERR"}]}));
    for (payload, outcome) in [
        (&b"hello"[..], Outcome::Hit),
        (b"", Outcome::Hit),
        (b"no", Outcome::Hit),
        (b"none", Outcome::Miss),
        (b"nonesuch", Outcome::Miss),
        (b"ERR what", Outcome::Error),
        (&[b'x'; 300], Outcome::Hit),
    ] {
        check_reply(&codec, Kind(0), &frame(FIN | opcode::TEXT, payload), outcome);
        let half = payload.len() / 2;
        let fragments =
            [frame(opcode::BINARY, payload), frame(FIN | opcode::PONG, b"x"), frame(FIN, &payload[half..])];
        check_reply(&codec, Kind(0), &fragments.concat(), outcome);
    }
    let long = frame(FIN | opcode::BINARY, &vec![0; 70_000]);
    let mut session = codec.session();
    ask(&codec, &mut session);
    let found = Reader::new::<Ws>().next(&codec, &mut session, Kind(0), &long, |_| ()).unwrap().unwrap();
    assert_eq!((found.taken, found.outcome), (long.len(), Outcome::Hit));
}

#[test]
fn frames_that_no_server_may_send_are_garbage() {
    let codec = codec(json!({"kind": "messages"}));
    for bytes in [
        &[FIN | opcode::TEXT, MASKED, 0, 0, 0, 0][..], // masked
        &[FIN | 0x40 | opcode::TEXT, 0],               // a reserved bit
        &[FIN | 3, 0],                                 // no such frame
        &[FIN | 0xb, 0],
        &[FIN, 0],                          // a continuation without a start
        &[opcode::CLOSE, 0],                // a fragmented control frame
        &[FIN | opcode::PONG, 126, 0, 126], // a control frame that is too long
        &[FIN | opcode::TEXT, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
        &[opcode::TEXT, 0, FIN | opcode::TEXT, 0], // a message within another
    ] {
        let mut session = codec.session();
        let found = Reader::new::<Ws>().next(&codec, &mut session, Kind(0), bytes, |_| ());
        assert!(found.is_err(), "{bytes:?}");
    }
}

#[test]
fn pings_are_answered_and_a_close_is_reported_with_its_code() {
    let codec = codec(json!({"kind": "messages"}));
    let mut session = codec.session();
    let read = |session: &mut Session, bytes: &[u8]| {
        let mut words = Vec::new();
        let tell = |said: &[u8]| words.extend_from_slice(&Ws::error_text(said));
        let found = Reader::new::<Ws>().next(&codec, session, Kind(0), bytes, tell).unwrap();
        (found, String::from_utf8(words).unwrap())
    };
    assert_eq!(read(&mut session, &frame(FIN | 9, b"are you there")).0, None);
    let mut out = Vec::with_capacity(100);
    codec.write_control(&mut session, &mut out);
    assert_eq!(unmask(&out), (FIN | opcode::PONG, b"are you there".to_vec()));
    assert_eq!(codec.closing_tag(&session), None);

    codec.write(&mut session, Request { kind: Kind(0), item: 1, value_bytes: 0 }, 0, &mut Vec::new());
    let (reply, words) = read(&mut session, &frame(FIN | opcode::CLOSE, b"\x03\xf3oops"));
    let reply = reply.unwrap();
    assert_eq!((reply.outcome, reply.closes), (Outcome::Error, true));
    assert!(words.contains("1011") && words.ends_with("oops"), "{words}");

    codec.begin(&mut session, &mut Vec::new());
    assert_eq!(read(&mut session, &frame(FIN | opcode::CLOSE, b"")).0, None, "no request is pending");
    assert_eq!(codec.closing_tag(&session), Some(0));
    out.clear();
    codec.write_control(&mut session, &mut out);
    assert_eq!(unmask(&out), (FIN | opcode::CLOSE, Vec::new()));
}

#[test]
fn the_client_closes_with_a_normal_closure() {
    let codec = codec(json!({"kind": "messages"}));
    let mut out = Vec::new();
    assert!(codec.write_farewell(&mut codec.session(), &mut out));
    assert_eq!(unmask(&out), (FIN | opcode::CLOSE, 1000_u16.to_be_bytes().to_vec()));
}

#[test]
fn unrequested_messages_are_ignored() {
    let codec = codec(json!({"kind": "messages"}));
    let mut session = codec.session();
    let greeting =
        [frame(opcode::TEXT, b"wel"), frame(FIN, b"come"), frame(FIN | opcode::TEXT, b"news")].concat();
    assert_eq!(read(&codec, &mut session, &greeting), (None, String::new()));
    ask(&codec, &mut session);
    assert_eq!(read(&codec, &mut session, &frame(FIN | opcode::TEXT, b"reply")).0, Some(Outcome::Hit));
}

/// Return the last outcome in consecutive frames, and the text of errors.
fn read(codec: &Ws, session: &mut Session, bytes: &[u8]) -> (Option<Outcome>, String) {
    let (mut reader, mut words, mut last, mut rest) = (Reader::new::<Ws>(), Vec::new(), None, bytes);
    while let Some(reply) = reader
        .next(codec, session, Kind(0), rest, |said| words.extend_from_slice(&Ws::error_text(said)))
        .unwrap()
    {
        last = Some(reply.outcome);
        rest = &rest[reply.taken..];
    }
    (last, String::from_utf8(words).unwrap())
}

fn ask(codec: &Ws, session: &mut Session) {
    codec.write(session, Request { kind: Kind(0), item: 1, value_bytes: 0 }, 0, &mut Vec::new());
}

#[test]
fn a_session_continues_after_a_fragmented_message_and_drops_a_truncated_one() {
    let codec = codec(json!({"kind": "messages", "requests": [{"error": "ERR"}]}));
    let mut session = codec.session();
    (0..3).for_each(|_| ask(&codec, &mut session));
    let two = [frame(opcode::TEXT, b"o"), frame(FIN, b"k"), frame(FIN | opcode::TEXT, b"ERR what it was")];
    assert_eq!(
        read(&codec, &mut session, &two.concat()),
        (Some(Outcome::Error), "ERR what it was".to_owned())
    );
    assert_eq!(read(&codec, &mut session, &frame(opcode::TEXT, b"half")).0, None);
    read(&codec, &mut session, &frame(FIN | opcode::CLOSE, b""));
    codec.begin(&mut session, &mut Vec::new());
    assert_eq!(codec.closing_tag(&session), None, "the new connection is not closing");
    ask(&codec, &mut session);
    assert_eq!(read(&codec, &mut session, &frame(FIN | opcode::TEXT, b"whole")).0, Some(Outcome::Hit));
}

#[test]
fn a_close_frame_answers_only_a_pending_request() {
    let codec = codec(json!({"kind": "messages"}));
    let farewell = frame(FIN | opcode::CLOSE, b"\x03\xe8bye");
    let mut session = codec.session();
    ask(&codec, &mut session);
    assert_eq!(read(&codec, &mut session, &frame(FIN | opcode::TEXT, b"answered")).0, Some(Outcome::Hit));
    assert_eq!(read(&codec, &mut session, &farewell).0, None);
    codec.begin(&mut session, &mut Vec::new());
    ask(&codec, &mut session);
    assert_eq!(read(&codec, &mut session, &farewell).0, Some(Outcome::Error));
    assert_eq!(read(&codec, &mut session, &farewell).0, None, "it has been answered");
    let mut out = Vec::with_capacity(100);
    codec.write_control(&mut session, &mut out);
    assert_eq!(unmask(&out), (FIN | opcode::CLOSE, b"\x03\xe8".to_vec()), "only the code is echoed");
}

#[test]
fn the_last_ping_is_answered_once_there_is_space() {
    let codec = codec(json!({"kind": "messages"}));
    let mut session = codec.session();
    read(&codec, &mut session, &[frame(FIN | 9, b"first"), frame(FIN | 9, b"second")].concat());
    let mut out = Vec::with_capacity(8);
    codec.write_control(&mut session, &mut out);
    assert_eq!((out.len(), out.capacity()), (0, 8), "what does not fit waits");
    out.reserve(100);
    codec.write_control(&mut session, &mut out);
    assert_eq!(unmask(&out), (FIN | opcode::PONG, b"second".to_vec()));
}
