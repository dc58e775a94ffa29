//! Whole instances against the servers that people run; skipped, loudly, where they are not installed.

use super::common::{plan, requests, run, Managed};
use serde_json::json;

#[test]
fn memcached_serves_every_size_and_mix() {
    let Some(server) = Managed::memcached() else { return };
    for (value_bytes, get_ratio, rate) in [
        (json!(1), 0.9, 3000.0),
        (json!(200), 0.0, 3000.0),
        (json!({"uniform": [1, 4000]}), 0.5, 3000.0),
        (json!(900_000), 0.5, 60.0),
    ] {
        let changes = json!({
            "load": {"loop": "open", "rate_per_s": rate},
            "workload": {"kind": "key-value", "keys": 50, "get_ratio": get_ratio, "value_bytes": value_bytes,
                         "popularity": {"zipf": 0.99}},
        });
        let ran = run(&plan("memcached", &server.address, &changes)).unwrap();
        ran.assert_clean(&format!("{value_bytes} {get_ratio}"));
        assert_eq!(ran.count("misses"), 0, "{value_bytes}");
    }
}

#[test]
fn redis_serves_open_and_closed_loops() {
    let Some(server) = Managed::redis() else { return };
    for load in [json!({"loop": "open", "rate_per_s": 3000.0}), json!({"loop": "closed"})] {
        let changes = json!({
            "load": load, "threads": [{}, {}], "pacing": "spin",
            "workload": {"kind": "key-value", "keys": 500, "get_ratio": 0.8, "value_bytes": {"uniform": [1, 3000]}},
        });
        let ran = run(&plan("redis", &server.address, &changes)).unwrap();
        ran.assert_clean(&load.to_string());
        assert_eq!(ran.count("misses"), 0);
    }
}

#[test]
fn redis_misses_are_told() {
    let Some(server) = Managed::redis() else { return };
    let changes = json!({"preload": false, "workload": {"kind": "key-value", "keys": 50, "get_ratio": 1.0}});
    let ran = run(&plan("redis", &server.address, &changes)).unwrap();
    ran.assert_clean("misses");
    assert_eq!(ran.count("misses"), ran.count("done"));
}

#[test]
fn nginx_serves_pages_and_misses() {
    let Some(server) = Managed::nginx(1_000_000) else { return };
    let changes = json!({"workload": {"kind": "http", "paths": ["/", "/absent"]}});
    let ran = run(&plan("http", &server.address, &changes)).unwrap();
    ran.assert_clean("nginx");
    let (misses, done) = (ran.count("misses") as f64, ran.count("done") as f64);
    assert!((misses / done - 0.5).abs() < 0.1, "{misses} of {done}");
    assert_eq!(ran.result["reconnects"], 0);
}

#[test]
fn a_server_that_limits_keep_alive_costs_reconnects_and_not_the_account() {
    let Some(server) = Managed::nginx(100) else { return };
    let ran = run(&plan("http", &server.address, &json!({}))).unwrap();
    let reconnects = ran.result["reconnects"].as_u64().unwrap();
    // 3,000 requests a second for 0.6 s, closed after every hundredth on its connection.
    assert!((10..=20).contains(&reconnects), "{reconnects}");
    // Only what was pipelined behind a hundredth request is lost, and it is called so.
    assert_eq!(ran.count("due"), ran.count("done") + ran.count("lost") + ran.count("unsent"));
    let lost = requests(&ran.file("samples-0.parquet")).iter().filter(|r| r.status == "lost").count();
    assert_eq!(lost as u64, ran.count("lost"));
    assert!(ran.count("lost") * 20 < ran.count("due"), "{}", ran.result["counts"]);
}
