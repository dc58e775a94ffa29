//! Properties of the fuzz targets hold for every seed. The targets are in `fuzz/`. `requests_*` and `engine`,
//! which use private items, are replayed in `crates/synth` and `crates/load`.
#![allow(clippy::pedantic, reason = "the targets are linted in their own workspace")]

use seeds::replay;

#[path = "../../../fuzz/src/capture.rs"]
mod capture;
#[path = "../../../fuzz/src/hlog.rs"]
mod hlog;
#[path = "../../../fuzz/src/host.rs"]
mod host;
#[path = "../../../fuzz/src/pieces.rs"]
mod pieces;
#[path = "../../../fuzz/src/plan.rs"]
mod plan;
#[path = "../../../fuzz/src/replies.rs"]
mod replies;
#[path = "../../../fuzz/src/seeds.rs"]
mod seeds;

#[test]
fn any_capture_is_handled_and_splitting_does_not_matter() {
    replay("capture", capture::any_file);
}

#[test]
fn interval_logs_round_trip() {
    replay("hlog", hlog::any_log);
}

#[test]
fn any_host_files_are_handled() {
    replay("host", host::any_host);
    host::tidy();
}

#[test]
fn plans_round_trip_as_text() {
    replay("plan", plan::any_plan);
}

#[test]
fn replies_are_the_same_however_the_stream_is_split() {
    replay("replies_memcached", replies::memcached);
    replay("replies_memcached_meta", replies::memcached_meta);
    replay("replies_memcached_binary", replies::memcached_binary);
    replay("replies_dns", replies::dns);
    replay("replies_memcached_udp", replies::memcached_udp);
    replay("replies_redis", replies::redis);
    replay("replies_redis_commands", replies::redis_commands);
    replay("replies_postgresql", replies::postgresql);
    replay("replies_http", replies::http);
    replay("replies_http2", replies::http2);
    replay("replies_grpc", replies::grpc);
    replay("replies_ws", replies::ws);
}

#[test]
#[should_panic(expected = "odd")]
fn a_failing_seed_is_reported() {
    replay("plan", |bytes| assert!(bytes.is_empty(), "odd"));
}

#[test]
#[should_panic(expected = "fuzz/seeds/nobody")]
fn a_target_without_seeds_is_reported() {
    replay("nobody", |_| ());
}
