//! Complete runs of a client against the embedded server: phases, loops, files.

use super::common::{intervals, io_methods, plan, requests, run, synth, Request, MEASURE_S};
use hindmost_load::LoadError;
use hindmost_synth::{Server, ServerConfig};
use serde_json::{json, Value};

#[test]
fn counts_balance_for_every_loop_pacing_and_law() {
    let server = synth();
    let address = server.local_address().to_string();
    for (load, pacing, io_methods) in [
        (json!({"loop": "open", "rate_per_s": 3000.0}), "sleep", io_methods()),
        (json!({"loop": "open", "rate_per_s": 3000.0, "arrivals": "deterministic"}), "spin", &["epoll"][..]),
        (json!({"loop": "closed", "rate_per_s": 3000.0}), "sleep", &["epoll"]),
        (json!({"loop": "closed"}), "spin", io_methods()),
    ] {
        for io in io_methods {
            let changes = json!({"load": load, "pacing": pacing, "io": io});
            let ran = run(&plan("memcached", &address, &changes)).unwrap();
            ran.assert_clean(&changes.to_string());
            assert_eq!(ran.count("misses"), 0);
            let (ideal, _) = intervals(&ran.file("client-0.hlog"), "ideal_send_delay");
            assert_eq!(ideal == 1, load["loop"] == "open", "a closed loop has no send delay");
            if let (Some(rate), "open") = (load["rate_per_s"].as_f64(), load["loop"].as_str().unwrap()) {
                // Poisson: within five standard deviations. The seed is fixed as well.
                let expected = rate * MEASURE_S;
                let scheduled = ran.count("scheduled") as f64;
                assert!((scheduled - expected).abs() < 5.0 * expected.sqrt(), "{scheduled} for {expected}");
            }
        }
    }
}

#[test]
fn the_files_agree_with_the_counts() {
    for io in io_methods() {
        files_agree(io);
    }
}

