//! Keys stored before a load and removed after it, on real servers.

use super::common::{plan, run, ServerProcess};
use hindmost_load::engine;
use serde_json::{json, Value};

/// Check that two threads with several connections store all keys: gets of all keys in order have no misses.
fn check(protocol: &str, address: &str, more: &Value) {
    let mut workload =
        json!({"kind": "key-value", "keys": 451, "get_ratio": 1.0, "popularity": "sequential"});
    for (key, value) in more.as_object().into_iter().flatten() {
        workload[key] = value.clone();
    }
    let keys = workload["keys"].as_u64().unwrap() as u32;
    let changes = json!({"workload": workload, "threads": [{}, {}], "connections": 7});
    let plan = plan(protocol, address, &changes);
    let ran = run(&plan).unwrap();
    ran.assert_clean(&format!("{protocol} {more}"));
    assert_eq!(ran.count("misses"), 0, "{protocol} {more}");
    assert!(ran.count("completed") > 450, "{protocol}: too few requests for most keys");
    assert_eq!(engine::clean_up(&plan).unwrap(), keys, "{protocol} {more}: all stored keys are removed");
    assert_eq!(engine::clean_up(&plan).unwrap(), 0, "{protocol} {more}: no key is left");
}

#[test]
fn all_workers_and_connections_store_all_keys_and_all_are_removed() {
    if let Some(server) = ServerProcess::memcached() {
        for protocol in ["memcached-meta", "memcached-binary"] {
            check(protocol, &server.address, &json!({}));
        }
        check("memcached", &server.address, &json!({"keys": 3, "key_prefix": "t:", "ttl_s": 600}));
        check("memcached", &server.address, &json!({"value_bytes": {"uniform": [1, 20_000]}}));
    }
    if let Some(server) = ServerProcess::redis() {
        let law = json!({"lognormal": {"median": 100, "sigma": 1.0}});
        check("redis", &server.address, &json!({"value_bytes": law, "ttl_s": {"uniform": [60, 600]}}));
    }
}

#[test]
fn removing_keys_from_a_missing_server_is_an_error() {
    let plan = plan("memcached", "127.0.0.1:1", &json!({}));
    assert_eq!(engine::clean_up(&plan).unwrap_err().code(), "connect");
}
