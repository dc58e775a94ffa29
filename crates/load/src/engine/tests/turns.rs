//! Servers that close after each reply or after a few: requests take turns on connections that they open.

use serde_json::json;

use super::any_server::next_get;
use super::fake::{Answer, Fake, HANDSHAKE_NS};
use super::faults::{announcing, http};
use super::{drive, driven, Driven, END, MS};
use crate::record::Status;
use crate::LoadError;

const SAID: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
const OLD: &str = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi";
const ENDLESS: &str = "HTTP/1.0 200 OK\r\n\r\nas long as it takes";
const SILENT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Create a server that answers with `reply` after `delay_ns`, and closes if `closes(n)` for request n.
fn server(slots: u32, delay_ns: u64, reply: &'static str, closes: fn(u64) -> bool) -> Fake {
    let mut fake = Fake::new(slots, 0);
    fake.framing = next_get;
    fake.behaviour =
        Box::new(move |n, _| Answer { ends: closes(n), ..Answer::after(delay_ns, reply.as_bytes()) });
    fake
}

fn latencies(run: &Driven) -> impl Iterator<Item = u64> + '_ {
    run.rows.iter().filter(|row| row.completed_ns > 0).map(|row| row.completed_ns - row.scheduled_ns)
}

#[test]
fn each_request_opens_its_connection_and_latency_includes_the_time_to_connect() {
    for reply in [SAID, OLD, ENDLESS, SILENT] {
        for pacing in ["spin", "sleep"] {
            let mut plan = http(1_000, 3);
            plan.pacing = serde_json::from_value(json!(pacing)).unwrap();
            let run = driven(&plan, server(3, 200_000, reply, |_| true));
            assert_eq!((run.counts.scheduled, run.counts.completed), (100, 100), "{reply}: {:?}", run.counts);
            assert!(run.by_turns);
            assert_eq!(run.recorder.connects.made, 100, "as many as requests are measured: {reply}");
            assert!(run.recorder.connect.min() >= Some(HANDSHAKE_NS), "{:?}", run.recorder.connect.min());
            let least = latencies(&run).min().unwrap();
            assert!(least >= 200_000 + HANDSHAKE_NS, "{reply}, {pacing}: {least}");
            assert!(
                run.rows.iter().all(|row| row.sent_ns - row.scheduled_ns < MS / 10),
                "the instrument was not late"
            );
            assert_eq!(run.recorder.kinds[0].codes[200], 100);
        }
    }
}

#[test]
fn requests_do_not_take_turns_if_the_server_keeps_connections() {
    let run = driven(&http(1_000, 3), announcing(3, 200_000, |n| n % 25 == 24));
    assert!(!run.by_turns && run.reconnects > 0);
    assert!((3..=6).contains(&run.recorder.connects.made), "{:?}", run.recorder.connects);
}

#[test]
fn too_few_connections_cause_timeouts_but_no_send_delay() {
    // 2 ms and the handshake for each request: about 970 of 2,000 requests/s.
    let run = driven(&http(2_000, 2), server(2, 2 * MS, OLD, |_| true));
    assert_eq!((run.counts.scheduled, run.counts.errors), (200, 0), "{:?}", run.counts);
    assert!(run.counts.completed > 40 && run.counts.timeouts > 50, "{:?}", run.counts);
    assert!(run.ended.0 <= END + 80 * MS, "{}", run.ended);
    assert!(
        run.rows.iter().all(|row| row.sent_ns - row.scheduled_ns < MS / 10),
        "requests were sent when due"
    );
}

#[test]
fn waiting_requests_beyond_the_outstanding_limit_are_unsent() {
    let mut plan = http(5_000, 2);
    plan.max_outstanding = 10;
    let run = driven(&plan, server(2, 2 * MS, OLD, |_| true));
    assert_eq!((run.counts.scheduled, run.counts.errors), (500, 0));
    assert!(run.counts.unsent > 300 && run.counts.completed > 80, "{:?}", run.counts);
}

#[test]
fn a_connection_serves_as_many_requests_as_the_server_permits() {
    for reply in [SAID, SILENT] {
        // `SILENT` is kept for three requests. `SAID` is not, because each reply announces a close.
        let closes: fn(u64) -> bool = if reply == SAID { |_| true } else { |n| n % 3 == 2 };
        let run = driven(&http(1_000, 1), server(1, 200_000, reply, closes));
        assert_eq!((run.counts.completed, run.by_turns), (100, true), "{reply}: {:?}", run.counts);
        let made = run.recorder.connects.made;
        assert!(if reply == SAID { made == 100 } else { (32..=35).contains(&made) }, "{reply}: {made}");
    }
}

