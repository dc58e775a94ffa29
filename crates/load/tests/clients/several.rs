//! Several servers at once: the location of keys, counts for each server, and a server that dies.

use hindmost_load::LoadError;
use hindmost_plan::PlanError;
use serde_json::{json, Value};

use super::common::{
    intervals, phases, plan, run, run_with, synth, try_plan, DuringMeasurement, ServerProcess,
};

/// Start three memcached servers. Also return their addresses.
fn memcacheds() -> Option<(Vec<ServerProcess>, Vec<String>)> {
    let servers: Vec<ServerProcess> = (0..3).map_while(|_| ServerProcess::memcached()).collect();
    let addresses: Vec<String> = servers.iter().map(|one| one.address.clone()).collect();
    (servers.len() == 3).then_some((servers, addresses))
}

fn target(protocol: &str, addresses: &[String], sharding: &str) -> Value {
    json!({"target": {
        "protocol": protocol, "address": addresses[0], "endpoints": addresses, "sharding": sharding,
    }})
}

fn count(endpoint: &Value, name: &str) -> u64 {
    endpoint["counts"][name].as_u64().unwrap()
}

#[test]
fn every_key_is_requested_from_its_server() {
    let Some((_servers, addresses)) = memcacheds() else { return };
    for sharding in ["ketama", "modulo", "round-robin"] {
        let mut changes = target("memcached", &addresses, sharding);
        changes["threads"] = json!([{}, {}]);
        changes["connections"] = json!(7);
        let ran = run(&plan("memcached", &addresses[0], &changes)).unwrap();
        ran.assert_clean(sharding);
        assert_eq!(ran.count("misses"), 0, "{sharding}");
        let endpoints = ran.result["endpoints"].as_array().unwrap();
        let addresses_in_result: Vec<&str> =
            endpoints.iter().map(|one| one["address"].as_str().unwrap()).collect();
        assert_eq!(addresses_in_result, addresses);
        let done: Vec<u64> = endpoints.iter().map(|one| count(one, "completed")).collect();
        assert_eq!(done.iter().sum::<u64>(), ran.count("completed"), "{sharding}");
        assert!(done.iter().all(|&one| one > 0), "{sharding} {done:?}");
        if sharding == "round-robin" {
            // Each of the two threads goes round-robin on its own.
            assert!(done.iter().max().unwrap() - done.iter().min().unwrap() <= 2 * 2, "{done:?}");
        }
        for (number, &one) in done.iter().enumerate() {
            let (_, latency) = intervals(&ran.file("client-0.hlog"), &format!("endpoint/{number}"));
            assert_eq!(latency.count(), one);
        }
    }
}

#[test]
fn requests_of_a_dead_server_fail_and_go_to_no_other_server() {
    let Some((mut servers, addresses)) = memcacheds() else { return };
    let dies = servers.remove(1);
    let mut link = DuringMeasurement::new(move || {
        std::thread::sleep(std::time::Duration::from_millis(150));
        drop(dies);
    });
    let mut changes = target("memcached", &addresses, "ketama");
    changes["phases"] = phases(0.8);
    let ran = run_with(&plan("memcached", &addresses[0], &changes), &mut link).unwrap();
    link.outcome();
    let endpoints = ran.result["endpoints"].as_array().unwrap();
    let errors: Vec<u64> = endpoints.iter().map(|one| count(one, "errors")).collect();
    assert!(errors[0] == 0 && errors[1] > 0 && errors[2] == 0, "{errors:?}");
    assert_eq!(ran.count("errors"), errors[1]);
    assert_eq!(ran.count("misses"), 0, "no other server got requests for its keys");
}