fn files_agree(io: &str) {
    let server = synth();
    let changes = json!({
        "io": io,
        "threads": [{}, {}],
        "keep": {"samples": 100_000, "worst": 50},
        "workload": {"kind": "key-value", "keys": 300, "get_ratio": 0.7, "popularity": {"zipf": 0.99}},
    });
    let ran = run(&plan("memcached", &server.local_address().to_string(), &changes)).unwrap();
    ran.assert_clean(io);

    let samples = requests(&ran.file("samples-0.parquet"));
    assert_eq!(samples.len() as u64, ran.count("scheduled"), "the sample has room for all");
    let distinct = |field: fn(&Request) -> i32| {
        let mut all: Vec<i32> = samples.iter().map(field).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    assert_eq!(distinct(|r| r.thread), [0, 1]);
    assert_eq!(distinct(|r| r.connection), [0, 1], "connections are counted within their worker");
    for request in &samples {
        let (sent, done) = (request.sent_ns.unwrap(), request.completed_ns.unwrap());
        assert!(request.scheduled_ns <= sent && sent <= done, "{request:?}");
        assert!((0..(MEASURE_S * 1e9) as i64).contains(&request.scheduled_ns), "{request:?}");
    }

    let worst = requests(&ran.file("worst-0.parquet"));
    let mut by_latency: Vec<i64> = samples.iter().map(Request::latency_ns).collect();
    by_latency.sort_unstable_by(|a, b| b.cmp(a));
    let worst_latencies: Vec<i64> = worst.iter().map(Request::latency_ns).collect();
    assert_eq!(worst_latencies, by_latency[..50], "the worst are the largest of all");
    assert!(worst.iter().all(|request| samples.contains(request)));

    // One request in 16 is stamped.
    let stamped: Vec<_> = samples.iter().filter(|request| request.wire_out_ns.is_some()).collect();
    assert!(stamped.len() * 32 > samples.len(), "{} of {} are stamped", stamped.len(), samples.len());
    for request in &stamped {
        let stamps = [request.sent_ns, request.wire_out_ns, request.wire_in_ns, request.completed_ns];
        let stamps = stamps.map(Option::unwrap);
        // Two clocks, compared with an offset accurate to about 10 ns.
        assert!(stamps.windows(2).all(|pair| pair[1] > pair[0] - 1_000), "{request:?}");
    }

    let log = ran.file("client-0.hlog");
    let wired = ["get", "set"].map(|kind| intervals(&log, &format!("wire/{kind}")).1.count());
    assert_eq!(wired.iter().sum::<u64>(), stamped.len() as u64);
    let stamps = &ran.result["stamps"];
    assert_eq!(stamps["received"], stamped.len() as u64);
    assert!(stamps["requested"].as_u64().unwrap() >= stamped.len() as u64, "{stamps}");
    assert_eq!((&stamps["source"], &stamps["interface"]), (&json!("software"), &json!("lo")));
    assert_eq!((&stamps["every"], &stamps["reason"]), (&json!(16), &Value::Null));
    for kind in ["get", "set"] {
        let counts = &ran.result["kinds"][kind];
        let scheduled = counts["scheduled"].as_u64().unwrap();
        assert_eq!(samples.iter().filter(|r| r.kind == kind).count() as u64, scheduled);
        let (sections, latency) = intervals(&log, &format!("latency/{kind}"));
        assert_eq!((sections, latency.count(), latency.censored()), (10, scheduled, 0));
        for what in ["service", "send_delay"] {
            let (one, whole) = intervals(&log, &format!("{what}/{kind}"));
            assert_eq!((one, whole.count()), (1, scheduled), "{what}");
        }
        let exact = samples.iter().filter(|r| r.kind == kind).map(|r| r.latency_ns() as u128).sum::<u128>();
        assert_eq!(latency.sum(), exact, "histogram and rows hold the same requests");
    }
    for what in ["outstanding", "ideal_send_delay"] {
        assert_eq!(intervals(&log, what).1.count(), ran.count("scheduled"), "{what}");
    }
    let calibration = intervals(&log, "calibration").1;
    assert_eq!(calibration.count(), ran.result["calibration"]["count"].as_u64().unwrap());
    assert!(calibration.count() > 50);
    assert_eq!(ran.result["threads"].as_array().unwrap().len(), 2);
    assert_eq!(ran.result["series"].as_array().unwrap().len(), 2);
}

#[test]
fn values_of_any_size_are_stored_and_returned() {
    let server = synth();
    let address = server.local_address().to_string();
    let sizes = [
        (json!({"choice": [[1, 1.0], [5000, 1.0]]}), 2000.0),
        (json!({"uniform": [100_000, 900_000]}), 100.0),
    ];
    for ((value_bytes, rate), io) in
        sizes.iter().flat_map(|size| io_methods().iter().map(move |io| (size, io)))
    {
        let changes = json!({
            "io": io, "load": {"loop": "open", "rate_per_s": rate},
            "workload": {"kind": "key-value", "keys": 20, "get_ratio": 0.5, "value_bytes": value_bytes},
        });
        let ran = run(&plan("memcached", &address, &changes)).unwrap();
        if *rate > 100.0 {
            ran.assert_clean(&value_bytes.to_string());
        } else {
            ran.assert_served(&value_bytes.to_string());
        }
    }
}

#[test]
fn keys_that_were_never_stored_are_misses() {
    let server = synth();
    let changes = json!({"preload": false, "workload": {"kind": "key-value", "keys": 50, "get_ratio": 1.0}});
    let ran = run(&plan("memcached", &server.local_address().to_string(), &changes)).unwrap();
    ran.assert_clean("misses are answers");
    assert_eq!(ran.count("misses"), ran.count("completed"));
}

#[test]
fn requests_that_the_server_refuses_are_errors_with_its_text() {
    let config = ServerConfig { memory_mib: 1, ..ServerConfig::default() };
    let server = Server::spawn(&config).unwrap();
    let workload = json!({"kind": "key-value", "keys": 500, "get_ratio": 0.5, "value_bytes": 10_000});
    let address = server.local_address().to_string();
    let ran = run(&plan("memcached", &address, &json!({"preload": false, "workload": workload}))).unwrap();
    assert!(ran.count("errors") > 100, "{}", ran.result["counts"]);
    assert_eq!(ran.count("lost"), 0);
    assert_eq!(ran.result["first_error"], "SERVER_ERROR out of memory storing object");
    // If the keys are stored first, the storing fails, and the error says how many were stored.
    let error = run(&plan("memcached", &address, &json!({"workload": workload}))).err().unwrap();
    let LoadError::Preload { keys: 500, stored, reason } = error else { panic!("{error}") };
    assert!(stored < 500 && reason.contains("SERVER_ERROR"), "{stored} {reason}");
}

/// Return the length in seconds of a warm-up between 0.3 s and `max_s` with a server that needs none, and
/// whether it took all the time.
fn warm_up_s(max_s: f64) -> (f64, bool) {
    let server = synth();
    let phases =
        json!({"warmup": {"auto": {"min_s": 0.3, "max_s": max_s}}, "calibration_s": 0.1, "measure_s": 0.2});
    let ran =
        run(&plan("memcached", &server.local_address().to_string(), &json!({"phases": phases}))).unwrap();
    (ran.result["warmup_s"].as_f64().unwrap(), ran.result["warmup_ended"] == "elapsed")
}

#[test]
fn a_warm_up_ends_when_latencies_are_steady() {
    // On a busy host they may not become steady in time.
    let (warmup, took_all) = warm_up_s(1.0);
    assert!(warmup >= 0.3 && (!took_all || warmup >= 0.99), "{warmup} {took_all}");
}

#[test]
#[ignore = "precision"]
#[expect(clippy::print_stderr, reason = "the figures of a claim")]
fn a_warm_up_ends_soon_after_its_minimum() {
    let (warmup, took_all) = warm_up_s(4.0);
    eprintln!("warm-up of {warmup:.2} s");
    assert!(!took_all && (0.3..4.4).contains(&warmup), "{warmup}");
}

#[test]
fn a_thousand_connections_open_and_carry_requests() {
    let server = synth();
    for io in io_methods() {
        let load = json!({"loop": "open", "rate_per_s": 6000.0});
        let changes = json!({"io": io, "connections": 900, "preload": false, "load": load});
        let ran = run(&plan("memcached", &server.local_address().to_string(), &changes)).unwrap();
        ran.assert_clean(io);
        let samples = requests(&ran.file("samples-0.parquet"));
        let mut used: Vec<i32> = samples.iter().map(|r| r.connection).collect();
        used.sort_unstable();
        used.dedup();
        // 1200 requests at random over 900 connections leave a quarter of them unused.
        assert!(used.len() > 550, "{}", used.len());
    }
}

#[test]
fn same_seed_same_requests_on_real_sockets() {
    let server = synth();
    let address = server.local_address().to_string();
    let stream = |seed: u64| -> Vec<(i64, String, i32)> {
        let ran = run(&plan("memcached", &address, &json!({"seed": seed}))).unwrap();
        let mut rows = requests(&ran.file("samples-0.parquet"));
        rows.sort_by_key(|r| r.scheduled_ns);
        // The coordinator ends the warm-up, so the measurement starts at a random place in the stream. Gaps
        // between scheduled times are comparable; the times are not.
        let gap = |two: &[Request]| {
            (two[1].scheduled_ns - two[0].scheduled_ns, two[1].kind.clone(), two[1].connection)
        };
        rows.windows(2).map(gap).collect()
    };
    let (one, other) = (stream(1), stream(2));
    let overlap = |a: &[(i64, String, i32)], b: &[(i64, String, i32)]| {
        let middle = &a[a.len() / 2..a.len() / 2 + 50];
        b.windows(50).any(|window| window == middle)
    };
    // On a busy host one measurement may begin after the other's end in the stream, which proves nothing.
    assert!((0..5).any(|_| overlap(&one, &stream(1))));
    assert!(!overlap(&one, &other));
}

#[test]
fn a_measurement_without_requests_is_no_failure() {
    let server = synth();
    let load = json!({"load": {"loop": "open", "rate_per_s": 0.001}});
    let ran = run(&plan("memcached", &server.local_address().to_string(), &load)).unwrap();
    assert_eq!(ran.result["counts"]["scheduled"], Value::from(0));
    assert!(requests(&ran.file("worst-0.parquet")).is_empty());
}
