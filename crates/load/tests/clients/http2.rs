//! HTTP/2 with nginx: streams on few connections, GOAWAY, and a server without HTTP/2.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use hindmost_load::protocol::Refusal;
use hindmost_load::LoadError;
use serde_json::{json, Value};

use super::common::{intervals, plan, run, Run, ServerProcess};

#[test]
fn nginx_serves_pages_misses_and_bodies_in_any_order_over_http2() {
    let Some(server) = ServerProcess::nginx_with(1_000_000, "http2", "") else { return };
    let body = "b".repeat(40_000);
    let requests = json!([
        {"path": "/"}, {"path": "/absent/{{int:1..1000}}", "name": "absent"},
        {"path": "/", "method": "POST", "body": body, "name": "large"},
        {"path": "/", "method": "PUT", "body": "{{uuid}}", "headers": {"X-Id": "{{sequence:1}}"}, "name": "small"},
    ]);
    let changes = json!({"workload": {"kind": "http", "requests": requests}});
    let ran = run(&plan("http2", &server.address, &changes)).unwrap();
    ran.assert_clean("nginx");
    let (misses, done) = (ran.count("misses") as f64, ran.count("completed") as f64);
    assert!((misses / done - 0.25).abs() < 0.06, "{misses} of {done}");
    assert_eq!((&ran.result["reconnects"], &ran.result["resent"]), (&json!(0), &json!(0)));
    let codes = ran.result["codes"].as_object().unwrap();
    assert_eq!(codes.keys().collect::<Vec<_>>(), ["200", "404"], "{codes:?}");
}

#[test]
fn streams_share_connections_as_many_as_the_plan_and_the_server_allow() {
    let Some(server) = ServerProcess::nginx_with(1_000_000, "http2", "") else { return };
    let at_once = |in_flight: Value| {
        let changes = json!({"load": {"loop": "closed"}, "in_flight": in_flight, "connections": 1});
        let ran = run(&plan("http2", &server.address, &changes)).unwrap();
        ran.assert_clean("closed");
        // Each request counts the others outstanding when it is sent.
        1 + intervals(&ran.file("client-0.hlog"), "outstanding").1.max().unwrap()
    };
    // nginx allows 128.
    let (one, many, more) = (at_once(Value::Null), at_once(json!(100)), at_once(json!(1000)));
    assert_eq!((one, many, more), (1, 100, 128));
}

#[test]
fn requests_behind_nginxs_goaway_are_resent_and_none_is_lost() {
    let Some(server) = ServerProcess::nginx_with(100, "http2", "") else { return };
    let ran =
        run(&plan("http2", &server.address, &json!({"load": {"loop": "open", "rate_per_s": 10_000.0}})));
    let ran = ran.unwrap();
    assert_eq!(
        ran.count("scheduled"),
        ran.count("completed") + ran.count("unsent"),
        "{}",
        ran.result["counts"]
    );
    // One in 100 requests, except on connections open at the end. On a busy host few requests complete.
    let reconnects = ran.result["reconnects"].as_u64().unwrap();
    assert!(
        reconnects > 0 && 100 * (reconnects + 4) > ran.count("completed"),
        "{reconnects}: {}",
        ran.result["counts"]
    );
}

#[test]
fn each_connection_carries_as_many_requests_as_asked() {
    let Some(server) = ServerProcess::nginx_with(1_000_000, "http2", "") else { return };
    let ran = run(&plan("http2", &server.address, &json!({"requests_per_connection": 4}))).unwrap();
    ran.assert_clean("four each");
    let (done, made) = (ran.count("completed"), ran.result["connects"]["all"].as_u64());
    assert!(made.is_some_and(|made| (done / 4..=2 * done).contains(&made)), "{made:?} for {done}");
}

#[test]
fn a_server_without_http2_is_recognised_by_its_reply() {
    let Some(server) = ServerProcess::nginx(100) else { return };
    let Err(refused) = run(&plan("http2", &server.address, &json!({}))) else { panic!("it ran") };
    assert!(matches!(refused, LoadError::Refused { refusal: Refusal::Protocol(_), .. }), "{refused}");
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// Write a frame.
fn say(stream: &mut TcpStream, kind: u8, flags: u8, id: u32, payload: &[u8]) -> std::io::Result<()> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &id.to_be_bytes()].concat();
    stream.write_all(&[&head, payload].concat())
}

