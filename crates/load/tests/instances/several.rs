//! Several servers at once: who keeps which key, what became of each, and one that dies.

use serde_json::{json, Value};

use super::common::{intervals, plan, run, synth, Managed};

/// Three memcached, and the target that leads to all of them.
fn memcacheds() -> Option<(Vec<Managed>, Vec<String>)> {
    let servers: Vec<Managed> = (0..3).map_while(|_| Managed::memcached()).collect();
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
fn every_key_is_asked_of_the_server_that_keeps_it() {
    let Some((_servers, addresses)) = memcacheds() else { return };
    for sharding in ["ketama", "modulo", "round-robin"] {
        let mut changes = target("memcached", &addresses, sharding);
        changes["threads"] = json!([{}, {}]);
        changes["connections"] = json!(7);
        let ran = run(&plan("memcached", &addresses[0], &changes)).unwrap();
        ran.assert_clean(sharding);
        assert_eq!(ran.count("misses"), 0, "{sharding}");
        let endpoints = ran.result["endpoints"].as_array().unwrap();
        let told: Vec<&str> = endpoints.iter().map(|one| one["address"].as_str().unwrap()).collect();
        assert_eq!(told, addresses);
        let done: Vec<u64> = endpoints.iter().map(|one| count(one, "done")).collect();
        assert_eq!(done.iter().sum::<u64>(), ran.count("done"), "{sharding}");
        assert!(done.iter().all(|&one| one > 0), "{sharding} {done:?}");
        if sharding == "round-robin" {
            // Two threads take turns, each for itself.
            assert!(done.iter().max().unwrap() - done.iter().min().unwrap() <= 2 * 2, "{done:?}");
        }
        for (number, &one) in done.iter().enumerate() {
            let (_, latency) = intervals(&ran.file("instance-0.hlog"), &format!("endpoint/{number}"));
            assert_eq!(latency.count(), one);
        }
    }
}

#[test]
fn a_server_that_dies_has_errors_and_its_requests_go_to_no_other() {
    let Some((mut servers, addresses)) = memcacheds() else { return };
    let dies = servers.remove(1);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(900));
        drop(dies);
    });
    let mut changes = target("memcached", &addresses, "ketama");
    changes["phases"] =
        json!({"warmup": {"fixed": {"seconds": 0.1}}, "calibration_s": 0.1, "measure_s": 2.0});
    let ran = run(&plan("memcached", &addresses[0], &changes)).unwrap();
    killer.join().unwrap();
    let endpoints = ran.result["endpoints"].as_array().unwrap();
    let errors: Vec<u64> = endpoints.iter().map(|one| count(one, "errors")).collect();
    assert!(errors[0] == 0 && errors[1] > 0 && errors[2] == 0, "{errors:?}");
    assert_eq!(ran.count("errors"), errors[1]);
    assert_eq!(ran.count("misses"), 0, "its keys were asked of no other");
}

#[test]
fn plans_that_several_servers_cannot_follow_are_refused_by_name() {
    let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned);
    let twice = [&addresses[..1], &addresses[..1]].concat();
    for (mut changes, protocol, field) in [
        (target("memcached", &twice, "ketama"), "memcached", "127.0.0.1:1 twice"),
        (target("http", &addresses, "ketama"), "http", "target.sharding"),
        (target("memcached", &addresses, "modulo"), "memcached", "connections"),
        (target("memcached", &addresses, "ketama"), "memcached", "load.loop"),
    ] {
        match field {
            "connections" => changes["connections"] = json!(1),
            "load.loop" => changes["load"] = json!({"loop": "closed"}),
            _ => {}
        }
        let refused = std::panic::catch_unwind(|| plan(protocol, &addresses[0], &changes)).unwrap_err();
        let message = refused.downcast_ref::<String>().unwrap();
        assert!(message.contains(field), "{message}");
    }
}

#[test]
fn requests_that_would_go_to_whichever_server_is_free_are_refused() {
    let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned);
    let post = json!({"kind": "http", "requests": [{"method": "POST"}]});
    for (protocol, workload, told) in [
        ("http", post, "take turns"),
        ("http", json!({"kind": "http", "version": "1.0"}), "take turns"),
        ("http2", json!({"kind": "http"}), "have streams"),
    ] {
        let mut changes = target(protocol, &addresses, "round-robin");
        changes["workload"] = workload;
        let refused = run(&plan(protocol, &addresses[0], &changes)).err().unwrap();
        assert!(refused.code() == "plan" && refused.to_string().contains(told), "{refused}");
    }
}

#[test]
fn one_server_has_no_figures_of_its_own() {
    let server = synth();
    let ran = run(&plan("memcached", &server.local_address().to_string(), &json!({}))).unwrap();
    assert_eq!(ran.result["endpoints"], json!([]));
}