#[test]
fn invalid_plans_for_several_servers_are_refused_by_field() {
    let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned);
    let twice = [&addresses[..1], &addresses[..1]].concat();
    for (mut changes, protocol, field) in [
        (target("memcached", &twice, "ketama"), "memcached", "target.endpoints"),
        (target("http", &addresses, "ketama"), "http", "target.sharding"),
        (target("memcached", &addresses, "modulo"), "memcached", "connections"),
        (target("memcached", &addresses, "ketama"), "memcached", "load.loop"),
    ] {
        match field {
            "connections" => changes["connections"] = json!(1),
            "load.loop" => changes["load"] = json!({"loop": "closed"}),
            _ => {}
        }
        match try_plan(protocol, &addresses[0], &changes) {
            Err(PlanError::Field { field: addresses_in_result, .. }) => {
                assert_eq!(addresses_in_result, field);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn several_servers_are_refused_if_requests_wait_for_any_free_place() {
    let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned);
    let mut changes = target("http2", &addresses, "round-robin");
    changes["workload"] = json!({"kind": "http"});
    let refused = run(&plan("http2", &addresses[0], &changes)).err().unwrap();
    let LoadError::Plan(PlanError::Field { field, .. }) = refused else { panic!("{refused}") };
    assert_eq!(field, "target.endpoints");
}

#[test]
fn renewed_connections_lead_to_the_server_of_each_request() {
    let Some((_servers, addresses)) = memcacheds() else { return };
    for (sharding, carried) in [("ketama", 1), ("modulo", 5), ("round-robin", 5)] {
        let mut changes = target("memcached", &addresses, sharding);
        changes["connections"] = json!(7);
        changes["requests_per_connection"] = json!(carried);
        let ran = run(&plan("memcached", &addresses[0], &changes)).unwrap();
        ran.assert_clean(sharding);
        assert_eq!(ran.count("misses"), 0, "{sharding}: keys were requested from a server without them");
        let made = ran.result["connects"]["made"].as_u64().unwrap();
        let fair = ran.count("completed") / carried;
        assert!(made.abs_diff(fair) <= 14, "{sharding}: {made} for {fair}");
        let endpoints = ran.result["endpoints"].as_array().unwrap();
        let done: Vec<u64> = endpoints.iter().map(|one| count(one, "completed")).collect();
        assert!(done.iter().all(|&one| one > 0), "{sharding} {done:?}");
        assert_eq!(done.iter().sum::<u64>(), ran.count("completed"));
    }
}

#[test]
#[ignore = "precision"]
fn with_renewed_connections_a_dead_server_loses_only_its_requests_and_is_used_again() {
    let Some((mut servers, addresses)) = memcacheds() else { return };
    let dies = servers.remove(1);
    let address = dies.address.clone();
    let mut link = DuringMeasurement::new(move || {
        std::thread::sleep(std::time::Duration::from_millis(150));
        drop(dies);
        std::thread::sleep(std::time::Duration::from_millis(300));
        ServerProcess::start_at(address.parse().unwrap(), "memcached", |port, _| {
            ServerProcess::memcached_arguments(port, &[])
        })
    });
    let mut changes = target("memcached", &addresses, "ketama");
    changes["requests_per_connection"] = json!(3);
    changes["phases"] = phases(1.5);
    let ran = run_with(&plan("memcached", &addresses[0], &changes), &mut link).unwrap();
    let _back = link.outcome();
    let endpoints = ran.result["endpoints"].as_array().unwrap();
    let errors: Vec<u64> = endpoints.iter().map(|one| count(one, "errors")).collect();
    assert!(errors[0] == 0 && errors[1] > 0 && errors[2] == 0, "{errors:?}");
    assert_eq!(ran.count("errors"), errors[1]);
    assert_eq!(ran.count("unsent"), 0, "requests waiting for it take no places of other servers");
    // The restarted server is empty, so its answers are misses.
    assert!(
        ran.count("misses") > 0 && count(&endpoints[1], "completed") > ran.count("misses"),
        "{}",
        endpoints[1]
    );
    let misses: Vec<u64> = endpoints.iter().map(|one| count(one, "misses")).collect();
    assert_eq!((misses[0], misses[2]), (0, 0), "no other server got requests for its keys");
}

#[test]
fn a_single_server_has_no_separate_counts() {
    let server = synth();
    let ran = run(&plan("memcached", &server.local_address().to_string(), &json!({}))).unwrap();
    assert_eq!(ran.result["endpoints"], json!([]));
}