#[test]
fn a_truncated_reply_is_an_error_of_its_request_alone() {
    let mut fake = Fake::new(3, 0);
    fake.framing = next_get;
    fake.behaviour = Box::new(|n, _| {
        let cut = n % 10 == 9;
        let reply = if cut { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi" } else { SAID };
        Answer { ends: true, ..Answer::after(200_000, reply.as_bytes()) }
    });
    let run = driven(&http(1_000, 3), fake);
    assert_eq!((run.counts.scheduled, run.counts.lost, run.counts.errors), (100, 10, 10), "{:?}", run.counts);
    assert_eq!(run.counts.completed, 90);
}

#[test]
fn a_connection_that_is_closed_without_an_answer_is_an_error() {
    let mut fake = Fake::new(3, 0);
    fake.framing = next_get;
    fake.behaviour = Box::new(|n, _| Answer {
        ends: true,
        ..Answer::after(200_000, if n % 10 == 9 { b"" } else { SAID.as_bytes() })
    });
    let run = driven(&http(1_000, 3), fake);
    assert_eq!((run.counts.lost, run.counts.completed), (10, 90), "{:?}", run.counts);
}

#[test]
fn connections_closed_while_idle_lose_no_request() {
    let mut fake = server(3, 200_000, SILENT, |n| n < 8);
    fake.breaks = (0..30_u64).rev().map(|i| ((30 + 3 * i) * MS + MS / 2, (i % 3) as u32)).collect();
    let run = driven(&http(1_000, 3), fake);
    assert!(run.by_turns);
    assert_eq!((run.counts.completed, run.counts.errors), (100, 0), "{:?}", run.counts);
    assert!((5..=31).contains(&run.recorder.connects.made), "{:?}", run.recorder.connects);
}

#[test]
fn a_reused_connection_closed_before_its_reply_loses_no_request() {
    let mut fake = server(1, 200_000, SILENT, |n| n < 8);
    // Each 0.1 ms after a request was sent, which is answered after 0.2 ms. The next five requests use the
    // next connection.
    fake.breaks = (0..12_u64).rev().map(|i| ((50 + 5 * i) * MS + MS / 10, 0)).collect();
    let run = driven(&http(1_000, 1), fake);
    assert_eq!((run.by_turns, run.resent), (true, 12));
    assert_eq!((run.counts.completed, run.counts.lost), (100, 0), "{:?}", run.counts);
}

#[test]
fn requests_wait_while_connections_are_refused() {
    let mut fake = server(3, 200_000, OLD, |_| true);
    fake.refuses = 60 * MS..80 * MS;
    let run = driven(&http(1_000, 3), fake);
    assert_eq!((run.counts.completed, run.counts.errors), (100, 0), "{:?}", run.counts);
    assert!(run.recorder.connects.failed > 0);
    let slowest = latencies(&run).max().unwrap();
    assert!((20 * MS..50 * MS).contains(&slowest), "{slowest}");
}

#[test]
fn a_server_that_refuses_for_long_is_gone() {
    let mut fake = server(3, 200_000, OLD, |_| true);
    fake.refuses = 60 * MS..u64::MAX;
    let run = drive(&http(1_000, 3), fake);
    assert!(matches!(run.outcome, Err(LoadError::ServerGone { .. })), "{:?}", run.outcome);
}

#[test]
fn attempts_that_hang_leave_their_requests_without_an_answer() {
    let mut fake = server(3, 200_000, OLD, |_| true);
    fake.hangs = 100 * MS..u64::MAX;
    let run = driven(&http(1_000, 3), fake);
    assert!((18..=22).contains(&run.counts.timeouts), "{:?}", run.counts);
    assert!(run.rows.iter().all(|row| row.status != Status::Unsent));
}

#[test]
fn a_run_without_local_ports_ends_with_that_reason() {
    let mut fake = server(3, 200_000, OLD, |_| true);
    fake.portless = 60 * MS..u64::MAX;
    let run = drive(&http(1_000, 3), fake);
    let Err(error @ LoadError::PortsUsedUp { made, .. }) = run.outcome else { panic!("{:?}", run.outcome) };
    assert!((55..=65).contains(&made), "{made}");
    assert_eq!(error.code(), "ports");
}

#[test]
fn a_server_that_does_not_close_as_announced_is_not_waited_for() {
    let run = driven(&http(1_000, 2), server(2, 200_000, SAID, |_| false));
    assert_eq!((run.counts.completed, run.by_turns), (100, true), "{:?}", run.counts);
    assert_eq!(run.recorder.connects.made, 100);
}

#[test]
fn a_closed_loop_keeps_each_connection_busy_once() {
    let mut plan = http(1_000, 2);
    plan.load = serde_json::from_value(json!({"loop": "closed"})).unwrap();
    let run = driven(&plan, server(2, 200_000, OLD, |_| true));
    assert_eq!(run.counts.completed, run.counts.scheduled, "{:?}", run.counts);
    // 100 ms on two connections, 200 µs and the handshake for each request.
    assert!((600..=800).contains(&run.counts.completed), "{:?}", run.counts);
}
