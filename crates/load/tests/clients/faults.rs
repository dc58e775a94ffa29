//! Servers that refuse, send garbage, close or die: each causes one clear error soon.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::common::{io_methods, phases, plan, run, synth, DuringMeasurement};
use hindmost_clock::Nanos;
use hindmost_load::engine::{Command, Controller, Event, ImmediateController};
use hindmost_load::LoadError;
use serde_json::json;

/// Long enough for a busy host, and shorter than the measurements of 20 s and more that must not be waited
/// for.
const PATIENCE: Duration = Duration::from_secs(15);

/// Start a server that answers the first bytes of each connection with `reply`, then closes it.
fn once(reply: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Ends with the test binary.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                if stream.read(&mut bytes).is_ok_and(|n| n > 0) {
                    let _ = stream.write_all(reply);
                }
            });
        }
    });
    address
}

fn fails(protocol: &str, address: &str, changes: &serde_json::Value) -> LoadError {
    match run(&plan(protocol, address, changes)) {
        Ok(ran) => panic!("{}", ran.result["counts"]),
        Err(e) => e,
    }
}

#[test]
fn a_closed_port_is_refused_at_once() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let started = Instant::now();
    let error = fails("memcached", &free, &json!({}));
    let LoadError::Connect { slot: 0, of: 4, source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::ConnectionRefused);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[test]
fn a_name_without_an_address_is_reported() {
    let error = fails("memcached", "no-such-host.invalid:11211", &json!({}));
    assert_eq!(error.code(), "unresolvable", "{error}");
}

#[test]
fn another_protocol_refuses_the_keys_and_answers_no_request() {
    let memcached = synth();
    let address = memcached.local_address().to_string();
    let http = || once(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    for protocol in ["memcached", "redis"] {
        let error = fails(protocol, &http(), &json!({"preload": true}));
        assert!(matches!(error, LoadError::Garbage(_)), "{protocol}: {error}");
    }
    for (protocol, address) in
        [("http", address), ("redis", http()), ("http", once(b"-ERR unknown command\r\n"))]
    {
        let ran = run(&plan(protocol, &address, &json!({"preload": false}))).unwrap();
        assert_eq!(ran.result["counts"]["completed"], 0, "{protocol}");
        assert!(ran.result["unreadable"]["count"].as_u64() > Some(0), "{protocol}");
    }
}

#[test]
fn a_server_that_closes_after_each_reply_gets_a_connection_for_each_request() {
    for reply in [
        &b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"[..],
        b"HTTP/1.1 200 OK\r\n\r\nas long as it takes",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    ] {
        for io in io_methods() {
            // The server has a thread for each connection, which may take a while to run on a busy host.
            // Nothing is pipelined: before the first reply the client does not know that the server closes.
            let changes = json!({
                "io": io, "pacing": "sleep", "in_flight": 1, "load": {"loop": "open", "rate_per_s": 300.0}
            });
            let ran = run(&plan("http", &once(reply), &changes)).unwrap();
            let result = &ran.result;
            assert_eq!(
                (&result["by_turns"], &result["codes"]["200"]["count"]),
                (&json!(true), &json!(ran.count("completed")))
            );
            assert_eq!((ran.count("errors"), ran.count("timeouts")), (0, 0), "{io}: {}", result["counts"]);
            // On a busy host some requests wait until the measurement is over.
            assert_eq!(
                ran.count("completed") + ran.count("unsent"),
                ran.count("scheduled"),
                "{io}: {}",
                result["counts"]
            );
            let (all, done) = (result["connects"]["all"].as_u64().unwrap(), ran.count("completed"));
            assert!(done > 0 && all >= done, "{io}: {all} connections for {done}");
        }
    }
}

#[test]
fn an_unrequested_banner_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
            all.push(stream);
        }
    });
    let error = fails("memcached", &address, &json!({}));
    assert_eq!(error.code(), "garbage", "{error}");
}

#[test]
fn a_server_killed_during_a_run_is_reported_within_seconds() {
    let check = |io: &str, address: &str, kill: Box<dyn FnOnce() + Send>| {
        let long = json!({"io": io, "phases": phases(20.0)});
        let killing = move || {
            std::thread::sleep(Duration::from_millis(150));
            let started = Instant::now();
            kill();
            started
        };
        let mut link = DuringMeasurement::new(killing);
        let error = super::common::run_with(&plan("memcached", address, &long), &mut link).err();
        assert!(matches!(error, Some(LoadError::ServerGone { .. })), "{error:?}");
        let noticed = link.outcome().elapsed();
        assert!(noticed < PATIENCE, "{noticed:?}");
    };
    for io in io_methods() {
        let embedded = synth();
        let address = embedded.local_address().to_string();
        check(io, &address, Box::new(move || drop(embedded)));
    }
}

#[test]
fn an_unwritable_folder_is_reported_before_the_load() {
    let server = synth();
    let plan = plan("memcached", &server.local_address().to_string(), &json!({}));
    let absent = std::env::temp_dir().join("hindmost-no-such-folder/deeper");
    let error = hindmost_load::engine::run(&plan, &absent, &mut ImmediateController::default()).unwrap_err();
    assert!(matches!(error, LoadError::Write { .. }), "{error}");
    assert_eq!(server.totals().total.served, 0);
}

/// Sends Stop after the first progress report, as a controller does on Ctrl-C.
#[derive(Default)]
struct Impatient {
    inner: ImmediateController,
    saw_progress: bool,
}

impl Controller for Impatient {
    fn report(&mut self, event: &Event) -> Result<(), LoadError> {
        self.saw_progress |= matches!(event, Event::Progress { .. });
        self.inner.report(event)
    }

    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError> {
        if self.saw_progress {
            return Ok(Some(Command::Stop));
        }
        self.inner.next_command(patience)
    }
}

#[test]
fn a_stop_command_is_obeyed_at_once() {
    let server = synth();
    let long =
        json!({"phases": {"warmup": {"fixed": {"seconds": 30.0}}, "calibration_s": 0.1, "measure_s": 20.0}});
    let started = Instant::now();
    let plan = plan("memcached", &server.local_address().to_string(), &long);
    let error = super::common::run_with(&plan, &mut Impatient::default()).err();
    assert!(matches!(error, Some(LoadError::Aborted)), "{error:?}");
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}
