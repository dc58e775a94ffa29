//! Runs the example against a server of forty lines: all requests are answered, and every key is found.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use hindmost_load::engine::{self, ImmediateController};
use hindmost_plan::Plan;
use own_protocol::Dictionary;

type Words = Arc<Mutex<HashMap<String, Vec<u8>>>>;

fn serve(stream: TcpStream, words: &Words) -> std::io::Result<()> {
    let mut out = stream.try_clone()?;
    let (mut from, mut line) = (BufReader::new(stream), String::new());
    while from.read_line(&mut line)? > 0 {
        let (ask, rest) = line.trim_end().split_at(1);
        if ask == "?" {
            match words.lock().unwrap().get(rest) {
                Some(value) => {
                    write!(out, "={}\n", value.len())?;
                    out.write_all(value)?;
                }
                None => out.write_all(b"-\n")?,
            }
        } else {
            let (key, length) = rest.split_once(' ').unwrap();
            let mut value = vec![0; length.parse().unwrap()];
            from.read_exact(&mut value)?;
            words.lock().unwrap().insert(key.to_owned(), value);
            out.write_all(b"+\n")?;
        }
        line.clear();
    }
    Ok(())
}

#[test]
fn a_protocol_of_ones_own_is_measured_like_any_other() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let words = Words::default();
    let shared = words.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let words = shared.clone();
            thread::spawn(move || serve(stream, &words));
        }
    });
    let plan = format!(
        r#"{{"schema": "hindmost.plan/1", "seed": 1, "preload": true, "connections": 3, "pacing": "sleep",
            "target": {{"protocol": "memcached", "address": "{address}"}},
            "load": {{"loop": "open", "rate_per_s": 1000}},
            "workload": {{"kind": "key-value", "keys": 500, "get_ratio": 0.8}},
            "phases": {{"warmup": {{"fixed": {{"seconds": 0.1}}}}, "calibration_s": 0.1, "measure_s": 0.5}}}}"#
    );
    let folder = std::env::temp_dir().join(format!("own-protocol-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let plan = Plan::from_json(&plan).unwrap();
    let result = engine::run_as::<Dictionary>(&plan, &folder, &mut ImmediateController::default()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let counts = &serde_json::to_value(&result).unwrap()["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert!(count("completed") > 100, "{counts}");
    assert_eq!(count("scheduled"), count("completed"), "{counts}");
    assert_eq!((count("errors"), count("misses")), (0, 0), "{counts}");
    assert_eq!(words.lock().unwrap().len(), 500, "every key was stored");
}
