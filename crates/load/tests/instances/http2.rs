//! HTTP/2 at nginx: streams on few connections, farewells, and a server that does not speak it.

use hindmost_load::LoadError;
use serde_json::{json, Value};

use super::common::{intervals, plan, run, Managed};

#[test]
fn nginx_serves_pages_misses_and_bodies_in_any_order_over_http2() {
    let Some(server) = Managed::nginx_with(1_000_000, "http2", "") else { return };
    let body = "b".repeat(40_000);
    let requests = json!([
        {"path": "/"}, {"path": "/absent/{{int:1..1000}}", "name": "absent"},
        {"path": "/", "method": "POST", "body": body, "name": "large"},
        {"path": "/", "method": "PUT", "body": "{{uuid}}", "headers": {"X-Id": "{{sequence:1}}"}, "name": "small"},
    ]);
    let changes = json!({"workload": {"kind": "http", "requests": requests}});
    let ran = run(&plan("http2", &server.address, &changes)).unwrap();
    ran.assert_clean("nginx");
    let (misses, done) = (ran.count("misses") as f64, ran.count("done") as f64);
    assert!((misses / done - 0.25).abs() < 0.06, "{misses} of {done}");
    assert_eq!((&ran.result["reconnects"], &ran.result["resent"]), (&json!(0), &json!(0)));
    let codes = ran.result["codes"].as_object().unwrap();
    assert_eq!(codes.keys().collect::<Vec<_>>(), ["200", "404"], "{codes:?}");
}

#[test]
fn streams_share_connections_as_many_as_the_plan_and_the_server_allow() {
    let Some(server) = Managed::nginx_with(1_000_000, "http2", "") else { return };
    let at_once = |in_flight: Value| {
        let changes = json!({"load": {"loop": "closed"}, "in_flight": in_flight, "connections": 1});
        let ran = run(&plan("http2", &server.address, &changes)).unwrap();
        ran.assert_clean("closed");
        // Each meets those that are outstanding as it is asked.
        1 + intervals(&ran.file("instance-0.hlog"), "outstanding").1.max().unwrap()
    };
    // nginx allows 128.
    let (one, many, more) = (at_once(Value::Null), at_once(json!(100)), at_once(json!(1000)));
    assert_eq!((one, many, more), (1, 100, 128));
}

#[test]
fn what_was_asked_behind_nginxs_farewell_is_asked_again_and_nothing_is_lost() {
    let Some(server) = Managed::nginx_with(100, "http2", "") else { return };
    let ran =
        run(&plan("http2", &server.address, &json!({"load": {"loop": "open", "rate_per_s": 10_000.0}})));
    let ran = ran.unwrap();
    assert_eq!(ran.count("due"), ran.count("done") + ran.count("unsent"), "{}", ran.result["counts"]);
    assert!(ran.result["reconnects"].as_u64() > Some(20), "{}", ran.result["reconnects"]);
}

#[test]
fn each_connection_carries_as_many_requests_as_asked() {
    let Some(server) = Managed::nginx_with(1_000_000, "http2", "") else { return };
    let workload = json!({"kind": "http", "requests_per_connection": 4});
    let ran = run(&plan("http2", &server.address, &json!({"workload": workload}))).unwrap();
    ran.assert_clean("four each");
    let (done, made) = (ran.count("done"), ran.result["connects"]["all"].as_u64());
    assert!(made.is_some_and(|made| (done / 4..=2 * done).contains(&made)), "{made:?} for {done}");
}

#[test]
fn a_server_without_http2_is_told_by_what_it_says() {
    let Some(server) = Managed::nginx(100) else { return };
    let Err(refused) = run(&plan("http2", &server.address, &json!({}))) else { panic!("it ran") };
    assert!(matches!(refused, LoadError::Refused { .. } | LoadError::Connect { .. }), "{refused}");
    assert!(refused.to_string().contains("does not speak HTTP/2"), "{refused}");
}