/// Allow 100 streams, then two from the 40th request on. Refuse every 40th request and the `more` requests
/// after each. Answer all others.
fn refuses(mut stream: TcpStream, more: u32) -> std::io::Result<()> {
    stream.read_exact(&mut [0; 24])?;
    say(&mut stream, SETTINGS, 0, 0, b"\0\x03\0\0\0\x64")?;
    let mut asked = 0;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize])?;
        if head[3] != HEADERS {
            continue;
        }
        asked += 1;
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        if asked >= 40 && asked % 40 <= more {
            say(&mut stream, SETTINGS, 0, 0, b"\0\x03\0\0\0\x02")?;
            say(&mut stream, RST_STREAM, 0, id, &7_u32.to_be_bytes())?;
        } else {
            say(&mut stream, HEADERS, 5, id, b"\x88")?;
        }
    }
}

/// Run a client against such a server. No available server refuses a client that respects its settings, which
/// requires settings that change during the load.
fn run_refused(more: u32, changes: &Value) -> Run {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Ends with the test binary; each connection with the client's.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || refuses(stream, more));
        }
    });
    run(&plan("http2", &address, changes)).unwrap()
}

/// Answer each request. Return all frames read until the end of the stream.
fn answers_all(mut stream: TcpStream) -> std::io::Result<Vec<(u8, Vec<u8>)>> {
    stream.read_exact(&mut [0; 24])?;
    say(&mut stream, SETTINGS, 0, 0, b"")?;
    let (mut head, mut frames) = ([0; 9], Vec::new());
    while stream.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload)?;
        if head[3] == HEADERS {
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            say(&mut stream, HEADERS, 5, id, b"\x88")?;
        }
        frames.push((head[3], payload));
    }
    Ok(frames)
}

#[test]
fn the_client_sends_goaway_before_it_closes_a_connection() {
    for carried in [Value::Null, json!(4)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, receiver) = std::sync::mpsc::channel();
        // Ends with the test binary; each connection with the client's.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || sender.send(answers_all(stream)));
            }
        });
        let changes = json!({
            "requests_per_connection": carried, "connections": 3, "load": {"loop": "open", "rate_per_s": 400.0},
        });
        let ran = run(&plan("http2", &address, &changes)).unwrap();
        ran.assert_clean("told");
        let made = ran.result["connects"]["all"].as_u64().unwrap();
        let limit = std::time::Duration::from_secs(20);
        let all: Vec<_> = (0..made).map(|_| receiver.recv_timeout(limit).unwrap().unwrap()).collect();
        // Connections opened before the load that carried nothing may close without GOAWAY.
        let carried: Vec<_> = all.iter().filter(|frames| frames.iter().any(|one| one.0 == HEADERS)).collect();
        assert!(carried.len() >= 3, "{} of {made}", carried.len());
        for frames in carried {
            let goaways: Vec<_> = frames.iter().filter(|one| one.0 == GOAWAY).collect();
            assert!(goaways.len() == 1 && frames.last() == goaways.first().copied(), "{frames:?}");
            assert_eq!(goaways[0].1, [0; 8], "last stream 0, no error");
        }
    }
}

#[test]
fn refused_streams_are_resent_once_and_counted_by_cause() {
    let ran = run_refused(0, &json!({"stamp_every": 1}));
    let of = |value: &Value| value.as_u64().unwrap();
    let (refused, resent) = (of(&ran.result["unhandled"]["refused"]), of(&ran.result["resent"]));
    // A request that is the 40th on another connection too is refused again, which happens on a busy host.
    let twice = refused - resent;
    assert!(refused > 20 && twice <= refused / 4, "{refused} {resent}");
    let (errors, counts) = (ran.count("errors"), &ran.result["counts"]);
    assert!(
        errors <= twice && ran.count("scheduled") == ran.count("completed") + errors,
        "{twice}: {counts}"
    );
    assert_eq!(ran.result["unhandled"]["left_alone"], 0);
    assert_eq!((ran.result["first_error"].is_null(), &ran.result["reconnects"]), (twice == 0, &json!(0)));
    let codes = ran.result["codes"].as_object().unwrap();
    assert_eq!(codes["200"]["count"], ran.count("completed"), "{codes:?}");
    assert_eq!(codes.len(), 1 + usize::from(errors > 0), "{codes:?}");
}

#[test]
fn streams_refused_twice_are_errors_with_their_own_code() {
    // All requests from the 40th on.
    let ran = run_refused(39, &json!({"load": {"loop": "open", "rate_per_s": 1000.0}}));
    let (errors, codes) = (ran.count("errors"), &ran.result["codes"]["REFUSED_STREAM"]);
    assert!(errors > 0 && codes["count"] == errors && codes["outcome"] == "error", "{errors} {codes}");
    assert!(ran.result["first_error"].as_str().unwrap().contains("REFUSED_STREAM"));
}
