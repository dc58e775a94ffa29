//! Many connections and threads: each carries its share, and exceeded limits are reported.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::common::{plan, run, synth};
use hindmost_load::engine::Needs;
use hindmost_load::LoadError;
use serde_json::{json, Value};

/// Check that Pearson's statistic of every thread lies within six standard deviations of its mean. The seed
/// is fixed as well.
fn assert_fair(result: &Value, connections: u64) {
    let mut counted = 0;
    for thread in result["threads"].as_array().unwrap() {
        let shares = &thread["shares"];
        let count = shares["connections"].as_u64().unwrap();
        counted += count;
        let df = (count - 1) as f64;
        let chi_square = shares["chi_square"].as_f64().unwrap();
        assert!((chi_square - df).abs() <= 6.0 * (2.0 * df).sqrt() + 1e-9, "{shares}");
        assert_eq!(shares["silent"], 0, "{shares}");
    }
    assert_eq!(counted, connections);
}

#[test]
fn every_connection_carries_its_share() {
    let server = synth();
    let address = server.local_address().to_string();
    for (connections, threads) in [(1, 1), (16, 3), (1000, 8)] {
        let changes = json!({
            "connections": connections,
            "threads": vec![json!({}); threads],
            "load": {"loop": "open", "rate_per_s": 10_000.0},
        });
        let ran = run(&plan("memcached", &address, &changes)).unwrap();
        ran.assert_clean(&format!("{connections} connections, {threads} threads"));
        assert_fair(&ran.result, connections);
        let memory = &ran.result["memory"];
        assert!(memory["bound_bytes"].as_u64().unwrap() > 0, "{memory}");
    }
}

#[test]
fn more_connections_than_files_are_refused_before_the_first() {
    let huge = json!({"connections": 100_000});
    let plan = plan("memcached", "127.0.0.1:1", &huge);
    // The port is closed: without the check, the connection would be refused.
    match run(&plan).err().unwrap() {
        LoadError::OpenFiles { need, limit, .. } => {
            assert!(limit < need && need == Needs::for_plan(&plan).files);
        }
        LoadError::Connect { slot: 0, .. } => {} // this host allows 100,000 open files
        other => panic!("{other}"),
    }
}

#[test]
fn a_server_that_hangs_up_on_some_is_full() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for (at, stream) in listener.incoming().enumerate() {
            if at < 50 {
                kept.push(stream);
            } // Other connections are dropped, and so closed.
        }
    });
    let error = run(&plan("memcached", &address, &json!({"connections": 400, "preload": false})));
    match error.err().unwrap() {
        LoadError::Full { open, of: 400, .. } => assert!((1..400).contains(&open), "{open}"),
        other => panic!("{other}"),
    }
}

#[test]
fn connections_left_in_the_accept_queue_are_reported() {
    // Ten connections are accepted and answered. The kernel completes the others, which stay in the accept
    // queue.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(10) {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while std::io::Read::read(&mut stream, &mut bytes).is_ok_and(|n| n > 0) {
                    let asked = bytes.windows(4).filter(|w| w == b"get ").count();
                    bytes.fill(0);
                    let _ = std::io::Write::write_all(&mut stream, &b"END\r\n".repeat(asked));
                }
            });
        }
        std::thread::sleep(Duration::from_secs(60));
    });
    let started = Instant::now();
    let changes = json!({
        "connections": 40, "preload": false, "workload": {"kind": "key-value", "keys": 500, "get_ratio": 1.0},
        "timeout_s": 2.0, // a busy host may delay the ten answers
    });
    let ran = run(&plan("memcached", &address, &changes)).unwrap();
    assert_eq!(ran.result["threads"][0]["shares"]["silent"], 30, "{}", ran.result["threads"][0]["shares"]);
    assert!(ran.count("timeouts") > 0 && ran.count("completed") > 0, "{}", ran.result["counts"]);
    assert!(started.elapsed() < Duration::from_secs(60));
}
